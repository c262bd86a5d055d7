#include "sandbox/base/owned.h"
#include "sandbox/limits/proc_activity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Fields 3 to 23 with 200 ticks of its own, 100 of its children's, 5 threads. */
#define FIELDS " S 1 1 1 0 -1 4194304 9 0 0 0 150 50 60 40 20 0 5 0 1234 9999\n"

static void stat_is_read_whatever_the_name(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "2 (python3)" FIELDS,
        "2 (a b)" FIELDS,
        "2 (1) R 9 9 9)" FIELDS,
        "2 ()" FIELDS,
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct proc_usage_sample count = {.processes = 1};
        assert_true(proc_usage_parse_stat(texts[i], &count));
        assert_int_equal(count.processes, 1 + 5);
        assert_int_equal(count.cpu_ns, 300 * (1000000000 / sysconf(_SC_CLK_TCK)));
    }
}

static void only_threads_that_go_on_are_running(void **state)
{
    (void)state;
    for (const char *at = "RSItTDZX"; *at != '\0'; at++) {
        char text[128];
        struct proc_activity activity = {0};
        snprintf(text, sizeof(text),
                 "Name:\tState:\tR\nState:\t%c (x)\nPid:\t2\n"
                 "voluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t4\n",
                 *at);
        proc_activity_add(&activity, text);
        assert_int_equal(activity.running, strchr("RSI", *at) != NULL);
        assert_int_equal(activity.switches, (UINT64_C(2) << 32) + 34);
    }
    struct proc_activity none = {0};
    proc_activity_add(&none, "");
    assert_int_equal(none.running + none.switches, 0);
}

static void status_adds_all_but_files_of_the_image(void **state)
{
    (void)state;
    struct proc_usage_sample count = {.resident_bytes = 1};
    assert_true(proc_usage_parse_status(
        "Name:\tVmRSS:\nVmPeak:\t  99 kB\nVmRSS:\t  100 kB\n"
        "RssAnon:\t  60 kB\nRssFile:\t  33 kB\nRssShmem:\t   7 kB\nVmPTE:\t   20 kB\nVmSwap:\t    3 kB\n",
        &count));
    assert_int_equal(count.resident_bytes, 1 + (60 + 7 + 20 + 3) * 1024);
    assert_false(proc_usage_parse_status("Name:\tzombie\nState:\tZ (zombie)\n", &count));
    assert_int_equal(count.resident_bytes, 1 + (60 + 7 + 20 + 3) * 1024);
}

static void other_text_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "2", "2 (x", "2 (x) S 1 1", "2 (x) S 1 1 1 0 -1 a b"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct proc_usage_sample count = {0};
        assert_false(proc_usage_parse_stat(texts[i], &count));
        assert_int_equal(count.processes + count.resident_bytes, 0);
    }
}

static void what_a_sample_needs_is_looked_for(void **state)
{
    (void)state;
    assert_null(proc_usage_missing("/proc"));
    assert_string_equal(proc_usage_missing("/nowhere"), "");
    char root[] = "/tmp/test-proc-usage-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/meminfo", root);
    assert_int_equal(symlink("/proc/meminfo", path), 0);
    assert_string_equal(proc_usage_missing(root), "thread-self/children");
    assert_int_equal(unlink(path) | rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sample_needs_is_looked_for),
        cmocka_unit_test(stat_is_read_whatever_the_name),
        cmocka_unit_test(only_threads_that_go_on_are_running),
        cmocka_unit_test(status_adds_all_but_files_of_the_image),
        cmocka_unit_test(other_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
