/*
 * Requests on files of a session: sandbox/session_file.h. At WORD_FILE (commands.h), init clones a process that performs
 * one with system calls alone, as a command whose program is here.
 *
 * It has the ids and walls of a program of the session, and memory of init, so it passes no directory of /proc: its own
 * would lead to that memory. Each name on the way is opened by itself, without following links, which are read and
 * followed here. A process of the session can stop or kill it; what it answered is whole only with its last record.
 *
 * Side: both (the format), child.  Source: path_resolution(7), proc(5), rename(2).
 */
#ifndef SANDBOX_JAIL_CHILD_FILE_REQUEST_H
#define SANDBOX_JAIL_CHILD_FILE_REQUEST_H

#include "sandbox/jail/child/steps.h"

enum file_request_kind {
    FILE_REQUEST_READ,
    FILE_REQUEST_WRITE, /* the bytes come by its stdin */
    FILE_REQUEST_APPEND,
    FILE_REQUEST_LIST,
    FILE_REQUEST_STAT,
    FILE_REQUEST_MKDIR,
    FILE_REQUEST_MOVE,
    FILE_REQUEST_REMOVE,
    FILE_REQUEST_REMOVE_TREE,
};

/* What comes as sealed memory. */
struct file_request {
    uint32_t kind;
    uint32_t mode; /* WRITE, APPEND: 0: as the file that is there, or 0644 */
    uint64_t offset; /* READ */
    uint64_t length; /* READ, WRITE, APPEND: bytes; LIST: records at most */
    uint64_t to; /* MOVE: where its path begins in `paths` */
    char paths[]; /* each with its NUL */
};

/* LIST: one name. Its bytes follow, with a NUL. */
struct file_record {
    uint64_t size;
    int64_t modified_s;
    uint32_t modified_ns;
    uint32_t mode; /* with the type */
    uint32_t name_size; /* with the NUL */
};

/* The last bytes of its stdout, after those of the file or the records. Then it exits with 0; with a positive errno: it could not tell. */
struct file_answer {
    uint64_t length; /* of what came before */
    int32_t error; /* positive errno; 0: done */
    int32_t call; /* the number of the system call that failed, or -1 */
    uint32_t has_more; /* READ: bytes follow; LIST: names do */
    struct file_record file; /* READ, STAT; name_size 0 */
};

/* Starts the process; streams: stdin, stdout, stderr. Its pid, or a negative errno. */
int file_request_start(struct jail *jail, const struct file_request *request, const int *streams);

#endif
