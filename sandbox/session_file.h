/*
 * Files of a session, without running code of its image: one request reads, writes, lists or changes what programs of the
 * session would. session_file() makes one.
 *
 * A process that init clones performs it, with the ids and all walls of a program of the session: it makes system calls
 * only, and answers over a pipe. The server opens nothing. Links are followed as a program there would, but not those of
 * /proc, of which nothing is read or changed; FIFOs, sockets and devices are not opened.
 *
 * FILES_AT_ONCE requests of a session run at once, FILES_WAITING_MAX more wait, in order; like a command, they need the
 * session to have a place. If neither a cell nor a command runs, the processes of the session stay stopped.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_FILE_H
#define SANDBOX_SESSION_FILE_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;
struct session_file;

enum file_operation {
    FILE_READ,   /* path, offset, length -> bytes, entry.size, is_end */
    FILE_WRITE,  /* path, bytes, length, mode, appends; parents are made */
    FILE_LIST,   /* path -> entries, by name, and has_more; links are not followed */
    FILE_STAT,   /* path -> entry; links are followed */
    FILE_MKDIR,  /* path; parents are made; one that is there is no error */
    FILE_MOVE, /* path, to: as rename(2) does, replacing a file; between file systems, regular files only */
    FILE_REMOVE, /* path, recurses: as unlink(2), or of a directory; links are not followed */
};

/* Everything is borrowed for the call of session_file(). */
struct file_spec {
    enum file_operation operation;
    /* In the jail; a relative one begins at the work directory. Not empty; at most PATH_MAX - 1 bytes, of any kind. */
    const char *path;
    const char *to;
    uint64_t offset;
    const char *bytes;
    size_t length; /* <= FILE_PIECE_MAX, of READ and WRITE */
    /* Of WRITE: permission bits; 0: those of the file that is replaced, or 0644. */
    mode_t mode;
    /*
     * Of WRITE: to the end of the file, which is made if it is missing. If false, the bytes are written to a new file,
     * which then takes its place: a reader sees the old ones or the new ones.
     */
    bool appends;
    bool recurses; /* but not into another file system */
    int64_t wall_ms; /* > 0 */
};

struct file_entry {
    const char *name; /* of LIST; else NULL */
    mode_t mode; /* the type too: S_ISREG() */
    uint64_t size;
    int64_t modified_s; /* since 1970 */
    uint32_t modified_ns;
};

struct file_result {
    struct file_entry entry; /* of READ and STAT */
    const char *bytes; /* of READ: at most `length`; fewer only at the end of the file */
    size_t length;
    bool is_end; /* nothing follows */
    const struct file_entry *entries; /* of LIST: at most FILE_ENTRIES_MAX */
    size_t entry_count;
    bool has_more;
};

/* Callback from the loop, never from inside session_file(). */
struct file_observer {
    /*
     * Called once; the handle is invalid from here on. status 0: it was done; everything is borrowed for the call. Else a
     * negative errno, and the fault has a text and one of these ids:
     *   no_such_file    nor anything on the way to it; or a loop of links
     *   not_a_file      a directory, FIFO, socket or device, or a file of /proc; of MOVE: what cannot be copied
     *   not_a_directory of LIST, MKDIR
     *   permission      also: a read-only file system
     *   exists, not_empty
     *   too_large       the file, or a name
     *   limit           the disk, the processes or another limit of the session
     *   busy            in use, or not done in wall_ms
     *   interrupted     a process of the session, or its limit of memory, has ended it: it may have been done
     *   lost            the session has ended
     *   file_failed     anything else
     */
    void (*done)(void *data, int status, const struct file_result *result,
                 const struct fault *fault);
    void *data;
};

/* 0; -EAGAIN with the id "busy": too many wait; -EINVAL; -E2BIG with "too_large"; another negative errno. */
int session_file(struct session *session, const struct file_spec *spec,
                 const struct file_observer *observer, struct session_file **ret_file,
                 struct fault *fault);

/* The observer is not called any more; the handle is invalid. What has begun may still be done. */
void session_file_cancel(struct session_file *file);

#endif
