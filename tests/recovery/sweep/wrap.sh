#!/bin/bash
# Stands where `sched` and `git` are looked for. Gives the process that it becomes a name, lets a
# tick or a supervisor begin when those before it are gone, and has the wanted process traced.
root=${0%%/wrap/*}
program=${0##*/}

# The next number that nobody has: $n.
number() {
    n=1
    set -C
    until : >"$root/numbers/$1-$n"; do n=$((n + 1)); done 2>/dev/null
    set +C
}

# The name of the process that started this one: $role, empty where it has none.
parent() {
    read -r role <"$root/roles/$PPID" || role=
} 2>/dev/null

# The subcommand of git behind its options: $word.
subcommand() {
    while [ $# -gt 0 ]; do
        case $1 in
        -c | -C) shift 2 ;;
        -*) shift ;;
        *) break ;;
        esac
    done
    word=${1:-none}
}

# No two at a time where one starts the other: then each run goes like the one before.
alone() {
    local pause
    exec {pause}<>"$root/pause"
    for try in {1..300}; do
        busy=
        for pid in "$root"/live/*; do
            read -r stat <"/proc/${pid##*/}/stat" && [[ $stat != *") Z "* ]] && busy=yes
        done 2>/dev/null
        [ -n "$busy" ] || break
        read -rt 0.01 -u "$pause" # nobody writes: a pause without a process
    done
    exec {pause}>&-
    : >"$root/live/$$"
}

dispatch=
real=@SCHED@
name=sched
case $program:$1 in
sched:tick)
    number tick
    role=tick-$n
    alone
    ;;
sched:supervise)
    number supervise
    role=supervise-$n
    dispatch=$2
    echo "$2" >"$root/dispatches/$role"
    alone
    ;;
sched:exec-child)
    parent
    role=$role.child
    dispatch=${2##*/}
    ;;
git:*)
    real=@GIT@
    name=git
    parent
    case $role in
    '' | *.child) role= ;;
    *)
        number "$role.git"
        subcommand "$@"
        role=$role.git-$n-$word
        export GIT_EXEC_PATH="$root/wrap/core" # its own children are found here too
        ;;
    esac
    ;;
*) role= ;;
esac

options=()
if [ -n "$role" ]; then
    echo "$role" >"$root/roles/$$"
    if [ -e "$root/all" ]; then
        mapfile -t options <"$root/options"
    elif [ "$role" = "$(<"$root/target")" ]; then
        mapfile -t options <"$root/options"
        options=("${options[@]//\{root\}/$root}")
        options=("${options[@]//\{dispatch\}/$dispatch}")
        options=("${options[@]//\{pid\}/$$}")
    fi
fi
if [ "${options[0]}" = die ]; then
    echo '+++ killed by SIGKILL +++' >"$root/traces/$role"
    kill -KILL $$
elif [ "${#options[@]}" -gt 0 ]; then
    # what it is called by stays what it was, and is found here again
    options+=(--quiet=attach,path-resolution -DDD -o "$root/traces/$role" -E "PATH=$PATH")
    PATH=${real%/*}:$PATH exec strace "${options[@]}" "$name" "$@"
elif [ "$name" = sched ]; then
    exec -a "$0" "$real" "$@"
fi
exec "$real" "$@"
