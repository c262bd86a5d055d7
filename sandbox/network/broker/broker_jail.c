/* The life of a jail: its link. */
#include "sandbox/network/broker/broker.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/network/link.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

static void take_sockets(struct broker_jail *jail, const int fds[LINK_SOCKETS])
{
    struct loop *loop = &jail->loop;
    socklen_t size = sizeof(jail->factory);
    jail->factory_fd = fds[LINK_FACTORY];
    jail->connector_fd = fds[LINK_CONNECTOR];
    getsockname(jail->factory_fd, (struct sockaddr *)&jail->factory, &size);
    if (loop_watch(loop, &jail->dns, fds[LINK_DNS], EPOLLIN) < 0)
        close(fds[LINK_DNS]);
    if (loop_watch(loop, &jail->syn, fds[LINK_SYN], EPOLLIN) < 0)
        close(fds[LINK_SYN]);
    if (loop_watch(loop, &jail->ping, fds[LINK_PING], EPOLLIN) < 0)
        close(fds[LINK_PING]);
}

/* Answers with what has happened since the last time. */
static void send_record(struct broker_jail *jail, const struct link_question *question)
{
    uint8_t *bytes = (uint8_t *)jail->broker->relay_bytes;
    if (question->word == LINK_END) { /* every process of the jail is dead */
        dns_stream_release(jail);
        dial_release(jail);
        relay_release(jail);
    }
    relay_account(jail);
    jail->record.is_plain = jail->is_plain;
    jail->record.number = question->number;
    size_t length = record_write(&jail->record, bytes);
    send(jail->link.fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    jail->record = (struct network_record){0};
}

/* From the child, before any snippet. Returns as fd_message_receive(). */
static int receive_sockets(struct broker_jail *jail)
{
    int fds[LINK_SOCKETS];
    char word = 0;
    const struct fd_message message = {&word, 1, fds, LINK_SOCKETS};
    int r = fd_message_receive(jail->link.fd, &message, MSG_DONTWAIT);
    if (r != 1)
        return r;
    jail->is_plain = word == LINK_OPEN_PLAIN;
    take_sockets(jail, fds);
    if (jail->is_plain)
        listener_open_ahead(jail);
    return r;
}

/* From the server. */
static int receive_word(struct broker_jail *jail)
{
    struct link_question question = {0};
    ssize_t length = recv(jail->link.fd, &question, sizeof(question), MSG_DONTWAIT);
    if (length <= 0)
        return length == 0 ? 0 : -errno;
    if (length != sizeof(question) || (question.word != LINK_REPORT && question.word != LINK_END))
        return -EPROTO;
    send_record(jail, &question);
    return 1;
}

static void on_link(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct broker_jail *jail = container_of(watch, struct broker_jail, link);
    int r = jail->factory_fd < 0 ? receive_sockets(jail) : receive_word(jail);
    if (r != 1 && r != -EAGAIN)
        jail_free(jail);
}

int jail_start(struct broker *broker, int link_fd)
{
    struct broker_jail *jail = calloc(1, sizeof(*jail));
    if (jail == NULL) {
        close(link_fd);
        return -ENOMEM;
    }
    *jail = (struct broker_jail){
        .broker = broker,
        .loop = {.epoll_fd = -1},
        .link = {.fd = -1, .ready = on_link},
        .dns = {.fd = -1, .ready = dns_ready},
        .syn = {.fd = -1, .ready = syn_ready},
        .ping = {.fd = -1, .ready = ping_ready},
        .factory_fd = -1,
        .connector_fd = -1,
    };
    LIST_PREPEND(broker->jails, jail);
    int r = loop_open_inside(&broker->loop, &jail->loop);
    if (r == 0)
        r = loop_watch(&broker->loop, &jail->link, link_fd, EPOLLIN);
    if (r < 0) {
        close(link_fd);
        jail_free(jail);
    }
    return r;
}

struct resolver *jail_resolver(struct broker_jail *jail)
{
    if (jail->resolver == NULL)
        resolver_open(&jail->loop, &jail->resolver);
    return jail->resolver;
}

static void close_watch(struct loop *loop, struct loop_watch *watch)
{
    int fd = watch->fd;
    loop_unwatch(loop, watch);
    fd_close(&fd);
}

void jail_free(struct broker_jail *jail)
{
    struct broker *broker = jail->broker;
    dns_stream_release(jail);
    dns_release(jail);
    dial_release(jail);
    relay_release(jail);
    ping_release(jail);
    listener_release(jail);
    resolver_free(jail->resolver);
    name_table_release(&jail->names);
    close_watch(&broker->loop, &jail->link);
    close_watch(&jail->loop, &jail->dns);
    close_watch(&jail->loop, &jail->syn);
    close_watch(&jail->loop, &jail->ping);
    fd_close(&jail->factory_fd);
    fd_close(&jail->connector_fd);
    loop_close(&jail->loop);
    LIST_REMOVE(broker->jails, jail);
    free(jail);
}
