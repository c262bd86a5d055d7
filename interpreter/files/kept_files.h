/*
 * Files of the newest calls, kept so that clients can read them as resources.
 *
 * Each call has one sealed memory file with copies of its files: the run's tmpfs can go, and the
 * server's own memory does not grow. The bounds are KEPT_FILE_MAX, KEPT_BYTES_MAX and
 * KEPT_CALLS_MAX. When space runs out, the least recently used call goes; keeping and reading are
 * uses.
 *
 * Side: parent.  Source: memfd_create(2); fcntl(2), "File Sealing".
 */
#ifndef INTERPRETER_FILES_KEPT_FILES_H
#define INTERPRETER_FILES_KEPT_FILES_H

#include "interpreter/base/bounds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum kept_content {
    KEPT_UNKNOWN, /* not examined yet */
    KEPT_TEXT,
    KEPT_BINARY,
};

struct kept_file {
    char *path; /* owned; any bytes but NUL */
    uint64_t offset, size; /* in the memory file of its call */
    enum kept_content content;
};

struct kept_call {
    unsigned owner; /* who alone finds it: struct rpc */
    uint64_t number;
    int fd; /* owned; the memory file */
    struct kept_file *files; /* owned */
    size_t count;
    uint64_t bytes;
    uint64_t used; /* kept_files.uses at the last use */
};

/* All zero: empty. */
struct kept_files {
    struct kept_call calls[KEPT_CALLS_MAX]; /* call_count of them, in no order */
    size_t call_count;
    uint64_t bytes;
    uint64_t uses;
    uint64_t newest_dropped; /* the largest number of a dropped call */
    void (*changed)(void *data); /* other files are kept now; or NULL */
    void *data;
};

struct file_to_keep {
    const char *path; /* borrowed; unique within the call */
    int fd;           /* borrowed; read from its start */
    uint64_t size;
    bool is_kept;     /* filled in */
};

/*
 * Keeps the files that fit, in their order, and says which. A file that cannot be copied is not
 * kept. Each call may add its files once. If files have come or gone, `changed` is called once, after
 * that.
 */
void kept_files_add(struct kept_files *kept, unsigned owner, uint64_t number,
                    struct file_to_keep *files, size_t count);

/* A kept file, borrowed until the next kept_files_add(). */
struct kept_view {
    struct kept_call *call;
    struct kept_file *file;
};

/* Finds the file; this is a use of its call. False: it is not kept. */
bool kept_files_find(struct kept_files *kept, unsigned owner, uint64_t number, const char *path,
                     struct kept_view *ret_view);

/*
 * Fills in at most `maximum` views: the newest call first, the files of a call in their order.
 * Returns their number. This is no use of the calls.
 */
size_t kept_files_list(struct kept_files *kept, unsigned owner, struct kept_view *views,
                       size_t maximum);

/* Whether the call has kept files. */
bool kept_files_has_call(const struct kept_files *kept, unsigned owner, uint64_t number);

/* Reads from `offset` in the file. The number of bytes, fewer only at its end; or -errno. */
ssize_t kept_file_read(const struct kept_view *view, uint64_t offset, char *bytes, size_t length);

/* Whether the file is UTF-8 without NUL, and no picture. The first call reads all of it. */
bool kept_file_is_text(const struct kept_view *view);

void kept_files_release(struct kept_files *kept);

#endif
