# Before each call of a session in Bash, which has it as $BASH_ENV: goes on in the directory and with the exported
# variables of the call before, and keeps those of this call when it ends. Code that changes the state deceives only its
# own session.
unset BASH_ENV
if [ -n "${CODE_SANDBOX_BASH_ENV+set}" ]; then # the operator's own
    export BASH_ENV="$CODE_SANDBOX_BASH_ENV"
    unset CODE_SANDBOX_BASH_ENV
    [ ! -r "$BASH_ENV" ] || . "$BASH_ENV"
fi
__sandbox_state=${BASH_SOURCE[0]%/*}/bash-state

if [ -e "$__sandbox_state" ]; then
    __sandbox_text=$(<"$__sandbox_state")
    if [ "${__sandbox_text##*$'\n'}" = '# whole' ]; then
        unset $(compgen -e)
        eval "$__sandbox_text"
        if [ -n "${POSIXLY_CORRECT+set}" ]; then # no function may be named trap then
            __sandbox_posix=$POSIXLY_CORRECT
            set +o posix
        fi
        __sandbox_old=${OLDPWD-}
        cd -- "$PWD" 2>/dev/null || echo "the directory $PWD is gone; this call begins in $(pwd -P)" >&2
        [ -z "$__sandbox_old" ] || OLDPWD=$__sandbox_old
    else
        echo 'the directory and variables of the last call could not be kept: is the disk full?' >&2
    fi
    unset __sandbox_text __sandbox_old
fi

__sandbox_keep() {
    local status=$?
    if [ "$BASHPID" = "$$" ]; then
        builtin printf '%s\n# whole\n' "$(export -p)" >|"$__sandbox_state"
    fi
    return "$status"
}

# What the script itself does at its end comes after ours.
trap() {
    builtin trap "$@" || return
    local sandbox_text
    [ "$BASHPID" = "$$" ] || return 0
    sandbox_text=$(builtin trap -p EXIT)
    case $sandbox_text in *__sandbox_keep*) return 0 ;; esac
    eval "set -- ${sandbox_text:-trap -- '' EXIT}"
    builtin trap "{ __sandbox_keep; } 2>/dev/null; $3" EXIT
}
trap - EXIT
[ -z "${__sandbox_posix+set}" ] || export POSIXLY_CORRECT="$__sandbox_posix"
unset __sandbox_posix
