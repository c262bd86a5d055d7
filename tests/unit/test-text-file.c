#include "sandbox/base/text_file.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static int file_of(const char *text, size_t length)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void a_text_is_terminated_and_cut(void **state)
{
    (void)state;
    OWNED_FD int fd = file_of("12345", 5);
    char text[5];
    for (int i = 0; i < 2; i++) { /* from its beginning each time */
        assert_int_equal(text_file_read_open(fd, text, sizeof(text)), 0);
        assert_string_equal(text, "1234");
    }
    assert_int_equal(text_file_read(AT_FDCWD, "/dev/null", text, sizeof(text)), 0);
    assert_string_equal(text, "");
    assert_int_equal(text_file_read(AT_FDCWD, "/dev/null/absent", text, sizeof(text)), -ENOTDIR);
    assert_string_equal(text, "");
}

static void all_is_read_up_to_the_maximum(void **state)
{
    (void)state;
    static char bytes[10000];
    memset(bytes, 'x', sizeof(bytes));
    static const struct {
        size_t maximum;
        int status;
    } table[] = {{sizeof(bytes) + 1, 0},
                 {sizeof(bytes), -ENOBUFS},
                 {sizeof(bytes) - 1, -ENOBUFS},
                 {0, -ENOBUFS}};
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        OWNED_FD int fd = file_of(bytes, sizeof(bytes));
        OWNED(buffer_release) struct buffer text = BUFFER(table[i].maximum);
        assert_int_equal(text_file_read_all(fd, &text), table[i].status);
        if (table[i].status == 0) {
            assert_int_equal(text.length, sizeof(bytes));
            assert_memory_equal(text.data, bytes, sizeof(bytes));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_terminated_and_cut),
        cmocka_unit_test(all_is_read_up_to_the_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
