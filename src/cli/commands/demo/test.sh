#!/bin/sh
# The test of greet.sh.
set -eu
[ "$(./greet.sh en)" = hello ] || { echo "greet.sh en: expected hello"; exit 1; }
./greet.sh >/dev/null || { echo "greet.sh without a language fails"; exit 1; }
echo "all good"
