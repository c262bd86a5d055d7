/*
 * Any bytes as a picture: what is called sound has two sides, which stand where the specification has
 * them, and stays as it is whatever comes behind it; and there is a type if and only if there is a picture.
 *
 * The first byte chooses where a picture that is cut ends.
 */
#include "interpreter/files/picture_header.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static uint32_t big(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t little(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

/* Where the place of the sides is fixed. */
static void check_sides(const char *type, const struct fuzz_input *input,
                        const struct picture_pixels *pixels)
{
    const uint8_t *data = input->data;
    if (strcmp(type, "image/png") == 0)
        FUZZ_CHECK(pixels->width == big(data + 16) && pixels->height == big(data + 20));
    if (strcmp(type, "image/gif") == 0)
        FUZZ_CHECK(pixels->width >= little(data + 6) && pixels->height >= little(data + 8));
    if (strcmp(type, "image/jpeg") == 0)
        FUZZ_CHECK(pixels->width <= 65535 && pixels->height <= 65535);
}

/* In a block of its own size, so that AddressSanitizer sees who reads on. */
static enum picture_soundness examine(const uint8_t *data, size_t size,
                                      struct picture_pixels *pixels)
{
    OWNED_MEMORY char *copy = malloc(size > 0 ? size : 1);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, data, size);
    return picture_examine(copy, size, pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    size_t cut = input.size * fuzz_byte(&input) / 255;
    cut = cut < input.size ? cut : input.size;
    if (input.size == 0)
        return 0;
    struct picture_pixels pixels = {0};
    enum picture_soundness soundness = examine(input.data, input.size, &pixels);
    const char *type = picture_type((const char *)input.data, input.size);
    FUZZ_CHECK((type == NULL) == (soundness == PICTURE_NONE));
    bool has_pixels = soundness == PICTURE_SOUND || soundness == PICTURE_INCOMPLETE;
    FUZZ_CHECK(has_pixels == (pixels.width > 0) && has_pixels == (pixels.height > 0));
    if (has_pixels)
        check_sides(type, &input, &pixels);
    struct picture_pixels first = {0};
    if (examine(input.data, cut, &first) == PICTURE_SOUND) {
        FUZZ_CHECK(soundness == PICTURE_SOUND);
        FUZZ_CHECK(first.width == pixels.width && first.height == pixels.height);
    }
    return 0;
}
