#include "interpreter/files/picture_header.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define IHDR(width, height, depth, colour)                                                         \
    "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" width height depth colour "\0\0\0CRC."
#define IDAT "\0\0\0\x01IDATxCRC."
#define IEND "\0\0\0\0IENDCRC."
#define PNG IHDR("\0\0\x06\x40", "\0\0\0\x02", "\x08", "\x06") IDAT IEND

#define SOF(height, width) "\xff\xc0\0\x08\x08" height width "\x01"
#define APP0 "\xff\xe0\0\4ab"
#define SCAN "\xff\xda\0\x02x\xff\0y"
#define JPEG "\xff\xd8" APP0 "\xff\xff\xdb\0\x02" SOF("\0\x03", "\x01\x02") SCAN "\xff\xd9"

/* A screen of 3 x 2, two colours; an extension; a frame of 4 x 1 at 1, 1. */
#define GIF_SCREEN "GIF89a\x03\0\x02\0\x80\0\0RGBRGB"
#define GIF_EXTENSION                                                                              \
    "\x21\xf9\x04"                                                                                 \
    "abcd\0"
#define GIF_FRAME "\x2c\x01\0\x01\0\x04\0\x01\0\0\x02\x02xy\0"
#define GIF GIF_SCREEN GIF_EXTENSION GIF_FRAME "\x3b"

#define VP8 "RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0abc\x9d\x01\x2a\x05\x40\x06\0"
#define VP8L "RIFF\x12\0\0\0WEBPVP8L\x05\0\0\0\x2f\x04\x40\x01\0\0"
#define VP8X "RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0....\x04\0\0\x05\0\x01"

/* Bytes, and their number: they have NULs. */
struct sample {
    const char *name, *bytes;
    size_t length;
    const char *type;
    uint32_t width, height;
};
#define BYTES(name, bytes) #name, bytes, sizeof(bytes) - 1

static const struct sample samples[] = {
    {BYTES(png, PNG), "image/png", 1600, 2}, {BYTES(jpeg, JPEG), "image/jpeg", 258, 3},
    {BYTES(gif, GIF), "image/gif", 5, 2},    {BYTES(vp8, VP8), "image/webp", 5, 6},
    {BYTES(vp8l, VP8L), "image/webp", 5, 6}, {BYTES(vp8x, VP8X), "image/webp", 5, 65542},
};

static enum picture_soundness examine(const char *bytes, size_t length,
                                      struct picture_pixels *pixels)
{
    /* In a block of its own size, so that valgrind and AddressSanitizer see who reads on. */
    OWNED_MEMORY char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    return picture_examine(copy, length, pixels);
}

static void pixels_are_read_of_each_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
        struct picture_pixels pixels = {0};
        assert_string_equal(picture_type(samples[i].bytes, PICTURE_MAGIC_SIZE), samples[i].type);
        assert_int_equal(examine(samples[i].bytes, samples[i].length, &pixels), PICTURE_SOUND);
        assert_int_equal(pixels.width, samples[i].width);
        assert_int_equal(pixels.height, samples[i].height);
    }
}

static void none_is_sound_that_is_cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
        for (size_t length = 0; length < samples[i].length; length++) {
            struct picture_pixels pixels = {0};
            enum picture_soundness soundness = examine(samples[i].bytes, length, &pixels);
            assert_int_not_equal(soundness, PICTURE_SOUND);
            assert_true(pixels.width == 0 || soundness == PICTURE_INCOMPLETE);
        }
    }
}

static void what_follows_the_end_does_no_harm(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
        char bytes[128] = {0};
        struct picture_pixels pixels = {0};
        memcpy(bytes, samples[i].bytes, samples[i].length);
        assert_int_equal(examine(bytes, samples[i].length + 9, &pixels), PICTURE_SOUND);
    }
}

static const struct sample without_pixels[] = {
    {BYTES(width of 0, IHDR("\0\0\0\0", "\0\0\0\x02", "\x08", "\x06") IDAT IEND)},
    {BYTES(height of 0, IHDR("\0\0\0\x02", "\0\0\0\0", "\x08", "\x06") IDAT IEND)},
    {BYTES(more than 31 bits, IHDR("\x80\0\0\0", "\0\0\0\x02", "\x08", "\x06") IDAT IEND)},
    {BYTES(a depth of 3, IHDR("\0\0\0\x02", "\0\0\0\x02", "\x03", "\0") IDAT IEND)},
    {BYTES(a palette of 16 bits, IHDR("\0\0\0\x02", "\0\0\0\x02", "\x10", "\x03") IDAT IEND)},
    {BYTES(colours of 4 bits, IHDR("\0\0\0\x02", "\0\0\0\x02", "\x04", "\x02") IDAT IEND)},
    {BYTES(an unknown colour type, IHDR("\0\0\0\x02", "\0\0\0\x02", "\x08", "\x05") IDAT IEND)},
    {BYTES(another chunk first, "\x89PNG\r\n\x1a\n\0\0\0\x0dIDATxxxxxxxxxxxxxCRC.")},
    {BYTES(a header of 12 bytes,
           "\x89PNG\r\n\x1a\n\0\0\0\x0cIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0CRC.")},
    {BYTES(a scan without frame, "\xff\xd8" APP0 SCAN "\xff\xd9")},
    {BYTES(tables instead of a frame,
           "\xff\xd8\xff\xc4\0\x08\x08\0\x01\0\x01\x01" SCAN "\xff\xd9")},
    {BYTES(no height yet, "\xff\xd8" APP0 SOF("\0\0", "\0\x01") SCAN "\xff\xd9")},
    {BYTES(a segment of 1 byte, "\xff\xd8\xff\xe0\0\x01" SOF("\0\x01", "\0\x01") SCAN "\xff\xd9")},
    {BYTES(no marker, "\xff\xd8\xff\xe0\0\x02zz" SOF("\0\x01", "\0\x01") SCAN "\xff\xd9")},
    {BYTES(an end at once, "\xff\xd8\xff\xd9")},
    {BYTES(a screen without width, "GIF89a\0\0\x02\0\0\0\0" GIF_FRAME "\x3b")},
    {BYTES(no key frame, "RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0abc\x9d\x01\x2b\x05\0\x06\0")},
    {BYTES(no width, "RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0abc\x9d\x01\x2a\0\x40\x06\0")},
    {BYTES(no signature, "RIFF\x12\0\0\0WEBPVP8L\x05\0\0\0\x2e\x04\x40\x01\0\0")},
    {BYTES(another chunk, "RIFF\x16\0\0\0WEBPALPH\x0a\0\0\0abc\x9d\x01\x2a\x05\0\x06\0")},
    {BYTES(a chunk too short, "RIFF\x16\0\0\0WEBPVP8 \x09\0\0\0abc\x9d\x01\x2a\x05\0\x06\0")},
};

static void a_picture_without_readable_pixels_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(without_pixels); i++) {
        const struct sample *sample = &without_pixels[i];
        struct picture_pixels pixels = {0};
        if (examine(sample->bytes, sample->length, &pixels) != PICTURE_WITHOUT_PIXELS)
            fail_msg("%s", sample->name);
        assert_int_equal(pixels.width, 0);
    }
}

static const struct sample incomplete[] = {
    {BYTES(no data, IHDR("\0\0\0\x02", "\0\0\0\x02", "\x08", "\x06") IEND)},
    {BYTES(a chunk of 4 GiB, IHDR("\0\0\0\x02", "\0\0\0\x02", "\x08", "\x06") "\xff\xff\xff\xff"
                                                                              "IDATxCRC." IEND)},
    {BYTES(an end only in a thumbnail,
           "\xff\xd8\xff\xe1\0\x04\xff\xd9" SOF("\0\x01", "\0\x01") SCAN)},
    {BYTES(no frame in a GIF, GIF_SCREEN GIF_EXTENSION "\x3b")},
    {BYTES(an unknown block, GIF_SCREEN "\x22" GIF_FRAME "\x3b")},
};

static void one_that_ends_early_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(incomplete); i++) {
        const struct sample *sample = &incomplete[i];
        struct picture_pixels pixels = {0};
        if (examine(sample->bytes, sample->length, &pixels) != PICTURE_INCOMPLETE)
            fail_msg("%s", sample->name);
        assert_int_not_equal(pixels.width, 0);
    }
}

static void other_bytes_are_no_picture(void **state)
{
    (void)state;
    static const struct sample others[] = {
        {BYTES(nothing, "")},
        {BYTES(text, "print(1)\nprint(2)\n")},
        {BYTES(half of a signature, "\x89PNG\r\n\x1a")},
        {BYTES(sound, "RIFF\x16\0\0\0WAVEfmt ....")},
        {BYTES(GIF of another version, "GIF90a\x03\0\x02\0\0\0\0\x3b")},
        {BYTES(BMP, "BM\x46\0\0\0\0\0\0\0\x36\0\0\0")},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        struct picture_pixels pixels;
        assert_int_equal(examine(others[i].bytes, others[i].length, &pixels), PICTURE_NONE);
        assert_null(picture_type(others[i].bytes, others[i].length));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_read_of_each_kind),
        cmocka_unit_test(none_is_sound_that_is_cut_anywhere),
        cmocka_unit_test(what_follows_the_end_does_no_harm),
        cmocka_unit_test(a_picture_without_readable_pixels_is_told),
        cmocka_unit_test(one_that_ends_early_is_told),
        cmocka_unit_test(other_bytes_are_no_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
