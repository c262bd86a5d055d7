#include "sandbox/jail/rlimits.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

/*
 * Not raised: CORE, because a dump of this process would have programs and files of others; NICE and RTPRIO, which jails
 * do not get; NOFILE, which the engine raises when it is made. LOCKS and RSS have no effect since Linux 2.4.
 */
static const struct rlimit_row rows[] = {
    {RLIMIT_AS, "RLIMIT_AS", 'v', RLIMIT_BYTES, RLIM_INFINITY, RUN_ADDRESSES_NEEDED,
     "programs that reserve addresses ahead, as numpy and Node do, fail or hang"},
    {RLIMIT_CORE, "RLIMIT_CORE", 'c', RLIMIT_BYTES, 0, 0, NULL}, /* core_pattern_check() */
    {RLIMIT_CPU, "RLIMIT_CPU", 't', RLIMIT_SECONDS, RLIM_INFINITY, RLIM_INFINITY,
     "the kernel kills each program, session and server that has used as much processor time"},
    {RLIMIT_DATA, "RLIMIT_DATA", 'd', RLIMIT_BYTES, RLIM_INFINITY, 0,
     "a program gets no more memory, whatever --memory allows"},
    {RLIMIT_FSIZE, "RLIMIT_FSIZE", 'f', RLIMIT_BYTES, RLIM_INFINITY, 0,
     "neither snippets nor this program can write a larger file, and larger code cannot be passed on"},
    {RLIMIT_LOCKS, "RLIMIT_LOCKS", 'x', RLIMIT_NUMBER, 0, 0, NULL},
    {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 'l', RLIMIT_BYTES, RLIM_INFINITY, RUN_LOCKED_MEMORY_NEEDED,
     "programs that lock memory fail"},
    {RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE", 'q', RLIMIT_BYTES, RLIM_INFINITY, 0, NULL}, /* refused */
    {RLIMIT_NICE, "RLIMIT_NICE", 'e', RLIMIT_NUMBER, 0, 0, NULL},
    {RLIMIT_NOFILE, "RLIMIT_NOFILE", 'n', RLIMIT_NUMBER, 0, 0,
     "snippets can open fewer files, and fewer sandboxes can be made at once"},
    {RLIMIT_NPROC, "RLIMIT_NPROC", 'u', RLIMIT_NUMBER, RLIM_INFINITY, 0,
     "snippets can start fewer processes and threads"},
    {RLIMIT_RSS, "RLIMIT_RSS", 'm', RLIMIT_BYTES, 0, 0, NULL},
    {RLIMIT_RTPRIO, "RLIMIT_RTPRIO", 'r', RLIMIT_NUMBER, 0, 0, NULL},
    {RLIMIT_RTTIME, "RLIMIT_RTTIME", 'R', RLIMIT_NUMBER, RLIM_INFINITY, 0, NULL}, /* no RTPRIO */
    {RLIMIT_SIGPENDING, "RLIMIT_SIGPENDING", 'i', RLIMIT_NUMBER, RLIM_INFINITY, RUN_SIGNALS_NEEDED,
     "programs can have fewer timers and queued signals"},
    {RLIMIT_STACK, "RLIMIT_STACK", 's', RLIMIT_BYTES, RUN_STACK, RUN_STACK,
     "programs crash in deep recursion, or when they start"},
};

const struct rlimit_row *rlimits_list(size_t *ret_count)
{
    *ret_count = ARRAY_LENGTH(rows);
    return rows;
}

const struct rlimit_row *rlimit_find(int resource)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        if (rows[i].resource == resource)
            return &rows[i];
    return NULL;
}

rlim_t rlimit_needed(const struct rlimit_row *row, const struct run_limits *limits)
{
    switch (row->resource) {
    case RLIMIT_DATA:
        return limits->memory_bytes;
    case RLIMIT_FSIZE:
        return limits->disk_bytes;
    case RLIMIT_NOFILE:
        return limits->descriptors;
    case RLIMIT_NPROC:
        return limits->processes + RUN_PROCESSES_BESIDE;
    default:
        return row->needed;
    }
}

rlim_t rlimit_hard(int resource)
{
    struct rlimit own;
    return getrlimit(resource, &own) == 0 ? own.rlim_max : RLIM_INFINITY;
}

bool rlimit_is_low(const struct rlimit_row *row, const struct run_limits *limits)
{
    return row->lack != NULL && rlimit_hard(row->resource) < rlimit_needed(row, limits);
}

void rlimits_raise(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct rlimit own;
        if (getrlimit(rows[i].resource, &own) < 0 || own.rlim_cur >= rows[i].raised)
            continue;
        own.rlim_cur = own.rlim_max < rows[i].raised ? own.rlim_max : rows[i].raised;
        setrlimit(rows[i].resource, &own);
    }
}
