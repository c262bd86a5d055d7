#include "sandbox/base/fd_message.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

static int ends_make(void **state)
{
    static int ends[2];
    *state = ends;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int ends_close(void **state)
{
    int *ends = *state;
    fd_close(&ends[0]);
    fd_close(&ends[1]);
    return 0;
}

static void bytes_and_descriptors_arrive(void **state)
{
    const int *ends = *state;
    OWNED_FD int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int sent_fds[] = {null_fd, ends[0]};
    char sent = 'x';
    assert_int_equal(
        fd_message_send(ends[0], &(struct fd_message){&sent, sizeof(sent), sent_fds, 2}), 0);
    int fds[] = {-1, -1};
    char byte = 0;
    const struct fd_message message = {&byte, sizeof(byte), fds, 2};
    assert_int_equal(fd_message_receive(ends[1], &message, 0), 1);
    assert_int_equal(byte, 'x');
    struct stat one, other;
    assert_int_equal(fstat(null_fd, &one), 0);
    assert_int_equal(fstat(fds[0], &other), 0);
    assert_int_equal(one.st_rdev, other.st_rdev);
    assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

static void another_shape_is_refused(void **state)
{
    int *ends = *state;
    int fd = -1;
    char byte = 0;
    const struct fd_message message = {&byte, sizeof(byte), &fd, 1};
    assert_int_equal(fd_message_receive(ends[1], &message, MSG_DONTWAIT), -EAGAIN);
    assert_int_equal(send(ends[0], "x", 1, 0), 1);
    assert_int_equal(fd_message_receive(ends[1], &message, 0), -EPROTO);
    assert_int_equal(fd, -1);
    fd_close(&ends[0]);
    assert_int_equal(fd_message_receive(ends[1], &message, 0), 0);
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void descriptors_of_an_incomplete_message_are_closed(void **state)
{
    const int *ends = *state;
    int sent_fd = ends[0];
    char byte = 'x';
    assert_int_equal(fd_message_send(ends[0], &(struct fd_message){&byte, 1, &sent_fd, 1}), 0);
    int fds[] = {-1, -1};
    int count = count_descriptors();
    assert_int_equal(fd_message_receive(ends[1], &(struct fd_message){&byte, 1, fds, 2}, 0),
                     -EPROTO);
    assert_int_equal(count_descriptors(), count);
    assert_int_equal(fds[0], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_and_descriptors_arrive, ends_make, ends_close),
        cmocka_unit_test_setup_teardown(another_shape_is_refused, ends_make, ends_close),
        cmocka_unit_test_setup_teardown(descriptors_of_an_incomplete_message_are_closed, ends_make,
                                        ends_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
