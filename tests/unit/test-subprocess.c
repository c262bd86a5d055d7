#include "images/base/subprocess.h"

#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* A directory that is first on PATH, and the value that puts it there. */
struct place {
    char directory[32], path[64];
};

static int place_make(void **state)
{
    static struct place place;
    strcpy(place.directory, "/tmp/test-child-XXXXXX");
    assert_non_null(mkdtemp(place.directory));
    snprintf(place.path, sizeof(place.path), "PATH=%s:/usr/bin:/bin", place.directory);
    *state = &place;
    return 0;
}

static int place_remove(void **state)
{
    const struct place *place = *state;
    return rmdir(place->directory);
}

static int run(const struct place *place, const char *name, struct fault *fault)
{
    const char *const argv[] = {name, NULL};
    const char *const environment[] = {place->path, NULL};
    const struct subprocess_spec program = {.argv = argv, .environment = environment};
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    return subprocess_run(&program, NULL, &child, fault);
}

static void a_directory_that_may_not_be_entered_hides_nothing(void **state)
{
    const struct place *place = *state;
    struct fault fault = {0};
    assert_int_equal(chmod(place->directory, 0), 0);
    assert_int_equal(run(place, "true", &fault), 0);
    assert_int_equal(run(place, "no-such-program", &fault), -ENOENT);
    assert_string_equal(fault.text, "");
}

static void a_file_that_may_not_be_executed_is_told(void **state)
{
    const struct place *place = *state;
    struct fault fault = {0};
    char file[64];
    assert_int_equal(chmod(place->directory, 0700), 0);
    snprintf(file, sizeof(file), "%s/plain", place->directory);
    FILE *made = fopen(file, "w");
    assert_non_null(made);
    fclose(made);
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(run(place, "plain", &fault), -EPROTO);
    assert_int_equal(unlink(file), 0);
    assert_non_null(strstr(fault.text, "Permission denied"));
}

static void a_program_that_does_nothing_is_ended(void **state)
{
    (void)state;
    static const char *const argv[] = {"sh", "-c", "echo why >&2; sleep 1000 & wait", NULL};
    const struct subprocess_spec program = {.argv = argv};
    struct fault fault = {0};
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    child.silence_max_ns = NANOSECONDS_PER_SECOND;
    assert_int_equal(subprocess_run(&program, NULL, &child, &fault), -ETIMEDOUT);
    assert_non_null(strstr(fault.text, "sh made no progress for 1 s and was ended"));
    assert_non_null(strstr(fault.text, "Its last words:\nwhy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_that_may_not_be_entered_hides_nothing),
        cmocka_unit_test(a_file_that_may_not_be_executed_is_told),
        cmocka_unit_test(a_program_that_does_nothing_is_ended),
    };
    return cmocka_run_group_tests(tests, place_make, place_remove);
}
