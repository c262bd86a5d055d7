#include "sandbox/jail/child/code.h"

#include "sandbox/jail/child/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

int step_receive_code(struct jail *jail)
{
    return jail->code == CODE_AWAITED ? 0 : report_await_word(jail->plan, WORD_CODE);
}

static int write_code(const struct jail *jail, const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    off_t offset = 0;
    ssize_t copied;
    do {
        copied = sendfile(fd, jail->plan->code_fd, &offset, SENDFILE_CHUNK);
    } while (copied > 0 || (copied < 0 && errno == EINTR));
    int r = copied < 0 ? -errno : 0;
    close(fd);
    return r;
}

int step_write_code(struct jail *jail)
{
    if (jail->code == CODE_AWAITED)
        return 0;
    int r = write_code(jail, jail->plan->code_name);
    close(jail->plan->code_fd);
    return r;
}

bool code_has_come(struct jail *jail)
{
    if (report_await_word(jail->plan, WORD_CODE) < 0)
        return false;
    jail->code = CODE_WANTED;
    return true;
}

int code_timeout(const struct jail *jail)
{
    return jail->code == CODE_WANTED ? LOOK_AGAIN_MS : -1;
}

/* Once the program waits in open(2): the file takes the FIFO's place, and the clock starts. */
static int meet_program(struct jail *jail)
{
    const char *name = jail->plan->code_name;
    jail_note(jail, STEP_WRITE_CODE, -1);
    jail->code_fifo = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (jail->code_fifo < 0)
        return errno == ENXIO || errno == EINTR ? 0 : -errno; /* it is not there yet: fifo(7) */
    int r = write_code(jail, ASIDE);
    if (r == 0 && rename(ASIDE, name) < 0)
        r = -errno;
    if (r == 0)
        r = report_kind(jail->plan, REPORT_READY);
    jail->code = CODE_BEING_WRITTEN;
    return r;
}

/* Fills the FIFO; its end, and so the end of the code, is that it is closed. */
static int fill_fifo(struct jail *jail)
{
    ssize_t copied;
    do {
        copied = sendfile(jail->code_fifo, jail->plan->code_fd, &jail->code_offset, SENDFILE_CHUNK);
    } while (copied > 0 || (copied < 0 && errno == EINTR));
    if (copied < 0 && errno == EAGAIN)
        return 0;
    if (copied < 0 && errno != EPIPE) /* EPIPE: it reads no more */
        return -errno;
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
