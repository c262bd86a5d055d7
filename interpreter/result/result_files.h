/*
 * The files and figures of a result: their types, the images to show, and the copies to keep.
 *
 * Names and bytes come from the snippet: untrusted. picture_header.h judges the images; their bytes
 * stay unchanged.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Image Content" and "Resource Links".
 */
#ifndef INTERPRETER_RESULT_RESULT_FILES_H
#define INTERPRETER_RESULT_RESULT_FILES_H

#include "interpreter/files/files_dir.h"
#include "interpreter/files/kept_files.h"
#include "interpreter/files/picture_header.h"
#include "interpreter/folders/folder_patches.h"
#include "sandbox/base/json.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a file is shown as an image, or why not. */
enum image_state {
    IMAGE_SHOWN,
    IMAGE_NONE, /* no picture, or not named as one */
    IMAGE_OFF, /* --no-images */
    IMAGE_TOO_MANY, /* past IMAGES_MAX */
    IMAGE_TOO_LARGE,      /* past IMAGES_BYTES_MAX, alone or with the others */
    IMAGE_TOO_WIDE,       /* past IMAGE_SIDE_MAX */
    IMAGE_WITHOUT_PIXELS,
    IMAGE_INCOMPLETE,
    IMAGE_UNREADABLE, /* no memory, or an error */
};

struct result_file {
    const struct run_file *file; /* borrowed from the result */
    char *name;                  /* owned: its path, "figure-1.png", or "changes.patch" */
    bool is_figure;
    bool is_patch;
    bool is_picture;  /* by its first bytes */
    const char *type; /* media type; static */
    enum image_state state;
    struct picture_pixels pixels; /* of IMAGE_TOO_WIDE */
    struct buffer base64;         /* of IMAGE_SHOWN */
    bool is_kept; /* its URI can be read */
    char *path;   /* owned: of its copy in the directory of --files-dir; or NULL */
    int error;    /* why it could not be copied there; or 0 */
};

struct result_files {
    struct result_file
        list[RUN_FIGURES_MAX + FOLDERS_MAX + RUN_FILES_MAX]; /* figures, patches, files */
    size_t count;
    struct run_file patches[FOLDERS_MAX]; /* for the list; descriptors borrowed, names not used */
    uint64_t call;
    size_t figures;     /* made by the run, shown or not */
    size_t undrawn; /* figures without a picture: there were enough */
    bool undrawn_at_least; /* there may be more of them */
    size_t more; /* files not in the list */
    bool more_at_least; /* `more` is a lower bound */
    bool is_lost; /* nothing could be collected */
    const char *directory; /* borrowed: of --files-dir; or NULL */
    int directory_error;   /* why nothing could be copied there; or 0 */
};

/* What to say of RESULT_FILES that are lost. */
#define RESULT_FILES_LOST                                                                          \
    "The files and figures of this run could not be collected, because this user has too many "    \
    "files open or in transit between processes: run it again, or raise `ulimit -n`."

struct result_files_request {
    const struct run_result *result; /* borrowed, for as long as the files are used */
    struct folder_patches *patches;  /* the same; filled in; or NULL */
    uint64_t call;                   /* its number */
    unsigned owner; /* of what is kept: struct rpc */
    bool shows_images;
    struct kept_files *kept; /* for copies of the files; NULL: keeps none */
    const struct files_dir *directory; /* for other copies, unless its path is NULL */
};

/* Leaves out files for which memory runs out. Release the files before the result. */
void result_files_make(const struct result_files_request *request, struct result_files *ret_files);
void result_files_release(struct result_files *files);

bool result_files_has_images(const struct result_files *files);

/* The URI of a kept file, or null. */
void result_files_write_uri(struct json_writer *writer, const struct result_files *files,
                            const struct result_file *file);

/* The value of the member "files" of the record: null if they are lost; `files` may be NULL. */
void result_files_write(struct json_writer *writer, const struct result_files *files);

#endif
