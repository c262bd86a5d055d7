/*
 * The bytes of a tar, compressed or not, unpacked by extract_tar(): the tree is a tree of plain
 * files, and what lies beside it is left alone.
 */
#include "images/unpack/extract.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tar-mend.h"
#include "tests/fuzz/tree-check.h"

#include <locale.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* as the program does */
    OWNED_MEMORY uint8_t *mended = tar_mend(data, size);
    struct tree_usage usage = {0};
    struct fault fault = {0};
    tree_check_begin();
    int r = extract_tar(fuzz_file(mended, size), &usage, &fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r < 0 || usage.members > 0);
    tree_check_end();
    return 0;
}
