#include "interpreter/result/outcome_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MODEL {.is_model = true, .wall_max_ms = 30000}
#define MODEL_WITH_MORE_TIME {.is_model = true, .wall_max_ms = 300500}
#define PERSON {.is_model = false}

static const struct run_limits limits = {
    .wall_ms = 30000,
    .memory_bytes = 512 * MEBIBYTE,
    .disk_bytes = 256 * MEBIBYTE,
    .inodes = 65536,
    .processes = 256,
    .millicpus = 2000,
    .output_kept = MEBIBYTE,
    .output_total = 256 * MEBIBYTE,
};

/* Every combination that a program can come to, with what each reader is told. */
static const struct {
    enum run_outcome outcome;
    unsigned reached;
    int64_t peak_memory_bytes;
    struct outcome_text_reader reader;
    const char *advice, *end;
} cases[] = {
    {OUTCOME_EXITED, 0, 5000, MODEL, "", "exit code: 7"},
    {OUTCOME_SIGNALED, 0, 5000, MODEL, "", "killed by SIGSEGV"},
    {OUTCOME_CANCELLED, 0, 5000, MODEL, "", "cancelled"},
    {OUTCOME_TIMED_OUT, REACHED_TIME, 0, MODEL,
     "No call can have more time: do less in one call, or use a faster method.\n",
     "timed out after 30 s"},
    {OUTCOME_TIMED_OUT, REACHED_TIME, 0, MODEL_WITH_MORE_TIME,
     "A larger timeout_seconds gives it more time: at most 300.5.\n", "timed out after 30 s"},
    {OUTCOME_TIMED_OUT, REACHED_TIME, 0, PERSON, "--timeout gives it more time.\n",
     "timed out after 30 s"},
    {OUTCOME_CPU_LIMIT, REACHED_CPU, 0, MODEL,
     "Do less at once, or use fewer processes or a faster method.\n",
     "used more than 60 s of processor time (limit: 30 s of 2 processors)"},
    {OUTCOME_CPU_LIMIT, REACHED_CPU, 0, MODEL_WITH_MORE_TIME,
     "A larger timeout_seconds allows more (at most 300.5). Or use fewer processes, or a faster "
     "method.\n",
     "used more than 60 s of processor time (limit: 30 s of 2 processors)"},
    {OUTCOME_OUT_OF_MEMORY, REACHED_MEMORY, 536866816, MODEL,
     "Its processes and files together used 512.0 MiB. Work on smaller pieces, and free data that "
     "is no longer needed.\n",
     "out of memory (limit 512 MiB)"},
    {OUTCOME_OUT_OF_MEMORY, REACHED_MEMORY, 0, MODEL,
     "Work on smaller pieces, and free data that is no longer needed.\n",
     "out of memory (limit 512 MiB)"},
    {OUTCOME_EXITED, REACHED_MEMORY, 0, MODEL,
     "It reached its memory limit of 512 MiB. Work on smaller pieces, and free data that is no longer "
     "needed.\n",
     "exit code: 7"},
    {OUTCOME_PROCESS_LIMIT, REACHED_PROCESSES, 0, MODEL,
     "Start fewer processes and threads at a time, and wait for them to end.\n",
     "too many processes (limit 256)"},
    {OUTCOME_SIGNALED, REACHED_PROCESSES, 0, MODEL,
     "It reached its limit of 256 processes and threads: start fewer at a time, "
     "and wait for them to end.\n",
     "killed by SIGSEGV"},
    {OUTCOME_EXITED, REACHED_DISK, 0, MODEL,
     "There is no space left for files (limit 256 MiB, in 65536 files): write less, or delete files "
     "that are no longer needed.\n",
     "exit code: 7"},
    {OUTCOME_OUTPUT_LIMIT, REACHED_OUTPUT, 0, MODEL, "Print less, or only a summary.\n",
     "stopped, because it printed more than 256 MiB"},
    {OUTCOME_DISK_LIMIT, REACHED_DISK, 0, MODEL,
     "There is no space left for files (limit 256 MiB, in 65536 files): write less, or delete files "
     "that are no longer needed.\n",
     "stopped, because what it wrote to folders took more than 256 MiB, or nearly filled their "
     "disk"},
    {OUTCOME_EXITED, REACHED_OUTPUT, 0, PERSON,
     "Only 1 MiB of stdout, and of stderr, are kept. Print less, or only a summary.\n",
     "exit code: 7"},
    {OUTCOME_EXITED, REACHED_HOST_CPU, 0, MODEL,
     "It had used nearly all the processor time that a process may have here, by the limits that the server was "
     "started with (RLIMIT_CPU, `ulimit -Ht`): do less at once, or ask whoever runs the server to raise "
     "it.\n",
     "exit code: 7"},
    {OUTCOME_TIMED_OUT, REACHED_TIME | REACHED_DISK | REACHED_PROCESSES, 0, PERSON,
     "--timeout gives it more time.\n"
     "It reached its limit of 256 processes and threads: start fewer at a time, "
     "and wait for them to end.\n"
     "There is no space left for files (limit 256 MiB, in 65536 files): write less, or delete files "
     "that are no longer needed.\n",
     "timed out after 30 s"},
};

static void each_limit_has_its_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct run_result result = {
            .outcome = cases[i].outcome,
            .exit_code = 7,
            .signal = 11,
            .limits_reached = cases[i].reached,
            .peak_memory_bytes = cases[i].peak_memory_bytes,
            .limits = limits,
        };
        OWNED(buffer_release) struct buffer advice = BUFFER(4096);
        OWNED(buffer_release) struct buffer end = BUFFER(4096);
        assert_int_equal(outcome_text_advise(&result, &cases[i].reader, &advice), 0);
        assert_int_equal(outcome_text_describe(&result, &end), 0);
        assert_string_equal(buffer_string(&advice), cases[i].advice);
        assert_string_equal(buffer_string(&end), cases[i].end);
    }
}

static void too_little_room_is_an_error_and_no_half_sentence(void **state)
{
    (void)state;
    const struct run_result result = {
        .outcome = OUTCOME_PROCESS_LIMIT, .limits_reached = REACHED_PROCESSES, .limits = limits};
    const struct outcome_text_reader reader = PERSON;
    OWNED(buffer_release) struct buffer text = BUFFER(10);
    assert_true(outcome_text_advise(&result, &reader, &text) < 0);
    assert_true(outcome_text_describe(&result, &text) < 0);
    assert_int_equal(text.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_limit_has_its_words),
        cmocka_unit_test(too_little_room_is_an_error_and_no_half_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
