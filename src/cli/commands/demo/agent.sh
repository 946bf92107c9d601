#!/bin/sh
# Stands in for a coding agent: works on one issue in its own worktree and commits.
set -eu
commit() {
    git add -A
    git -c user.name=agent -c user.email=agent@localhost commit --quiet -m "$1"
}
echo "working on issue $SCHED_ISSUE, attempt $SCHED_ATTEMPT"
sched_post() { "${SCHED:-sched}" post --phase "$1" --status "$2" >/dev/null 2>&1 || true; }
sched_post implement started
case $SCHED_ISSUE in
101)
    sed -i 's/^en) .*/&\nfr) echo "bonjour" ;;/' greet.sh
    commit "greet in French"
    ;;
102)
    ./greet.sh fr >/dev/null    # needs issue 101
    sed -i 's/^case .*/case ${1:-fr} in/' greet.sh
    commit "greet in French by default"
    ;;
103)
    sed -i 's/hello/goodbye/' greet.sh
    commit "break the greeting"
    ;;
104)
    trap '' TERM
    while :; do sleep 1; done
    ;;
105)
    exit 0
    ;;
esac
echo "committed"
