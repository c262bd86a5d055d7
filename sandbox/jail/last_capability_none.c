#include "sandbox/jail/last_capability.h"

#include <sys/prctl.h>

int last_capability(void)
{
    int number = 0;
    while (prctl(PR_CAPBSET_READ, (unsigned long)number) >= 0)
        number++;
    return number - 1;
}
