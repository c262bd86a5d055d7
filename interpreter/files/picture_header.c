#include "interpreter/files/picture_header.h"

#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <string.h>

/* Bytes yet to be read. Reading past the end gives 0 and is remembered. */
struct picture_reader {
    const unsigned char *data;
    size_t length;
    bool is_short;
};

static const unsigned char *take(struct picture_reader *reader, size_t count)
{
    if (count > reader->length) {
        reader->length = 0;
        reader->is_short = true;
        return NULL;
    }
    const unsigned char *taken = reader->data;
    reader->data += count;
    reader->length -= count;
    return taken;
}

static void skip(struct picture_reader *reader, size_t count)
{
    (void)take(reader, count);
}

static uint32_t take_byte(struct picture_reader *reader)
{
    const unsigned char *byte = take(reader, 1);
    return byte != NULL ? byte[0] : 0;
}

static uint32_t take_big(struct picture_reader *reader, size_t count)
{
    uint32_t number = 0;
    for (size_t i = 0; i < count; i++)
        number = number << 8 | take_byte(reader);
    return number;
}

static uint32_t take_little(struct picture_reader *reader, size_t count)
{
    uint32_t number = 0;
    for (size_t i = 0; i < count; i++)
        number |= take_byte(reader) << (8 * i);
    return number;
}

static bool take_text(struct picture_reader *reader, const char *text)
{
    size_t length = strlen(text);
    const unsigned char *taken = take(reader, length);
    return taken != NULL && memcmp(taken, text, length) == 0;
}

/* The combinations that table 11.1 of the specification allows. */
static bool is_png_depth(uint32_t depth, uint32_t colour)
{
    bool is_power = depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    switch (colour) {
    case 0:
        return is_power;
    case 3:
        return is_power && depth <= 8;
    case 2:
    case 4:
    case 6:
        return depth == 8 || depth == 16;
    default:
        return false;
    }
}

static enum picture_soundness examine_png(struct picture_reader *reader,
                                          struct picture_pixels *pixels)
{
    skip(reader, 8);
    bool is_header = take_big(reader, 4) == 13 && take_text(reader, "IHDR");
    pixels->width = take_big(reader, 4);
    pixels->height = take_big(reader, 4);
    uint32_t depth = take_byte(reader);
    uint32_t colour = take_byte(reader);
    if (reader->is_short || !is_header || !is_png_depth(depth, colour) ||
        pixels->width > INT32_MAX || pixels->height > INT32_MAX)
        return PICTURE_WITHOUT_PIXELS;
    skip(reader, 3 + 4); /* compression, filter, interlace; the checksum */
    bool has_data = false;
    while (!reader->is_short) {
        uint32_t length = take_big(reader, 4);
        const unsigned char *type = take(reader, 4);
        skip(reader, length);
        skip(reader, 4);
        if (reader->is_short)
            break;
        has_data = has_data || memcmp(type, "IDAT", 4) == 0;
        if (memcmp(type, "IEND", 4) == 0)
            return has_data ? PICTURE_SOUND : PICTURE_INCOMPLETE;
    }
    return PICTURE_INCOMPLETE;
}

/* Markers that stand alone, without a segment: TEM, RST0 to RST7. */
static bool is_lone_marker(uint32_t marker)
{
    return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/* SOF0 to SOF15, among which DHT, JPG and DAC have numbers. */
static bool is_frame_marker(uint32_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static enum picture_soundness examine_jpeg(struct picture_reader *reader,
                                           struct picture_pixels *pixels)
{
    skip(reader, 2);
    bool has_frame = false;
    while (!reader->is_short) {
        if (take_byte(reader) != 0xff)
            break;
        uint32_t marker = take_byte(reader);
        while (marker == 0xff) /* fill bytes */
            marker = take_byte(reader);
        if (is_lone_marker(marker))
            continue;
        uint32_t length = take_big(reader, 2);
        if (length < 2)
            break;
        struct picture_reader segment = {take(reader, length - 2), length - 2, false};
        if (reader->is_short)
            break;
        if (is_frame_marker(marker) && !has_frame) {
            has_frame = true;
            skip(&segment, 1); /* precision */
            pixels->height = take_big(&segment, 2);
            pixels->width = take_big(&segment, 2);
        }
        if (marker == 0xda) /* the scan begins: coded data has no marker but RSTn until EOI */
            break;
    }
    if (!has_frame)
        return PICTURE_WITHOUT_PIXELS;
    bool has_end = !reader->is_short && memmem(reader->data, reader->length, "\xff\xd9", 2) != NULL;
    return has_end ? PICTURE_SOUND : PICTURE_INCOMPLETE;
}

static void skip_colours(struct picture_reader *reader, uint32_t flags)
{
    if ((flags & 0x80) != 0)
        skip(reader, (size_t)3 << ((flags & 7) + 1));
}

static void skip_sub_blocks(struct picture_reader *reader)
{
    for (uint32_t length; (length = take_byte(reader)) != 0;)
        skip(reader, length);
}

/* A frame may reach over the logical screen: some decoders then make this larger. */
static void take_gif_frame(struct picture_reader *reader, struct picture_pixels *pixels)
{
    uint32_t left = take_little(reader, 2);
    uint32_t top = take_little(reader, 2);
    uint32_t right = left + take_little(reader, 2);
    uint32_t bottom = top + take_little(reader, 2);
    pixels->width = right > pixels->width ? right : pixels->width;
    pixels->height = bottom > pixels->height ? bottom : pixels->height;
    skip_colours(reader, take_byte(reader));
    skip(reader, 1); /* the code size */
    skip_sub_blocks(reader);
}

static enum picture_soundness examine_gif(struct picture_reader *reader,
                                          struct picture_pixels *pixels)
{
    skip(reader, 6);
    pixels->width = take_little(reader, 2);
    pixels->height = take_little(reader, 2);
    uint32_t flags = take_byte(reader);
    skip(reader, 2);
    if (reader->is_short || pixels->width == 0 || pixels->height == 0)
        return PICTURE_WITHOUT_PIXELS;
    skip_colours(reader, flags);
    bool has_frame = false;
    while (!reader->is_short) {
        switch (take_byte(reader)) {
        case 0x2c:
            take_gif_frame(reader, pixels);
            has_frame = !reader->is_short;
            break;
        case 0x21:
            skip(reader, 1); /* which extension */
            skip_sub_blocks(reader);
            break;
        case 0x3b:
            return has_frame ? PICTURE_SOUND : PICTURE_INCOMPLETE;
        default:
            return PICTURE_INCOMPLETE;
        }
    }
    return PICTURE_INCOMPLETE;
}

static bool take_webp_pixels(struct picture_reader *chunk, const unsigned char *type,
                             struct picture_pixels *pixels)
{
    if (memcmp(type, "VP8X", 4) == 0) {
        skip(chunk, 4);
        pixels->width = take_little(chunk, 3) + 1;
        pixels->height = take_little(chunk, 3) + 1;
    } else if (memcmp(type, "VP8L", 4) == 0 && take_byte(chunk) == 0x2f) {
        uint32_t bits = take_little(chunk, 4);
        pixels->width = (bits & 0x3fff) + 1;
        pixels->height = (bits >> 14 & 0x3fff) + 1;
    } else if (memcmp(type, "VP8 ", 4) == 0) {
        skip(chunk, 3);
        bool is_key_frame = take_text(chunk, "\x9d\x01\x2a");
        pixels->width = take_little(chunk, 2) & 0x3fff;
        pixels->height = take_little(chunk, 2) & 0x3fff;
        return is_key_frame && !chunk->is_short;
    } else {
        return false;
    }
    return !chunk->is_short;
}

static enum picture_soundness examine_webp(struct picture_reader *reader,
                                           struct picture_pixels *pixels)
{
    skip(reader, 4);
    uint32_t size = take_little(reader, 4);
    bool is_whole = !reader->is_short && size <= reader->length;
    skip(reader, 4);
    const unsigned char *type = take(reader, 4);
    uint32_t length = take_little(reader, 4);
    if (type == NULL || reader->is_short)
        return PICTURE_WITHOUT_PIXELS;
    struct picture_reader chunk = {reader->data, length < reader->length ? length : reader->length,
                                   false};
    if (!take_webp_pixels(&chunk, type, pixels))
        return PICTURE_WITHOUT_PIXELS;
    return is_whole && length <= reader->length ? PICTURE_SOUND : PICTURE_INCOMPLETE;
}

static const struct kind {
    const char *type, *begin;
    size_t length;
    enum picture_soundness (*examine)(struct picture_reader *reader, struct picture_pixels *pixels);
} kinds[] = {
    {"image/png", "\x89PNG\r\n\x1a\n", 8, examine_png},
    {"image/jpeg", "\xff\xd8\xff", 3, examine_jpeg},
    {"image/gif", "GIF87a", 6, examine_gif},
    {"image/gif", "GIF89a", 6, examine_gif},
    {"image/webp", "RIFF", 4, examine_webp},
};

static const struct kind *find_kind(const char *bytes, size_t length)
{
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (length < kinds[i].length || memcmp(bytes, kinds[i].begin, kinds[i].length) != 0)
            continue;
        /* RIFF has other kinds too. */
        if (kinds[i].examine != examine_webp ||
            (length >= PICTURE_MAGIC_SIZE && memcmp(bytes + 8, "WEBP", 4) == 0))
            return &kinds[i];
    }
    return NULL;
}

const char *picture_type(const char *bytes, size_t length)
{
    const struct kind *kind = find_kind(bytes, length);
    return kind != NULL ? kind->type : NULL;
}

enum picture_soundness picture_examine(const char *bytes, size_t length,
                                       struct picture_pixels *ret_pixels)
{
    const struct kind *kind = find_kind(bytes, length);
    if (kind == NULL)
        return PICTURE_NONE;
    struct picture_reader reader = {(const unsigned char *)bytes, length, false};
    struct picture_pixels pixels = {0};
    enum picture_soundness soundness = kind->examine(&reader, &pixels);
    if (soundness == PICTURE_WITHOUT_PIXELS || pixels.width == 0 || pixels.height == 0)
        return PICTURE_WITHOUT_PIXELS;
    *ret_pixels = pixels;
    return soundness;
}
