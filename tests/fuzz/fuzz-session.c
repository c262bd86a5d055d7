/*
 * A whole session: the bytes are what a client writes to the server's stdin, through its loop, its
 * channel, the handshake, every method, and runs that end at once (fake-launcher.h). Whatever comes,
 * each line sent is an answer of JSON-RPC, there are no more than are owed, no descriptor is left
 * open, and the server ends by itself and without a fault.
 *
 * The first byte chooses the form of results and whether a handshake goes before.
 */
#include "interpreter/base/bounds.h"
#include "mcp/server.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/wire.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static const char *const handshakes[] = {
    "",
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
    "{\"protocolVersion\":\"2025-11-25\"}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
    "{\"protocolVersion\":\"2025-03-26\"}}\n",
};

static int output_file(void)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("output", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static size_t check_output(int fd)
{
    off_t size = lseek(fd, 0, SEEK_CUR);
    size_t sent = 0;
    OWNED_MEMORY char *text = malloc((size_t)size + 1);
    FUZZ_CHECK(text != NULL && pread(fd, text, (size_t)size, 0) == size);
    for (const char *line = text; line < text + size;) {
        const char *newline = memchr(line, '\n', (size_t)(text + size - line));
        FUZZ_CHECK(newline != NULL);
        sent += wire_check_line(line, (size_t)(newline - line));
        line = newline + 1;
    }
    return sent;
}

/* At most: a run that is cancelled, or goes on at the end of input, is owed nothing any more. */
static size_t answers_due(const struct buffer *lines)
{
    size_t due = 0;
    for (size_t at = 0; at < lines->length;) {
        const char *line = lines->data + at;
        const char *newline = memchr(line, '\n', lines->length - at);
        size_t length = newline != NULL ? (size_t)(newline - line) : lines->length - at;
        size_t refused = wire_answers_owed(line, length, false);
        size_t accepted = wire_answers_owed(line, length, true);
        due += refused > accepted ? refused : accepted;
        at += length + 1;
    }
    return due;
}

static int lowest_free_descriptor(void)
{
    OWNED_FD int fd = dup(STDERR_FILENO);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    uint8_t manner = fuzz_byte(&input);
    OWNED(buffer_release) struct buffer lines = BUFFER(LINE_IN_MAX);
    FUZZ_CHECK(buffer_append_text(&lines, handshakes[manner / 4 % 3]) == 0);
    FUZZ_CHECK(buffer_append(&lines, input.data, input.size) == 0);
    setenv("XDG_DATA_HOME", "/nonexistent", 1); /* where images are looked for */

    OWNED(settings_release) struct settings settings = settings_default();
    settings.wall_max_ms = 60000;
    settings.result_format = manner % 3;
    int input_fd = fuzz_file(lines.data, lines.length);
    int output_fd = output_file();
    int lowest = lowest_free_descriptor();
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    struct fault fault = {0};
    int r = server_run(&settings, input_fd, output_fd, &fault);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r == 0);
    FUZZ_CHECK(lowest_free_descriptor() == lowest);
    FUZZ_CHECK(check_output(output_fd) <= answers_due(&lines));
    return 0;
}
