#include "sandbox/jail/last_capability.h"

#include <sys/capability.h>

int last_capability(void)
{
    return cap_max_bits() - 1;
}
