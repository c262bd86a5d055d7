#include "sandbox/limits/socket_diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define UNIX_MAX 1000000

struct message {
    _Alignas(struct nlmsghdr) char bytes[512];
    size_t length;
};

static void append(struct message *message, const void *bytes, size_t length)
{
    memcpy(message->bytes + message->length, bytes, length);
    message->length += NLMSG_ALIGN(length);
    uint32_t whole = (uint32_t)message->length;
    memcpy(message->bytes, &whole, sizeof(whole)); /* nlmsg_len */
}

static void append_attribute(struct message *message, unsigned short type, const void *value,
                             size_t length)
{
    struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(length), .rta_type = type};
    append(message, &attribute, sizeof(attribute));
    append(message, value, length);
}

static struct message unix_socket(uint8_t type, uint8_t socket_state)
{
    struct message message = {0};
    struct nlmsghdr header = {.nlmsg_type = SOCK_DIAG_BY_FAMILY};
    struct unix_diag_msg socket = {
        .udiag_family = AF_UNIX, .udiag_type = type, .udiag_state = socket_state, .udiag_ino = 1};
    uint32_t memory[SK_MEMINFO_BACKLOG + 1] = {[SK_MEMINFO_WMEM_ALLOC] = 700};
    append(&message, &header, sizeof(header));
    append(&message, &socket, sizeof(socket));
    append_attribute(&message, UNIX_DIAG_MEMINFO, memory, sizeof(memory));
    return message;
}

static struct socket_sum sum_of(const struct message *message)
{
    struct socket_sum sum = {0};
    assert_int_equal(socket_diag_parse(message->bytes, message->length, UNIX_MAX, &sum), 1);
    return sum;
}

static void data_is_counted_with_its_sender(void **state)
{
    (void)state;
    struct message message = unix_socket(SOCK_STREAM, TCP_ESTABLISHED);
    uint32_t peer = 9;
    append_attribute(&message, UNIX_DIAG_PEER, &peer, sizeof(peer));
    struct socket_sum sum = sum_of(&message);
    assert_int_equal(sum.seen, 1);
    assert_int_equal(sum.unix_bytes, 700);
    assert_int_equal(sum.orphan_bytes + sum.unlisted_peers + sum.unaccepted, 0);
}

static void data_of_a_closed_sender_is_bounded(void **state)
{
    (void)state;
    struct message message = unix_socket(SOCK_STREAM, TCP_ESTABLISHED);
    uint32_t peer = 0;
    struct unix_diag_rqlen queue = {.udiag_rqueue = 10};
    append_attribute(&message, UNIX_DIAG_PEER, &peer, sizeof(peer));
    append_attribute(&message, UNIX_DIAG_RQLEN, &queue, sizeof(queue));
    struct socket_sum sum = sum_of(&message);
    assert_int_equal(sum.unlisted_peers, 1);
    assert_int_equal(sum.orphan_bytes, (64 + 10) * 1024);
    message = unix_socket(SOCK_SEQPACKET, TCP_ESTABLISHED);
    append_attribute(&message, UNIX_DIAG_PEER, &peer, sizeof(peer));
    assert_int_equal(sum_of(&message).orphan_bytes, UNIX_MAX);
}

static void unaccepted_connections_of_closed_clients_count_as_full(void **state)
{
    (void)state;
    struct message message = unix_socket(SOCK_STREAM, TCP_LISTEN);
    uint32_t clients[] = {0, 17, 0};
    append_attribute(&message, UNIX_DIAG_ICONS, clients, sizeof(clients));
    struct socket_sum sum = sum_of(&message);
    assert_int_equal(sum.unaccepted, 3);
    assert_int_equal(sum.unaccepted_open, 1);
    assert_int_equal(sum.orphan_bytes, 2 * UNIX_MAX);
}

static void the_end_and_a_refusal_are_told_apart(void **state)
{
    (void)state;
    struct socket_sum sum = {0};
    struct message message = {0};
    struct nlmsghdr header = {.nlmsg_type = NLMSG_ERROR};
    int error = -ENOENT;
    append(&message, &header, sizeof(header));
    append(&message, &error, sizeof(error));
    assert_int_equal(socket_diag_parse(message.bytes, message.length, UNIX_MAX, &sum), -ENOENT);
    memset(message.bytes + sizeof(header), 0, sizeof(error));
    assert_int_equal(socket_diag_parse(message.bytes, message.length, UNIX_MAX, &sum), 0);
}

/* Cut anywhere, and with any byte of a length changed: read within its bounds, or refused. */
static void malformed_messages_are_refused(void **state)
{
    (void)state;
    struct message message = unix_socket(SOCK_STREAM, TCP_LISTEN);
    uint32_t clients[] = {0, 17};
    append_attribute(&message, UNIX_DIAG_ICONS, clients, sizeof(clients));
    struct socket_sum sum = {0};
    for (size_t length = 1; length < message.length; length++)
        assert_int_equal(socket_diag_parse(message.bytes, length, UNIX_MAX, &sum), -EBADMSG);
    assert_int_equal(sum.seen, 0);
    size_t first = sizeof(struct nlmsghdr) + sizeof(struct unix_diag_msg);
    for (unsigned length = 0; length < 4; length++) {
        message.bytes[first] = (char)length; /* rta_len, shorter than its own head */
        assert_int_equal(sum_of(&message).seen, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_counted_with_its_sender),
        cmocka_unit_test(data_of_a_closed_sender_is_bounded),
        cmocka_unit_test(unaccepted_connections_of_closed_clients_count_as_full),
        cmocka_unit_test(the_end_and_a_refusal_are_told_apart),
        cmocka_unit_test(malformed_messages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
