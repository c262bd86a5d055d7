#include "sandbox/jail/remedy.h"

#include <errno.h>
#include <stddef.h>

const char *remedy_for_clone(int error)
{
    switch (error) {
    case EPERM:
    case EACCES:
        return USERNS_HELP;
    case ENOSPC:
    case EUSERS:
        return "the limit of user namespaces is reached; see /proc/sys/user/max_user_namespaces "
               "(0 means that an administrator switched them off)";
    case ENOSYS:
        return "clone3 needs Linux 5.3, the jail 5.14; inside a container its filter may hide it";
    case EINVAL:
        return "this kernel lacks user or pid namespaces";
    case EAGAIN:
        return PROCESSES_HELP;
    default:
        return NULL;
    }
}
