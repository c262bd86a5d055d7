/*
 * The files and figures of a result: what each of them is, which are shown as images, and where the others
 * can be read.
 *
 * Names and bytes are the snippet's: untrusted. Images are judged by picture_header.h and go on as they
 * are. Side: parent.  Source: MCP 2025-11-25, "Image Content", "Resource Links".
 */
#ifndef MCP_TOOLS_RESULT_FILES_H
#define MCP_TOOLS_RESULT_FILES_H

#include "mcp/base/version.h"
#include "mcp/files/kept_files.h"
#include "mcp/files/picture_header.h"
#include "sandbox/base/json.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What comes of a file as an image. */
enum image_state {
    IMAGE_SHOWN,
    IMAGE_NONE,           /* it is no picture, or not named as one */
    IMAGE_OFF,            /* the operator wants no images */
    IMAGE_TOO_MANY,       /* there are IMAGES_MAX others */
    IMAGE_TOO_LARGE,      /* past IMAGES_BYTES_MAX, alone or with the others */
    IMAGE_TOO_WIDE,       /* past IMAGE_SIDE_MAX */
    IMAGE_WITHOUT_PIXELS,
    IMAGE_INCOMPLETE,
    IMAGE_UNREADABLE,     /* no memory for it */
};

struct result_file {
    const struct run_file *file; /* borrowed from the result */
    char *name;                  /* owned: its path, or "figure-1.png" */
    bool is_figure;
    bool is_picture;  /* by its first bytes */
    const char *type; /* media type; static */
    enum image_state state;
    struct picture_pixels pixels; /* of IMAGE_TOO_WIDE */
    struct buffer base64;         /* of IMAGE_SHOWN */
    bool is_kept;                 /* it can be read by its URI */
};

struct result_files {
    struct result_file
        list[RUN_FIGURES_MAX + RUN_FILES_MAX]; /* the figures first; each part in its order */
    size_t count;
    uint64_t call;
    size_t figures;     /* that the run made, shown or not */
    size_t undrawn;     /* of these: there were enough */
    size_t more;        /* files that are not in the list */
    bool more_at_least; /* and maybe others */
};

struct result_files_request {
    const struct run_result *result; /* borrowed, for as long as the files are used */
    uint64_t call;                   /* its number */
    bool shows_images;
    struct kept_files *kept; /* takes copies of the files; NULL: none are kept */
};

/* A file that there is no memory for is left out. Release the files before the result. */
void result_files_make(const struct result_files_request *request, struct result_files *ret_files);
void result_files_release(struct result_files *files);

bool result_files_has_images(const struct result_files *files);

/* Blocks of content: each image that is shown; links to files that are no images, at most FILE_LINKS_MAX. */
void result_files_write_images(struct json_writer *writer, const struct result_files *files);
void result_files_write_links(struct json_writer *writer, enum version version,
                              const struct result_files *files);

/* Members of the record, "files" and "figures"; `files` may be NULL: there are none. */
void result_files_write_members(struct json_writer *writer, const struct result_files *files);

#endif
