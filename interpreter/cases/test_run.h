/*
 * A program and its tests: compiled once at most, then run for each of them in a sandbox of its own, some at once.
 *
 * Of files, figures and changes that such runs leave nothing is kept.
 *
 * Side: parent.  What programs print is untrusted.
 */
#ifndef INTERPRETER_CASES_TEST_RUN_H
#define INTERPRETER_CASES_TEST_RUN_H

#include "interpreter/cases/test_set.h"
#include "interpreter/checker.h"
#include "interpreter/kept_snippet.h"
#include "interpreter/launcher.h"

#define TESTS_TEXT_MAX (512 * KIBIBYTE) /* of what all of them printed, in their results */
#define TEST_TEXT_MAX (64 * KIBIBYTE) /* of one stream of one of them */

/* What a test came to. */
struct tested {
    struct test_run *owner;
    struct launched run; /* while it goes on */
    bool has_run, passed;
    enum run_outcome outcome;
    int exit_code, signal; /* as in struct run_result */
    int64_t duration_ns, cpu_ns, peak_memory_bytes;
    uint64_t out_bytes, err_bytes; /* that it printed */
    struct buffer out, err; /* owned: the beginning of that */
};

struct test_run {
    /* Set by the owner. Neither is called any more after test_run_drop(). */
    void (*ran)(struct test_run *run, const struct run_result *result); /* each; may be NULL */
    void (*done)(struct test_run *run, int status,
                 const struct fault
                     *fault); /* once, from the loop; a negative errno: one could not be run */
    /* The rest is test_run.c's. */
    struct launcher *launcher; /* borrowed */
    struct kept_snippet kept;
    struct test_set set; /* owned */
    struct compile_share share; /* of its tests here */
    struct tested *list; /* owned; one for each test */
    size_t next, running; /* tests */
    size_t passed;
    bool has_failed, is_starting; /* the second: no further one is to be begun from within */
    int status; /* of what could not be run */
    struct fault fault;
    struct run_result first; /* of those that have ended: limits, compiler */
    bool has_first;
};

/* Takes the set over. 0: done() follows; a negative errno with its fault: it does not. */
int test_run_start(struct test_run *run, struct launcher *launcher, const struct snippet *snippet,
                   struct test_set *set, struct fault *fault);

/* How many tests have ended. */
size_t test_run_ended(const struct test_run *run);

/* Whether nothing of it has run yet. */
bool test_run_is_waiting(const struct test_run *run);

/* Ends what goes on, and releases what it owns. */
void test_run_drop(struct test_run *run);

/*
 * Writes members of an object: "outcome" ("passed", "failed", "compile_failed"), "passed" (their number), "tests" (an array),
 * "phase", "compile", "tier"; and "policy": what the check before them has found, NULL: there was none.
 */
void test_run_write(struct json_writer *writer, const struct test_run *run,
                    const struct check *check);

/* The largest text that test_run_write() makes of so many tests. */
#define TEST_RUN_MAX(count) (6 * TESTS_TEXT_MAX + 4 * MEBIBYTE + (count) * (size_t)1024)

#endif
