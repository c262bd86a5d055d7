#include "sandbox/scope/dbus_connection.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/percent.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Bytes of a line of the handshake. */
#define LINE_MAX_BYTES 512

/*
 * EXTERNAL: as who we are, which the other side asks of the kernel, since in a user namespace our
 * own word for it could be another. All of it at once: nothing depends on the answers.
 */
static const char handshake[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
#define CHALLENGE "DATA"
#define ACCEPTED "OK "

/* 0, -ETIMEDOUT or another negative errno. The end of the stream counts as readable. */
static int await(int fd, short events, int64_t deadline)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = fd, .events = events};
        int64_t left_ns = deadline - clock_now();
        if (left_ns <= 0)
            return -ETIMEDOUT;
        /* Rounded up, lest the last millisecond be spent busily. */
        int ready = poll(&poll_fd, 1, (int)(left_ns / NANOSECONDS_PER_MILLISECOND + 1));
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
}

static int send_all(int fd, const char *bytes, size_t length, int64_t deadline)
{
    while (length > 0) {
        int r = await(fd, POLLOUT, deadline);
        if (r < 0)
            return r;
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        }
    }
    return 0;
}

static int receive_all(int fd, char *bytes, size_t length, int64_t deadline)
{
    while (length > 0) {
        int r = await(fd, POLLIN, deadline);
        if (r < 0)
            return r;
        ssize_t received = recv(fd, bytes, length, 0);
        if (received == 0)
            return -ECONNRESET;
        if (received < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (received > 0) {
            bytes += received;
            length -= (size_t)received;
        }
    }
    return 0;
}

/* Byte by byte, because messages follow. Without its end. */
static int receive_line(int fd, char line[LINE_MAX_BYTES], int64_t deadline)
{
    for (size_t length = 0; length < LINE_MAX_BYTES; length++) {
        int r = receive_all(fd, &line[length], 1, deadline);
        if (r < 0)
            return r;
        if (line[length] == '\n') {
            line[length > 0 && line[length - 1] == '\r' ? length - 1 : length] = '\0';
            return 0;
        }
    }
    return -EPROTO;
}

static int authenticate(int fd, int64_t deadline)
{
    char line[LINE_MAX_BYTES] = "";
    int r = send_all(fd, handshake, sizeof(handshake) - 1, deadline);
    if (r == 0)
        r = receive_line(fd, line, deadline);
    if (r == 0 && strcmp(line, CHALLENGE) == 0)
        r = receive_line(fd, line, deadline);
    if (r == 0 && strncmp(line, ACCEPTED, strlen(ACCEPTED)) != 0)
        r = -EPROTO;
    return r;
}

/* The first call on a bus; the answer is a name that nobody needs here. */
static int greet(int fd, int64_t deadline)
{
    const struct dbus_call hello = {
        .serial = 1,
        .destination = "org.freedesktop.DBus",
        .path = "/org/freedesktop/DBus",
        .interface = "org.freedesktop.DBus",
        .member = "Hello",
        .signature = "",
    };
    const struct dbus_writer nothing = DBUS_WRITER;
    struct dbus_answer answer;
    int r = dbus_call(fd, &hello, &nothing, deadline, &answer);
    return r == 0 && answer.type != DBUS_RETURN ? -EPROTO : r;
}

/* sun_path of this length: a path, or the name of an abstract socket behind a NUL. */
static int connect_name(const char *name, size_t length, bool is_bus, int64_t deadline, int *ret_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (length >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, name, length);
    OWNED_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (connect(fd, (const struct sockaddr *)&address, size) < 0)
        return -errno; /* EAGAIN, where it accepts no more */
    int r = authenticate(fd, deadline);
    if (r == 0 && is_bus)
        r = greet(fd, deadline);
    if (r == 0)
        *ret_fd = fd_take(&fd);
    return r;
}

int dbus_connect_path(const char *path, bool is_bus, int64_t deadline, int *ret_fd)
{
    return connect_name(path, strlen(path), is_bus, deadline, ret_fd);
}

/* The value of a key in one address, "unix:KEY=VALUE,...": its begin, or NULL. */
static const char *value_of(const char *address, size_t length, const char *key, size_t *ret_length)
{
    static const char transport[] = "unix:";
    size_t prefix = sizeof(transport) - 1;
    size_t key_length = strlen(key);
    if (length < prefix || strncmp(address, transport, prefix) != 0)
        return NULL;
    for (size_t at = prefix; at < length;) {
        size_t part = strcspn(address + at, ",;");
        if (part > key_length && strncmp(address + at, key, key_length) == 0 &&
            address[at + key_length] == '=') {
            *ret_length = part - key_length - 1;
            return address + at + key_length + 1;
        }
        at += part + 1;
    }
    return NULL;
}

/* One of the addresses. */
static int connect_one(const char *address, size_t length, bool is_bus, int64_t deadline,
                       int *ret_fd)
{
    OWNED(buffer_release) struct buffer name = BUFFER(PATH_MAX);
    size_t value_length = 0;
    const char *value = value_of(address, length, "path", &value_length);
    int r = 0;
    if (value == NULL) {
        value = value_of(address, length, "abstract", &value_length);
        r = buffer_append(&name, "", 1);
    }
    if (value == NULL)
        return -EPROTONOSUPPORT;
    if (r == 0)
        r = percent_decode(&name, value, value_length);
    return r < 0 ? r : connect_name(name.data, name.length, is_bus, deadline, ret_fd);
}

int dbus_connect_address(const char *address, bool is_bus, int64_t deadline, int *ret_fd)
{
    int r = -EPROTONOSUPPORT;
    while (*address != '\0' && r < 0) {
        size_t length = strcspn(address, ";");
        r = connect_one(address, length, is_bus, deadline, ret_fd);
        address += length + (address[length] == ';');
    }
    return r;
}

static int receive_message(int fd, int64_t deadline, struct dbus_answer *ret_answer)
{
    char header[DBUS_FIXED_HEADER];
    OWNED(buffer_release) struct buffer message = BUFFER(DBUS_MESSAGE_MAX);
    size_t length = 0;
    int r = receive_all(fd, header, sizeof(header), deadline);
    if (r == 0)
        r = dbus_message_length(header, &length);
    if (r == 0)
        r = buffer_reserve(&message, length);
    if (r < 0)
        return r;
    memcpy(message.data, header, sizeof(header));
    r = receive_all(fd, message.data + sizeof(header), length - sizeof(header), deadline);
    return r < 0 ? r : dbus_answer_read(message.data, length, ret_answer);
}

int dbus_call(int fd, const struct dbus_call *call, const struct dbus_writer *body,
              int64_t deadline, struct dbus_answer *ret_answer)
{
    OWNED(dbus_writer_release) struct dbus_writer message = DBUS_WRITER;
    int r = dbus_call_write(call, body, &message);
    if (r == 0)
        r = send_all(fd, message.bytes.data, message.bytes.length, deadline);
    while (r == 0) {
        struct dbus_answer answer;
        r = receive_message(fd, deadline, &answer);
        if (r == 0 && answer.type != DBUS_OTHER && answer.reply_serial == call->serial) {
            *ret_answer = answer;
            return 0;
        }
    }
    return r;
}
