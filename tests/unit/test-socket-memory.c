#include "sandbox/limits/socket_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define TCP_LINE "TCP: inuse 3 orphan 1 tw 5 alloc 9 mem 7\n"
#define UDP_LINE "UDP: inuse 2 mem 4\n"

static void sockstat_is_read(void **state)
{
    (void)state;
    struct socket_count count;
    assert_true(socket_memory_parse("sockets: used 21\n" TCP_LINE UDP_LINE
                                    "UDPLITE: inuse 0\nFRAG: inuse 0 memory 8\n",
                                    &count));
    assert_int_equal(count.used, 21);
    assert_int_equal(count.closing, 5);
    assert_int_equal(count.inet_bytes, 11 * sysconf(_SC_PAGESIZE));
}

static void other_text_is_refused(void **state)
{
    (void)state;
    struct socket_count count;
    assert_false(socket_memory_parse("", &count));
    assert_false(socket_memory_parse("sockets: used 21\n", &count));
    assert_false(socket_memory_parse("sockets: used x\n" TCP_LINE UDP_LINE, &count));
    /* A number of the next line is not this line's. */
    assert_false(socket_memory_parse("sockets: used 1\nTCP: tw 5\n" UDP_LINE, &count));
    assert_false(socket_memory_parse("sockets: used 1\n" TCP_LINE "UDP: inuse 2\n", &count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockstat_is_read),
        cmocka_unit_test(other_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
