/*
 * Media types of files.
 *
 * Side: parent.  Source: IANA's registry of media types.
 */
#ifndef MCP_FILES_MEDIA_TYPE_H
#define MCP_FILES_MEDIA_TYPE_H

#include <stddef.h>

#define MEDIA_TYPE_UNKNOWN "application/octet-stream"

/*
 * Of a picture by its first bytes, PICTURE_MAGIC_SIZE or all that there are; of other files by the extension;
 * else MEDIA_TYPE_UNKNOWN. Static text.
 */
const char *media_type_of(const char *path, const char *head, size_t head_length);

#endif
