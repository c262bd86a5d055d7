#include "interpreter/languages/program_start.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* In whole pages, as in a tmpfs. */
static uint64_t space_of(const struct program_start *start)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t space = 0;
    for (size_t i = 0; i < start->count; i++)
        space += (start->files[i].length + page - 1) / page * page;
    return space;
}

static bool has_too_large_a_file(const struct program_start *start)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
        return false;
    for (size_t i = 0; i < start->count; i++)
        if (start->files[i].length > limit.rlim_cur)
            return true;
    return false;
}

/* The files must not be what a run fails for. */
size_t program_start_fit(const struct program_start *start, const struct start_room *room,
                         struct home_file ret_files[static PROGRAM_START_FILES_MAX])
{
    uint64_t space = space_of(start);
    if (space > room->space_warm || has_too_large_a_file(start))
        return 0;
    bool all_warm_only = space > room->space_cold || !start->has_figures || !room->figures_cold;
    for (size_t i = 0; i < start->count; i++) {
        ret_files[i] = start->files[i];
        ret_files[i].warm_only = ret_files[i].warm_only || all_warm_only;
    }
    return start->count;
}

void program_start_release(struct program_start *start)
{
    for (size_t i = 0; i < start->text_count; i++)
        free(start->texts[i]);
    start->text_count = 0;
}
