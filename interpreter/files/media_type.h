/*
 * Media types of files.
 *
 * Side: parent.  Source: IANA's registry of media types.
 */
#ifndef INTERPRETER_FILES_MEDIA_TYPE_H
#define INTERPRETER_FILES_MEDIA_TYPE_H

#include <stddef.h>

#define MEDIA_TYPE_UNKNOWN "application/octet-stream"

/*
 * A picture is recognized by its first PICTURE_MAGIC_SIZE bytes, any other file by its extension.
 * Static text; MEDIA_TYPE_UNKNOWN if neither is known.
 */
const char *media_type_of(const char *path, const char *head, size_t head_length);

#endif
