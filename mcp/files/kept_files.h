/*
 * Files of the newest calls, kept to be read as resources: copies in sealed memory files, one for each call,
 * so that the tmpfs of the run can go and the server's own memory stays as it is. Bounded: KEPT_FILE_MAX,
 * KEPT_BYTES_MAX, KEPT_CALLS_MAX. When these are reached, the call goes whose files were read (or else made)
 * the longest ago.
 *
 * Side: parent.  Source: memfd_create(2); fcntl(2), "File Sealing".
 */
#ifndef MCP_FILES_KEPT_FILES_H
#define MCP_FILES_KEPT_FILES_H

#include "mcp/base/bounds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum kept_content {
    KEPT_UNKNOWN, /* nobody has asked yet */
    KEPT_TEXT,
    KEPT_BINARY,
};

struct kept_file {
    char *path; /* owned; any bytes but NUL */
    uint64_t offset, size; /* in the memory file of its call */
    enum kept_content content;
};

struct kept_call {
    uint64_t number;
    int fd; /* owned; the memory file */
    struct kept_file *files; /* owned */
    size_t count;
    uint64_t bytes;
    uint64_t used; /* when, as a number that grows */
};

/* All zero: empty. */
struct kept_files {
    struct kept_call calls[KEPT_CALLS_MAX]; /* call_count of them, in no order */
    size_t call_count;
    uint64_t bytes;
    uint64_t uses;
    uint64_t newest_dropped; /* the largest number of a call whose files have gone */
};

/* A file that a run has left. */
struct file_to_keep {
    const char *path; /* borrowed; no two of a call are the same */
    int fd;           /* borrowed; read from its start */
    uint64_t size;
    bool is_kept;     /* filled in */
};

/*
 * Keeps those that fit: each at most KEPT_FILE_MAX, all of the call at most KEPT_BYTES_MAX, the first ones
 * first. A file that cannot be copied is not kept. Each number comes once.
 */
void kept_files_add(struct kept_files *kept, uint64_t number, struct file_to_keep *files,
                    size_t count);

/* A kept file; all borrowed, until the next kept_files_add(). */
struct kept_view {
    struct kept_call *call;
    struct kept_file *file;
};

/* The file, which then counts as read just now. False: there is none, or none any more. */
bool kept_files_find(struct kept_files *kept, uint64_t number, const char *path,
                     struct kept_view *ret_view);

/* Whether some files of that call are still kept. */
bool kept_files_has_call(const struct kept_files *kept, uint64_t number);

/* Bytes from `offset` in the file; fewer at its end. 0 at the end, or a negative errno. */
ssize_t kept_file_read(const struct kept_view *view, uint64_t offset, char *bytes, size_t length);

/* Whether all of it is UTF-8 without NUL, and no picture. Finding out reads it once. */
bool kept_file_is_text(const struct kept_view *view);

void kept_files_release(struct kept_files *kept);

#endif
