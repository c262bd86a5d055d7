/*
 * What the bytes of a picture say about it: its kind, its size in pixels, and whether its end is there.
 *
 * A picture that a model's API cannot decode makes each further request of the conversation fail. So
 * only the pictures whose structure is sound are shown; the pixels themselves are not decoded. Any
 * bytes may come: the snippet's, untrusted. Pure.
 *
 * Side: parent.  Source: W3C PNG (third edition); ITU T.81, annex B; GIF89a; RFC 9649 (WebP).
 */
#ifndef MCP_FILES_PICTURE_HEADER_H
#define MCP_FILES_PICTURE_HEADER_H

#include <stddef.h>
#include <stdint.h>

/* The media type by the first bytes, of which PICTURE_MAGIC_SIZE are enough; NULL: no picture. Static. */
#define PICTURE_MAGIC_SIZE 12
const char *picture_type(const char *bytes, size_t length);

struct picture_pixels {
    uint32_t width, height; /* at least 1 */
};

enum picture_soundness {
    PICTURE_SOUND,
    PICTURE_NONE, /* no picture, or of no kind known here */
    PICTURE_WITHOUT_PIXELS, /* its size cannot be read, or a side is 0 */
    PICTURE_INCOMPLETE, /* it ends early */
};

/* `bytes` are the whole file. The pixels are filled in for PICTURE_SOUND and PICTURE_INCOMPLETE. */
enum picture_soundness picture_examine(const char *bytes, size_t length,
                                       struct picture_pixels *ret_pixels);

#endif
