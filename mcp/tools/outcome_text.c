#include "mcp/tools/outcome_text.h"
#include "mcp/settings/quantity.h"
#include "sandbox/base/owned.h"

#include <inttypes.h>

static double seconds_of(int64_t milliseconds)
{
    return (double)milliseconds / 1000;
}

static double processors_of(const struct run_limits *limits)
{
    return (double)limits->millicpus / 1000;
}

int outcome_text_describe(const struct run_result *result, struct buffer *text)
{
    const struct run_limits *limits = &result->limits;
    switch (result->outcome) {
    case OUTCOME_EXITED:
        return buffer_format(text, "exit code: %d", result->exit_code);
    case OUTCOME_SIGNALED:
        return buffer_format(text, "killed by %s", signal_name(result->signal));
    case OUTCOME_TIMED_OUT:
        return buffer_format(text, "timed out after %.8g s", seconds_of(limits->wall_ms));
    case OUTCOME_CPU_LIMIT:
        return buffer_format(text,
                             "used more than %.8g s of processor time (limit: %.8g s of %.8g "
                             "processors)",
                             seconds_of(limits->wall_ms) * processors_of(limits),
                             seconds_of(limits->wall_ms), processors_of(limits));
    case OUTCOME_OUT_OF_MEMORY:
        return buffer_format(text, "out of memory (limit %s)",
                             quantity_size_text(limits->memory_bytes).text);
    case OUTCOME_PROCESS_LIMIT:
        return buffer_format(text, "too many processes (limit %" PRIu64 ")", limits->processes);
    case OUTCOME_OUTPUT_LIMIT:
        return buffer_format(text, "stopped, because it printed more than %s",
                             quantity_size_text(limits->output_total).text);
    case OUTCOME_CANCELLED:
    case OUTCOME_COUNT:
        break;
    }
    return buffer_append_text(text, "cancelled");
}

static bool can_ask_for_more_time(const struct run_result *result,
                                  const struct outcome_text_reader *reader)
{
    return reader->is_model && reader->wall_max_ms > result->limits.wall_ms;
}

static int advise_on_output(const struct run_result *result,
                            const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)reader;
    if (result->outcome != OUTCOME_OUTPUT_LIMIT) {
        int r = buffer_format(text, "Of stdout and of stderr no more than %s each is kept. ",
                              quantity_size_text(result->limits.output_kept).text);
        if (r < 0)
            return r;
    }
    return buffer_append_text(text, "Print less, or only a summary.\n");
}

static int advise_on_disk(const struct run_result *result, const struct outcome_text_reader *reader,
                          struct buffer *text)
{
    (void)reader;
    return buffer_format(text,
                         "There is no room left for files (limit %s, in %" PRIu64 " files): write "
                         "less, or delete what is not needed any more.\n",
                         quantity_size_text(result->limits.disk_bytes).text, result->limits.inodes);
}

static int advise_on_processes(const struct run_result *result,
                               const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)reader;
    if (result->outcome == OUTCOME_PROCESS_LIMIT)
        return buffer_append_text(text, "Start fewer processes and threads at a time, and wait for "
                                        "their end.\n");
    return buffer_format(text,
                         "It wanted more than the %" PRIu64 " processes and threads that it may "
                         "have: start fewer at a time, and wait for their end.\n",
                         result->limits.processes);
}

static int advise_on_memory(const struct run_result *result,
                            const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)reader;
    int r = 0;
    if (result->outcome != OUTCOME_OUT_OF_MEMORY)
        r = buffer_format(text, "It wanted more memory than the %s that it may have. ",
                          quantity_size_text(result->limits.memory_bytes).text);
    if (r == 0 && result->peak_memory_bytes > 0)
        r = buffer_format(text, "Its processes and files together used %s. ",
                          quantity_size_about_text((uint64_t)result->peak_memory_bytes).text);
    return r < 0 ? r
                 : buffer_append_text(text, "Work on smaller pieces, and let go of what is not "
                                            "needed any more.\n");
}

static int advise_on_machine(const struct run_result *result,
                             const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)result;
    (void)reader;
    return buffer_append_text(text, "It was ended although it may have more, because this computer "
                                    "had hardly any memory left: use less, or try again later.\n");
}

static int advise_on_cpu(const struct run_result *result, const struct outcome_text_reader *reader,
                         struct buffer *text)
{
    if (can_ask_for_more_time(result, reader))
        return buffer_format(text,
                             "A larger timeout_seconds gives it more (at most %.8g); or use fewer "
                             "processes, or a faster way.\n",
                             seconds_of(reader->wall_max_ms));
    return buffer_append_text(text, "Do less at once, with fewer processes, or in a faster way.\n");
}

static int advise_on_time(const struct run_result *result, const struct outcome_text_reader *reader,
                          struct buffer *text)
{
    if (can_ask_for_more_time(result, reader))
        return buffer_format(text, "timeout_seconds can give it more time: at most %.8g.\n",
                             seconds_of(reader->wall_max_ms));
    if (reader->is_model)
        return buffer_append_text(text, "No call can have more time: do less in one, or "
                                        "find a faster way.\n");
    return buffer_append_text(text, "--timeout gives it more time.\n");
}

int outcome_text_advise(const struct run_result *result, const struct outcome_text_reader *reader,
                        struct buffer *text)
{
    /* In this order, so that what most likely ended it stands next to the end. */
    static const struct {
        enum limit_reached limit;
        int (*advise)(const struct run_result *result, const struct outcome_text_reader *reader,
                      struct buffer *text);
    } advisers[] = {
        {REACHED_OUTPUT, advise_on_output},
        {REACHED_DISK, advise_on_disk},
        {REACHED_PROCESSES, advise_on_processes},
        {REACHED_MEMORY, advise_on_memory},
        {REACHED_MACHINE_MEMORY, advise_on_machine},
        {REACHED_CPU, advise_on_cpu},
        {REACHED_TIME, advise_on_time},
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(advisers); i++) {
        if (result->limits_reached & advisers[i].limit)
            r = advisers[i].advise(result, reader, text);
    }
    return r;
}
