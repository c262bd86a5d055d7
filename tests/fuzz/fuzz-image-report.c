/*
 * Messages of a jailed child, which reads archives and is not trusted, in pieces; two bytes before
 * each are its length. They are waited for as those of a real child, and taken into an image: its
 * record can be written, and is read again or refused; nothing in it speaks to a terminal.
 */
#include "images/build/postinstall.h"
#include "images/store/image_record.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES_MAX 64

static void send_messages(int fd, struct fuzz_input *input)
{
    for (int i = 0; i < MESSAGES_MAX && input->size > 0; i++) {
        size_t length = fuzz_byte(input);
        length |= (size_t)fuzz_byte(input) << 8;
        length = length < input->size ? length : input->size;
        if (length > 0 && send(fd, input->data, length, MSG_DONTWAIT) < 0)
            return;
        input->data += length;
        input->size -= length;
    }
}

static void check_record(struct image *image)
{
    struct fault fault = {0};
    image->name = strdup("image");
    int r = image_record_write(fuzz_directory(), image, &fault);
    fuzz_check_fault(r, &fault);
    OWNED(image_release) struct image again = {0};
    r = r == 0 ? image_record_read(fuzz_directory(), &again, &fault) : r;
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r == 0 || r == -EINVAL || r == -ENOBUFS);
    unlinkat(fuzz_directory(), RECORD_FILE, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    int pair[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    send_messages(pair[1], &input);
    close(pair[1]);
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    child.report_fd = pair[0];
    OWNED(image_release) struct image image = {0};
    const struct subprocess_observer observer = {.message = postinstall_take_message,
                                                 .data = &image};
    struct fault fault = {0};
    int r = subprocess_wait_all(&child, 1, &observer, &fault);
    fuzz_check_fault(r, &fault);
    fuzz_check_plain(fault.text, true);
    fuzz_check_plain(image.summary, true);
    check_record(&image);
    return 0;
}
