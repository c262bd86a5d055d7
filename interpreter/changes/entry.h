/*
 * Entries of the upper layer and of the folder: their kind, and the contents of files.
 *
 * Both are untrusted: a snippet wrote the upper layer, and the folder may change at any time. Nothing
 * but regular files is opened for reading; no link is followed, no other file system entered. The
 * time of access of the host's files stays, if the kernel allows that: not of symbolic links, nor of
 * files of another owner.
 *
 * Side: code-sandbox-mcp-changes.  Source: openat2(2); open(2), O_NOATIME; the kernel's overlayfs.rst.
 */
#ifndef INTERPRETER_CHANGES_ENTRY_H
#define INTERPRETER_CHANGES_ENTRY_H

#include "interpreter/changes/change_list.h"

#include <stdbool.h>
#include <sys/stat.h>

enum entry_kind {
    ENTRY_NONE,
    ENTRY_FILE,
    ENTRY_LINK,
    ENTRY_DIRECTORY,
    ENTRY_WHITEOUT, /* hides the entry of the folder */
    ENTRY_SOCKET,
    ENTRY_FIFO,
    ENTRY_DEVICE,
};

struct entry {
    enum entry_kind kind;
    struct stat about; /* unless ENTRY_NONE */
};

/* `directory_fd` -1: there is no such directory, so no entry. */
struct entry entry_look(int directory_fd, const char *name);

/* Opens a directory for reading. A descriptor or a negative errno. */
int entry_open_directory(int directory_fd, const char *name);

/* Whether a directory of the upper layer hides the one of the folder. */
bool entry_is_opaque(int directory_fd);

/* Whether the file or directory, as it was found, may be read by its owner. */
bool entry_is_readable(const struct entry *entry);

/*
 * Reads a file or the target of a link. 0; -EFBIG: larger than CHANGES_FILE_MAX; -EAGAIN: it is no
 * longer the entry that was found; another negative errno.
 */
int entry_read(int directory_fd, const char *name, const struct entry *entry,
               struct file_version *ret_version);

/* Whether a file or directory of the upper layer began as a copy of one of the folder. */
bool entry_is_copy(int directory_fd, const char *name);

#endif
