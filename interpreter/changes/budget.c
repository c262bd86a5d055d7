#include "interpreter/changes/budget.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/loop.h"

#include <time.h>

static int64_t processor_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

struct budget budget_begin(void)
{
    return (struct budget){
        .processor_end = processor_now() + CHANGES_STEP_CPU_MS * NANOSECONDS_PER_MILLISECOND,
        .wall_end = clock_now() + CHANGES_STEP_WALL_MS * NANOSECONDS_PER_MILLISECOND,
    };
}

bool budget_is_spent(const struct budget *budget)
{
    return processor_now() > budget->processor_end || clock_now() > budget->wall_end;
}
