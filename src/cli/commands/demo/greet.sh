#!/bin/sh
# Greets in the language of $1, in English without one.
case ${1:-en} in
en) echo "hello" ;;
*) echo "unknown language: $1" >&2; exit 1 ;;
esac
