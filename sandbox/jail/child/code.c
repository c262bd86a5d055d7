#include "sandbox/jail/child/code.h"

#include "sandbox/jail/child/parcel_format.h"
#include "sandbox/jail/child/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define SENDFILE_CHUNK (1 << 20)
#define LOOK_AGAIN_MS 1
/* Beside the FIFO there is nothing in the work directory yet. */
#define ASIDE ".code"

int step_make_code_fifo(struct jail *jail)
{
    if (!jail->plan->is_warm)
        return 0;
    jail->code = CODE_AWAITED;
    return mkfifo(jail->plan->code_name, 0644) < 0 ? -errno : 0;
}

static void take_parcel(struct jail *jail, const struct parent_message *message)
{
    jail->code_length = (off_t)message->code_length;
    jail->file_count = message->file_count;
}

static int await_parcel(struct jail *jail)
{
    struct parent_message message;
    int r = report_await_word(jail->plan, WORD_CODE, &message);
    if (r == 0)
        take_parcel(jail, &message);
    return r;
}

/* Whether init writes the code later, when it serves the jail already. */
static bool comes_later(const struct jail *jail)
{
    return jail->code == CODE_AWAITED || jail->plan->session == SESSION_FRESH;
}

int step_receive_code(struct jail *jail)
{
    return comes_later(jail) ? 0 : await_parcel(jail);
}

/* Sends the parcel from *offset on, which moves, up to `end`. */
static int send_range(const struct jail *jail, int fd, off_t *offset, off_t end)
{
    while (*offset < end) {
        size_t left = (size_t)(end - *offset);
        ssize_t sent = sendfile(fd, jail->plan->code_fd, offset,
                                left < SENDFILE_CHUNK ? left : SENDFILE_CHUNK);
        if (sent < 0 && errno != EINTR)
            return -errno;
        if (sent == 0)
            return -EIO; /* there is less than the parent said */
    }
    return 0;
}

/* Opens a directory; a link of an earlier cell leads nowhere else if init's root is the host's. */
static int open_directory(const struct jail *jail, int parent_fd, const char *name)
{
    const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    int fd = jail->plan->base == BASE_HOST ? openat(parent_fd, name, flags | O_NOFOLLOW)
                                           : openat(parent_fd, name, flags);
    return fd < 0 ? -errno : fd;
}

/* Opens the directory of a file, and makes it and those above it if they are missing. *ret_last: the file's name in it. */
static int open_parent(const struct jail *jail, const char *path, const char **ret_last)
{
    char part[PARCEL_NAME_SIZE_MAX];
    int fd = open_directory(jail, AT_FDCWD, path[0] == '/' ? jail->plan->home : ".");
    path += path[0] == '/';
    for (size_t length; fd >= 0; path += length + 1) {
        for (length = 0; path[length] != '/' && path[length] != '\0';)
            length++;
        *ret_last = path;
        if (path[length] == '\0')
            break;
        if (length >= sizeof(part))
            length = sizeof(part) - 1;
        memcpy(part, path, length);
        part[length] = '\0';
        int next = open_directory(jail, fd, part);
        if (next == -ENOENT)
            next = mkdirat(fd, part, 0755) < 0 && errno != EEXIST ? -errno
                                                                  : open_directory(jail, fd, part);
        close(fd);
        fd = next;
    }
    return fd;
}

static int write_range(const struct jail *jail, const char *path, mode_t mode, off_t offset,
                       off_t end)
{
    const char *name;
    int parent = open_parent(jail, path, &name);
    if (parent < 0)
        return parent;
    if (name[0] == '\0') {
        close(parent);
        return 0;
    }
    /* A file of an earlier cell is replaced; and nothing that is there is ever opened. */
    bool is_free =
        jail->plan->session == SESSION_NONE || unlinkat(parent, name, 0) == 0 || errno == ENOENT;
    int fd = is_free
                 ? openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
                 : -1;
    int r = fd < 0 ? -errno : send_range(jail, fd, &offset, end);
    close(parent);
    if (fd >= 0)
        close(fd);
    return r;
}

int step_write_code(struct jail *jail)
{
    if (comes_later(jail))
        return 0;
    return write_range(jail, jail->plan->code_name, 0644, 0, jail->code_length);
}

/* Writes the file whose record is at *offset, which moves to the next one. */
static int write_file(const struct jail *jail, off_t *offset)
{
    char record[sizeof(struct parcel_file) + PARCEL_NAME_SIZE_MAX];
    struct parcel_file file;
    ssize_t length = pread(jail->plan->code_fd, record, sizeof(record), *offset);
    if (length < 0)
        return -errno;
    if (length < (ssize_t)sizeof(file))
        return -EIO;
    memcpy(&file, record, sizeof(file));
    const char *name = record + sizeof(file);
    if (file.name_size == 0 || file.name_size > (size_t)length - sizeof(file) ||
        name[file.name_size - 1] != '\0')
        return -EIO;
    off_t begin = *offset + (off_t)sizeof(file) + (off_t)file.name_size;
    *offset = begin + (off_t)file.length;
    return write_range(jail, name, file.is_executable != 0 ? 0755 : 0644, begin, *offset);
}

static int write_files(struct jail *jail)
{
    off_t offset = jail->code_length;
    for (uint32_t i = 0; i < jail->file_count; i++) {
        jail_note(jail, STEP_WRITE_FILES, (int)i);
        int r = write_file(jail, &offset);
        if (r < 0)
            return r;
    }
    return 0;
}

int step_write_files(struct jail *jail)
{
    if (comes_later(jail))
        return 0;
    int r = write_files(jail);
    if (jail->plan->session == SESSION_NONE)
        close(jail->plan->code_fd);
    return r;
}

int code_receive_again(struct jail *jail, const struct parent_message *message)
{
    take_parcel(jail, message);
    jail_note(jail, STEP_WRITE_CODE, -1);
    int r = jail->plan->session == SESSION_FRESH && message->lane == 0
                ? write_range(jail, jail->plan->code_name, 0644, 0, jail->code_length)
                : 0;
    return r < 0 ? r : write_files(jail);
}

bool code_has_come(struct jail *jail)
{
    if (await_parcel(jail) < 0)
        return false;
    jail->code = CODE_WANTED;
    return true;
}

int code_timeout(const struct jail *jail)
{
    return jail->code == CODE_WANTED ? LOOK_AGAIN_MS : -1;
}

/*
 * Once the program waits in open(2): the file takes the FIFO's place, the input files join it, and the
 * clock starts.
 */
static int meet_program(struct jail *jail)
{
    const char *name = jail->plan->code_name;
    jail_note(jail, STEP_WRITE_CODE, -1);
    jail->code_fifo = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (jail->code_fifo < 0)
        return errno == ENXIO || errno == EINTR ? 0 : -errno; /* it is not there yet: fifo(7) */
    int r = write_range(jail, ASIDE, 0644, 0, jail->code_length);
    if (r == 0 && rename(ASIDE, name) < 0)
        r = -errno;
    if (r == 0)
        r = write_files(jail);
    if (r == 0)
        r = report_kind(jail->plan, REPORT_READY);
    jail->code = CODE_BEING_WRITTEN;
    return r;
}

/* Fills the FIFO; its end, and so the end of the code, is that it is closed. */
static int fill_fifo(struct jail *jail)
{
    int r = send_range(jail, jail->code_fifo, &jail->code_offset, jail->code_length);
    if (r == -EAGAIN)
        return 0;
    if (r < 0 && r != -EPIPE) /* EPIPE: it reads no more */
        return r;
    close(jail->code_fifo);
    close(jail->plan->code_fd);
    jail->code_fifo = -1;
    jail->code = CODE_HANDED_OVER;
    return 0;
}

int code_hand_over(struct jail *jail)
{
    int r = jail->code == CODE_WANTED ? meet_program(jail) : 0;
    return r == 0 && jail->code == CODE_BEING_WRITTEN ? fill_fifo(jail) : r;
}
