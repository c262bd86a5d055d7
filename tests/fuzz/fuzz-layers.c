/*
 * Two layers of an image, one upon the other: the first two bytes are the length of the lower one.
 * The tree is a tree of plain files, and what lies beside it is left alone.
 */
#include "images/unpack/extract.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tar-mend.h"
#include "tests/fuzz/tree-check.h"

#include <locale.h>

static int apply(const uint8_t *data, size_t size, struct tree_usage *usage)
{
    OWNED_MEMORY uint8_t *mended = tar_mend(data, size);
    const atomic_bool whole = true;
    const struct layer_source layer = {.fd = fuzz_file(mended, size), .whole = &whole};
    struct fault fault = {0};
    int r = extract_layer(&layer, usage, &fault);
    fuzz_check_fault(r, &fault);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* as the program does */
    struct fuzz_input input = {data, size};
    size_t lower = fuzz_byte(&input);
    lower |= (size_t)fuzz_byte(&input) << 8;
    lower = lower < input.size ? lower : input.size;
    struct tree_usage usage = {0};
    tree_check_begin();
    if (apply(input.data, lower, &usage) == 0)
        (void)apply(input.data + lower, input.size - lower, &usage);
    tree_check_end();
    return 0;
}
