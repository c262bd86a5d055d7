#include "interpreter/result/outcome_text.h"
#include "interpreter/network_text.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"

#include <inttypes.h>
#include <stdio.h>

/* Values of the sentences in outcomes.def. */
#define WALL quantity_seconds(limits->wall_ms)
#define PROCESSORS ((double)limits->millicpus / 1000)
#define COMPILER_END compiler_end(result).text
#define SIZE(bytes) quantity_size_text(bytes).text

struct compiler_end {
    char text[160];
};

/* More than that it has found mistakes. */
static struct compiler_end compiler_end(const struct run_result *result)
{
    struct compiler_end end = {""};
    OWNED(buffer_release) struct buffer text = BUFFER(sizeof(end.text));
    const struct run_compile *compile = result->compile;
    if (compile == NULL || compile->outcome == OUTCOME_EXITED ||
        compile->outcome == OUTCOME_COMPILE_FAILED)
        return end;
    const struct run_result of_compiler = {
        .outcome = compile->outcome, .signal = compile->signal, .limits = result->limits};
    outcome_text_describe(&of_compiler, &text);
    snprintf(end.text, sizeof(end.text), " (the compiler: %s)", buffer_string(&text));
    return end;
}

int outcome_text_describe(const struct run_result *result, struct buffer *text)
{
    const struct run_limits *limits = &result->limits;
    switch (result->outcome) {
#define OUTCOME(id, name, exit_status, ...)                                                        \
    case OUTCOME_##id:                                                                             \
        return buffer_format(text, __VA_ARGS__);
#include "sandbox/limits/outcomes.def"
#undef OUTCOME
    case OUTCOME_COUNT:
        break;
    }
    return -EINVAL;
}

static bool can_ask_for_more_time(const struct run_result *result,
                                  const struct outcome_text_reader *reader)
{
    return reader->is_model && reader->wall_max_ms > result->limits.wall_ms;
}

static int advise_on_output(const struct run_result *result,
                            const struct outcome_text_reader *reader, struct buffer *text)
{
    if (result->outcome != OUTCOME_OUTPUT_LIMIT) {
        if (reader->has_all_output)
            return 0;
        int r = buffer_format(text, "Only %s of stdout, and of stderr, are kept. ",
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
                         "There is no space left for files (limit %s, in %" PRIu64 " files): write "
                         "less, or delete files that are no longer needed.\n",
                         quantity_size_text(result->limits.disk_bytes).text, result->limits.inodes);
}

static int advise_on_processes(const struct run_result *result,
                               const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)reader;
    if (result->outcome == OUTCOME_PROCESS_LIMIT)
        return buffer_append_text(text, "Start fewer processes and threads at a time, and wait for "
                                        "them to end.\n");
    return buffer_format(text,
                         "It reached its limit of %" PRIu64
                         " processes and threads: start fewer at "
                         "a time, and wait for them to end.\n",
                         result->limits.processes);
}

static int advise_on_memory(const struct run_result *result,
                            const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)reader;
    int r = 0;
    if (result->outcome != OUTCOME_OUT_OF_MEMORY)
        r = buffer_format(text, "It reached its memory limit of %s. ",
                          quantity_size_text(result->limits.memory_bytes).text);
    if (r == 0 && result->peak_memory_bytes > 0)
        r = buffer_format(text, "Its processes and files together used %s. ",
                          quantity_size_about_text((uint64_t)result->peak_memory_bytes).text);
    return r < 0 ? r
                 : buffer_append_text(text, "Work on smaller pieces, and free data that is no "
                                            "longer needed.\n");
}

static int advise_on_kernel(const struct run_result *result,
                            const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)reader;
    return buffer_format(
        text,
        "With the kernel memory that belongs to it (pipes, descriptors, watches, locks, areas of "
        "memory, threads), it used %s. Keep fewer of them open at a time.\n",
        quantity_size_about_text((uint64_t)result->peak_memory_bytes).text);
}

static int advise_on_machine(const struct run_result *result,
                             const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)result;
    (void)reader;
    return buffer_append_text(text,
                              "It was killed below its memory limit, because this computer had "
                              "almost no memory left: use less, or try again later.\n");
}

static int advise_on_cpu(const struct run_result *result, const struct outcome_text_reader *reader,
                         struct buffer *text)
{
    if (can_ask_for_more_time(result, reader))
        return buffer_format(text,
                             "A larger timeout_seconds allows more (at most %.8g). Or use fewer "
                             "processes, or a faster method.\n",
                             quantity_seconds(reader->wall_max_ms));
    return buffer_append_text(text,
                              "Do less at once, or use fewer processes or a faster method.\n");
}

static int advise_on_host_cpu(const struct run_result *result,
                              const struct outcome_text_reader *reader, struct buffer *text)
{
    (void)result;
    (void)reader;
    return buffer_append_text(
        text, "It had used nearly all the processor time that a process may have here, by the "
              "limits that the server was started with (RLIMIT_CPU, `ulimit -Ht`): do "
              "less at once, or ask whoever runs the server to raise it.\n");
}

static int advise_on_time(const struct run_result *result, const struct outcome_text_reader *reader,
                          struct buffer *text)
{
    if (result->outcome == OUTCOME_COMPILE_FAILED)
        return buffer_append_text(text, "Have less compiled at once.\n");
    if (can_ask_for_more_time(result, reader))
        return buffer_format(text, "A larger timeout_seconds gives it more time: at most %.8g.\n",
                             quantity_seconds(reader->wall_max_ms));
    if (reader->is_model)
        return buffer_append_text(text, "No call can have more time: do less in one call, or use "
                                        "a faster method.\n");
    return buffer_append_text(text, "--timeout gives it more time.\n");
}

int outcome_text_advise(const struct run_result *result, const struct outcome_text_reader *reader,
                        struct buffer *text)
{
    static int (*const advisers[LIMIT_COUNT])(
        const struct run_result *, const struct outcome_text_reader *, struct buffer *) = {
        [LIMIT_OUTPUT] = advise_on_output,
        [LIMIT_DISK] = advise_on_disk,
        [LIMIT_PROCESSES] = advise_on_processes,
        [LIMIT_MEMORY] = advise_on_memory,
        [LIMIT_KERNEL_MEMORY] = advise_on_kernel,
        [LIMIT_MACHINE_MEMORY] = advise_on_machine,
        [LIMIT_CPU] = advise_on_cpu,
        [LIMIT_HOST_CPU] = advise_on_host_cpu,
        [LIMIT_TIME] = advise_on_time,
    };
    int r = 0;
    /* In the order of limits.def: what most likely ended it stands next to the end. */
    for (size_t i = 0; r == 0 && i < LIMIT_COUNT; i++) {
        if ((result->limits_reached & 1U << i) != 0 && advisers[i] != NULL)
            r = advisers[i](result, reader, text);
    }
    return r < 0 ? r
                 : network_text_advise(result->network, reader->network, reader->is_model, text);
}
