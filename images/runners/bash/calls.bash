# Before each call of a session in Bash that has functions, which has it as $BASH_ENV, in the place of session.bash: the descriptors
# of calls get out of the way of scripts, and `tools` is in PATH. Lines of a shell beside calls have no such descriptors.
if { : <&3 >&4; } 2>/dev/null; then
    exec 198<&3 199>&4 3<&- 4>&-
fi
. "${BASH_SOURCE[0]%/*}/session.bash"
case :$PATH: in
*":${BASH_SOURCE[0]%/*}/bin:"*) ;;
*) export PATH="${BASH_SOURCE[0]%/*}/bin${PATH:+:$PATH}" ;;
esac
