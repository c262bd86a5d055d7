/*
 * The kind of a picture, its size in pixels, and whether the file is complete.
 *
 * If a model's API cannot decode a picture, it refuses each further request of the conversation. So
 * the server shows only pictures with a sound structure; it does not decode pixels. The bytes come
 * from the snippet and are not trusted. Pure.
 *
 * Side: parent.  Source: W3C PNG (third edition); ITU T.81, annex B; GIF89a; RFC 9649 (WebP).
 */
#ifndef INTERPRETER_FILES_PICTURE_HEADER_H
#define INTERPRETER_FILES_PICTURE_HEADER_H

#include <stddef.h>
#include <stdint.h>

/* The media type, from the first PICTURE_MAGIC_SIZE bytes; NULL: no picture. Static text. */
#define PICTURE_MAGIC_SIZE 12
const char *picture_type(const char *bytes, size_t length);

struct picture_pixels {
    uint32_t width, height; /* at least 1 */
};

enum picture_soundness {
    PICTURE_SOUND,
    PICTURE_NONE, /* no picture, or of an unknown kind */
    PICTURE_WITHOUT_PIXELS, /* its size is unreadable, or a side is 0 */
    PICTURE_INCOMPLETE, /* it ends early */
};

/* `bytes` is the whole file. Fills in the pixels of PICTURE_SOUND and PICTURE_INCOMPLETE. */
enum picture_soundness picture_examine(const char *bytes, size_t length,
                                       struct picture_pixels *ret_pixels);

#endif
