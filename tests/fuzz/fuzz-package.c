/*
 * A Debian package, made of two tars: the first two bytes are the length of the one with control
 * files, what is left are the files. Unpacked by extract_package() the tree is one of plain files,
 * and of the control tar nothing but two files is kept.
 */
#include "images/unpack/extract.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tar-mend.h"
#include "tests/fuzz/tree-check.h"

#include <locale.h>
#include <string.h>
#include <sys/stat.h>

#define PACKAGE_MAX (64 << 20)

/* One member of an ar archive, as deb(5) has it. */
static void append_member(struct buffer *package, const char *name, const void *data, size_t size)
{
    FUZZ_CHECK(buffer_format(package, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0100644,
                             size) == 0);
    FUZZ_CHECK(buffer_append(package, data, size) == 0);
    if (size % 2 != 0)
        FUZZ_CHECK(buffer_append(package, "\n", 1) == 0);
}

static void append_tar(struct buffer *package, const char *name, struct fuzz_input *input,
                       size_t size)
{
    size = size < input->size ? size : input->size;
    OWNED_MEMORY uint8_t *mended = tar_mend(input->data, size);
    append_member(package, name, mended, size);
    input->data += size;
    input->size -= size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* as the program does */
    struct fuzz_input input = {data, size};
    size_t control = fuzz_byte(&input);
    control |= (size_t)fuzz_byte(&input) << 8;
    OWNED(buffer_release) struct buffer package = BUFFER(PACKAGE_MAX);
    FUZZ_CHECK(buffer_append_text(&package, "!<arch>\n") == 0);
    append_member(&package, "debian-binary", "2.0\n", 4);
    append_tar(&package, "control.tar", &input, control);
    append_tar(&package, "data.tar", &input, input.size);

    struct tree_usage usage = {0};
    struct fault fault = {0};
    tree_check_begin();
    FUZZ_CHECK(mkdir(SETUP_DIRECTORY, 0755) == 0);
    OWNED(member_writer_close) struct member_writer writer;
    member_writer_open(&writer, &usage, TREE_PACKAGES);
    int r = extract_package(fuzz_file(package.data, package.length), 7, &writer, &fault);
    fuzz_check_fault(r, &fault);
    tree_check_end();
    return 0;
}
