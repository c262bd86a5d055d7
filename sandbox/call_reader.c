#include "sandbox/call_reader.h"

#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

int call_reader_fill(struct call_reader *reader, int fd)
{
    memmove(reader->bytes, reader->bytes + reader->taken, reader->length - reader->taken);
    reader->length -= reader->taken;
    reader->taken = 0;
    size_t room = sizeof(reader->bytes) - reader->length;
    ssize_t length = read(fd, reader->bytes + reader->length, room);
    if (length < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    reader->length += (size_t)length;
    return length == 0 ? -EPIPE : 0;
}

static bool is_valid(const struct call_header *header, size_t name_length)
{
    bool is_first = (header->flags & CALL_FIRST) != 0;
    switch (header->kind) {
    case CALL_BEGIN:
        return header->bytes <= CALL_FRAME_MAX - sizeof(*header) &&
               (header->flags & ~(CALL_FIRST | CALL_LAST | CALL_NAME_MASK)) == 0 &&
               (is_first ? name_length > 0 : name_length == 0) && name_length <= CALL_NAME_MAX &&
               name_length <= header->bytes;
    case CALL_CANCEL:
    case CALL_WAIT:
    case CALL_LIST:
        return header->bytes == 0 && header->flags == 0;
    default:
        return false;
    }
}

int call_reader_next(struct call_reader *reader, struct call_piece *ret_piece)
{
    struct call_header header;
    size_t left = reader->length - reader->taken;
    const char *frame = reader->bytes + reader->taken;
    if (left < sizeof(header))
        return -EAGAIN;
    memcpy(&header, frame, sizeof(header));
    size_t name_length = (header.flags & CALL_NAME_MASK) >> CALL_NAME_SHIFT;
    if (!is_valid(&header, name_length))
        return -EPROTO;
    if (left < sizeof(header) + header.bytes)
        return -EAGAIN;
    reader->taken += sizeof(header) + header.bytes;
    *ret_piece = (struct call_piece){
        .kind = (enum call_kind)header.kind,
        .call = header.call,
        .flags = header.flags,
        .name = frame + sizeof(header),
        .name_length = name_length,
        .bytes = frame + sizeof(header) + name_length,
        .length = header.bytes - name_length,
    };
    return 0;
}
