/*
 * The changes of a folder, as code-sandbox-mcp-changes reports them: interpreter/changes/changes_report.h.
 *
 * The program has read what a snippet wrote, so its report is not trusted: each member is checked.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_FOLDERS_CHANGES_H
#define INTERPRETER_FOLDERS_CHANGES_H

#include "interpreter/base/bounds.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct changed_file {
    char *path; /* owned; relative to the folder, UTF-8, not empty, no NUL; control characters */
    char status; /* 'A' added, 'M' modified, 'D' deleted */
    bool is_binary;
    uint64_t added, removed; /* lines; 0 of a binary file */
    char version[CHANGES_VERSION_SIZE]; /* as long as it is the same, so are mode and contents */
    bool is_by_call; /* the last call of a session changed it, or the run that there was */
};

/* A change that the patch does not have. */
struct left_out_file {
    char *path;   /* owned; as above; a directory has a '/' at its end; "" is the folder itself */
    char *reason; /* owned; plain, not empty */
    bool is_by_call;
};

/* All zero but patch_fd: nothing changed. */
struct changes {
    struct changed_file *files; /* owned; those in the patch, in its order */
    size_t file_count;
    uint64_t more_files; /* in the patch, not in the list */
    struct left_out_file *left_out; /* owned */
    size_t left_out_count;
    uint64_t more_left_out;
    char **undone; /* owned; as the folder has them again, by the last call of a session */
    size_t undone_count;
    bool is_by_call; /* any of it: there is something to tell */
    uint64_t patch_bytes; /* 0: there is no patch */
    int patch_fd; /* owned; a file in memory; -1: there is no patch */
};

#define CHANGES_NONE ((struct changes){.patch_fd = -1})

void changes_release(struct changes *changes);

/* Its path, status, lines and whether it is binary: members of an object that the caller has begun. */
void changed_file_write(struct json_writer *writer, const struct changed_file *file);

/* What a patch does not have: the members "left_out" and "more_left_out". */
void left_out_write(struct json_writer *writer, const struct changes *changes);

/*
 * Reads a report; sets no patch_fd. 0; -EPROTO with the fault that the program reports; -EINVAL: not such
 * a report; -ENOMEM.
 */
int changes_read(const char *text, size_t length, struct changes *ret_changes, struct fault *fault);
int changes_read_value(const struct json_value *report, struct changes *ret_changes,
                       struct fault *fault);

#endif
