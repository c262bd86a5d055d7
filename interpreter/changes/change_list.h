/*
 * The changes to a folder: files with their contents before and after, and what a patch cannot carry.
 *
 * Side: code-sandbox-mcp-changes.
 */
#ifndef INTERPRETER_CHANGES_CHANGE_LIST_H
#define INTERPRETER_CHANGES_CHANGE_LIST_H

#include "interpreter/base/bounds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Modes of git. */
#define MODE_NONE 0U /* no such file */
#define MODE_FILE 0100644U
#define MODE_PROGRAM 0100755U
#define MODE_LINK 0120000U

/* A file or a symbolic link, before or after. */
struct file_version {
    unsigned mode;
    char *bytes; /* owned; of a link: its target; NULL if empty */
    size_t size;
};

#define VERSION_ABSENT ((struct file_version){MODE_NONE, NULL, 0})

void version_release(struct file_version *version);

/* Whether they have the same kind and bytes; the executable bit may differ. */
bool version_same_content(const struct file_version *one, const struct file_version *other);

struct change {
    char *path; /* owned; relative to the folder, any bytes but NUL */
    struct file_version old, new;
    /* Filled in by patch_write(). */
    bool is_left_out;
    bool is_binary;
    size_t added, removed; /* lines; 0 of a binary file */
    char version
        [CHANGES_VERSION_SIZE]; /* mode and id of the new contents, as git has them; "": none */
};

/* Why a change is not in the patch, or not all of it. change_list.c has the sentences. */
enum left_out_reason {
    LEFT_EMPTY_DIRECTORY,
    LEFT_IN_THE_WAY,
    LEFT_DIRECTORY_MODE,
    LEFT_MODE,
    LEFT_SOCKET,
    LEFT_FIFO,
    LEFT_DEVICE,
    LEFT_UNREADABLE,
    LEFT_HOST_UNREADABLE,
    LEFT_HOST_SPECIAL,
    LEFT_OTHER_FILE_SYSTEM,
    LEFT_CHANGED_ON_HOST,
    LEFT_REMOVED_ON_HOST,
    LEFT_GIT,
    LEFT_IGNORED,
    LEFT_NAME,
    LEFT_TOO_LARGE,
    LEFT_TOO_MUCH,
    LEFT_TOO_MANY,
    LEFT_TOO_DEEP,
    LEFT_NAMES,
    LEFT_TIME,
    LEFT_PATCH_SIZE,
    LEFT_MEMORY,
};

/* Static text, under CHANGES_REASON_SIZE bytes. */
const char *left_out_text(enum left_out_reason reason);

struct left_out {
    char *path; /* owned; as of a change; of a directory with '/' at its end; "" is the folder */
    enum left_out_reason reason;
    size_t count; /* of LEFT_GIT and LEFT_IGNORED: changed entries; else 0 */
};

/* All zero: empty. */
struct change_list {
    struct change *changes; /* owned */
    size_t count, capacity;
    uint64_t bytes; /* of all contents */
    struct left_out left_out[CHANGES_LEFT_OUT_MAX];
    size_t left_out_count;
    size_t left_out_more; /* past the maximum */
};

/*
 * Takes over both versions. If there is no room, or no memory, it leaves the change out with the
 * reason.
 */
void change_list_add(struct change_list *list, const char *path, struct file_version *old,
                     struct file_version *new);

/* There is always room for one that ends the walk (LEFT_NAMES, LEFT_TIME) and for LEFT_IGNORED. */
void change_list_leave_out(struct change_list *list, const char *path, enum left_out_reason reason,
                           size_t count);

void change_list_release(struct change_list *list);

#endif
