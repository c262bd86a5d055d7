#include "sandbox/jail/setup_error.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"
#include "sandbox/result.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct plan_scratch scratch[] = {{"work", "/work", 0755, true}};
static const struct plan_rlimit rlimits[] = {{RLIMIT_NPROC, 1, 1}};
static const struct plan_device devices[] = {{"/dev/null", "null"}};
static const struct plan_link dev_links[] = {{"fd", "/proc/self/fd"}};
static char *argv[] = {(char[]){"/usr/bin/python3"}, NULL};
static const struct jail_plan plan = {
    .subject = "the sandbox for image python",
    .root_path = "/images/python/rootfs",
    .scratch = scratch,
    .scratch_count = 1,
    .rlimits = rlimits,
    .rlimit_count = 1,
    .devices = devices,
    .device_count = 1,
    .dev_links = dev_links,
    .dev_link_count = 1,
    .home = "/home/sandbox",
    .work_directory = "/work",
    .code_name = "main.py",
    .argv = argv,
};

static const struct {
    struct child_report report;
    const char *words; /* of step, object, cause and remedy */
} table[] = {
    {{REPORT_FAILED, STEP_NAMESPACES, ENOSPC, -1, 0}, "max_uts_namespaces"},
    {{REPORT_FAILED, STEP_NAMESPACES, EPERM, -1, 0}, "Operation not permitted; "},
    {{REPORT_FAILED, STEP_OPEN_ROOT, EACCES, -1, 0}, "/images/python/rootfs: Permission denied"},
    {{REPORT_FAILED, STEP_OPEN_ROOT, ESTALE, -1, 0}, "run again"},
    {{REPORT_FAILED, STEP_MAKE_PROC, EPERM, -1, 0},
     "a /proc of its own: Operation not permitted; "},
    {{REPORT_FAILED, STEP_PRIVATE_MOUNTS, EACCES, -1, 0}, "mounts private: Permission denied; "},
    {{REPORT_FAILED, STEP_MOUNT_SCRATCH, ENOENT, 0, 0}, "directory /work: No such file"},
    {{REPORT_FAILED, STEP_PIVOT_ROOT, EINVAL, -1, 0}, "switch_root"},
    {{REPORT_FAILED, STEP_RLIMIT, EPERM, 0, 0}, "RLIMIT_NPROC: Operation not permitted; the limit"},
    {{REPORT_FAILED, STEP_FILL_DEV, ENOSPC, 0, 0}, "fill /dev null"},
    {{REPORT_FAILED, STEP_FILL_DEV, ENOSPC, 1, 0}, "fill /dev fd"},
    {{REPORT_FAILED, STEP_FILL_DEV, ENOSPC, 2, 0}, "fill /dev: No space"},
    {{REPORT_FAILED, STEP_EXECUTE, ENOEXEC, -1, 0}, "execute /usr/bin/python3: Exec format error"},
    {{REPORT_FAILED, STEP_EXECUTE, E2BIG, -1, 0}, "too long; shorten its arguments"},
    {{REPORT_FAILED, STEP_WRITE_CODE, ENOSPC, -1, 0}, "main.py: No space left on device; the code"},
    {{REPORT_FAILED, STEP_COUNT, 0, 99, 0}, "could not be set up: Input/output error"},
};

static void a_failed_step_names_step_object_cause_and_remedy(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct fault fault = {0};
        int r = setup_error_explain(&plan, &table[i].report, &fault);
        assert_int_equal(r, -(table[i].report.error != 0 ? table[i].report.error : EIO));
        if (strstr(fault.text, table[i].words) == NULL)
            fail_msg("row %zu: \"%s\" does not say \"%s\"", i, fault.text, table[i].words);
        assert_non_null(strstr(fault.text, "image python"));
    }
}

static void an_input_file_that_could_not_be_written_is_named(void **state)
{
    (void)state;
    const struct run_input files[] = {{"data/one.csv", "1", 1}, {"two", "22", 2}};
    const struct run_spec spec = {.code = "", .inputs = files, .input_count = 2};
    OWNED(parcel_release) struct parcel parcel = {0};
    assert_int_equal(parcel_make(&spec, &parcel), 0);
    static const char *const words[] = {
        "write the input file data/one.csv: No space left on device; the code and the files",
        "write the input file two: ", "write the input file: "};
    for (int i = 0; i < 3; i++) {
        const struct child_report report = {REPORT_FAILED, STEP_WRITE_FILES, ENOSPC, i, 0};
        struct fault fault = {0};
        assert_int_equal(setup_error_explain_run(&plan, &report, &parcel, &fault), -ENOSPC);
        if (strstr(fault.text, words[i]) == NULL)
            fail_msg("%s", fault.text);
        assert_string_equal(fault.id, "write_files");
    }
    const struct child_report other = {REPORT_FAILED, STEP_WRITE_CODE, ENOSPC, 0, 0};
    struct fault fault = {0};
    setup_error_explain_run(&plan, &other, &parcel, &fault);
    assert_non_null(strstr(fault.text, "main.py"));
}

static void every_step_has_a_sentence_of_its_own(void **state)
{
    (void)state;
    char texts[STEP_COUNT][FAULT_TEXT_MAX];
    for (unsigned step = 0; step < STEP_COUNT; step++) {
        struct fault fault = {0};
        struct child_report report = {REPORT_FAILED, step, EIO, -1, 0};
        setup_error_explain(&plan, &report, &fault);
        assert_null(strstr(fault.text, "be set up"));
        memcpy(texts[step], fault.text, sizeof(fault.text));
        for (unsigned other = 0; other < step; other++)
            assert_string_not_equal(texts[step], texts[other]);
    }
}

static void a_refused_clone_says_what_to_switch_on(void **state)
{
    (void)state;
    struct fault fault = {0};
    assert_int_equal(setup_error_explain_clone(ENOSPC, &fault), -ENOSPC);
    assert_non_null(strstr(fault.text, "max_user_namespaces"));
    fault = (struct fault){""};
    assert_int_equal(setup_error_explain_clone(EPERM, &fault), -EPERM);
    assert_non_null(strstr(fault.text, "; "));
}

static void signals_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(signal_name(SIGSEGV), "SIGSEGV");
    assert_string_equal(signal_name(SIGKILL), "SIGKILL");
    assert_string_equal(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
    assert_string_equal(signal_name(200), "signal 200");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_step_names_step_object_cause_and_remedy),
        cmocka_unit_test(an_input_file_that_could_not_be_written_is_named),
        cmocka_unit_test(every_step_has_a_sentence_of_its_own),
        cmocka_unit_test(a_refused_clone_says_what_to_switch_on),
        cmocka_unit_test(signals_have_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
