#include "fleet/id_set.h"
#include "sandbox/base/owned.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY 100000

static void has_what_was_added_and_nothing_else(void **state)
{
    (void)state;
    OWNED(id_set_release) struct id_set set = {0};
    char text[32];
    assert_false(id_set_has(&set, "0", 1));
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MANY; i += 2) {
            int length = snprintf(text, sizeof(text), "%u", i);
            assert_int_equal(id_set_add(&set, text, (size_t)length), 0);
        }
        assert_int_equal(set.count, MANY / 2);
    }
    for (unsigned i = 0; i < MANY; i++) {
        int length = snprintf(text, sizeof(text), "%u", i);
        assert_int_equal(id_set_has(&set, text, (size_t)length), i % 2 == 0);
    }
    assert_false(id_set_has(&set, "\"0\"", 3));
    assert_false(id_set_has(&set, "", 0));
}

static void write_file(char path[32], const char *text)
{
    strcpy(path, "/tmp/test-id-set-XXXXXX");
    OWNED_FD int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void reads_results_and_tells_what_else_is_there(void **state)
{
    (void)state;
    static const char complete[] = "{\"id\":1,\"outcome\":\"exited\"}\n"
                                   "{\"id\":2,\"error\":{}}\n"
                                   "\n"
                                   "{\"id\":\"3\",\"outcome\":\"timed_out\"}\n"
                                   "{\"id\":4,\"outc\n"
                                   "{\"id\":null,\"line\":6,\"error\":{}}\n";
    static const char torn[] = "{\"id\":5,\"outcome\":\"exited\"}";
    char text[sizeof(complete) + sizeof(torn)];
    char path[32];
    snprintf(text, sizeof(text), "%s%s", complete, torn);
    write_file(path, text);
    OWNED(id_set_release) struct id_set set = {0};
    struct id_file file;
    struct fault fault = {0};
    assert_int_equal(id_set_read(&set, path, &file, &fault), 0);
    unlink(path);
    assert_int_equal(set.count, 2);
    assert_true(id_set_has(&set, "1", 1) && id_set_has(&set, "\"3\"", 3));
    assert_int_equal(file.complete, strlen(complete));
    assert_int_equal(file.torn, strlen(torn));
    assert_int_equal(file.foreign, 2);
}

static void reads_lines_longer_than_a_piece(void **state)
{
    (void)state;
    char path[32];
    size_t size = 1 << 20;
    OWNED_MEMORY char *text = malloc(size + 64);
    assert_non_null(text);
    int length = sprintf(text, "{\"id\":1,\"outcome\":\"exited\",\"stdout\":\"");
    memset(text + length, 'x', size);
    strcpy(text + length + size, "\"}\n");
    write_file(path, text);
    OWNED(id_set_release) struct id_set set = {0};
    struct id_file file;
    assert_int_equal(id_set_read(&set, path, &file, NULL), 0);
    unlink(path);
    assert_true(id_set_has(&set, "1", 1));
    assert_int_equal(file.complete, strlen(text));
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    OWNED(id_set_release) struct id_set set = {0};
    struct id_file file;
    struct fault fault = {0};
    assert_true(id_set_read(&set, "/nonexistent/x", &file, &fault) < 0);
    assert_non_null(strstr(fault.text, "/nonexistent/x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_what_was_added_and_nothing_else),
        cmocka_unit_test(reads_results_and_tells_what_else_is_there),
        cmocka_unit_test(reads_lines_longer_than_a_piece),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
