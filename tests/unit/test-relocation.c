#include "sandbox/roots/relocation.h"

#include "sandbox/base/owned.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static char loader[PATH_MAX];

static int read_bytes(const void *bytes, size_t length)
{
    OWNED_FD int fd = memfd_create("program", MFD_CLOEXEC);
    assert_int_equal(write(fd, bytes, length), length);
    return relocation_read_loader(fd, loader, sizeof(loader));
}

static void this_program_names_its_loader(void **state)
{
    (void)state;
    OWNED_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(relocation_read_loader(fd, loader, sizeof(loader)), 0);
    assert_true(loader[0] == '/' && strstr(loader, "ld-") != NULL);
    assert_int_equal(access(loader, X_OK), 0);
}

static void others_than_programs_are_refused(void **state)
{
    (void)state;
    static const char script[] =
        "#!/bin/sh\necho far more than a header of any program has in it, so to speak\n";
    assert_int_equal(read_bytes(script, sizeof(script)), -ENOEXEC);
    assert_int_equal(read_bytes("", 0), -ENOEXEC);
    assert_int_equal(read_bytes(ELFMAG, SELFMAG), -ENOEXEC);
}

/* This program with another first header of its segments. */
static int read_altered(uint32_t type, uint64_t offset, uint64_t size)
{
    char bytes[8192] = {0};
    OWNED_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, 4096), 4096);
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)bytes;
    header->e_phnum = 1;
    Elf64_Phdr *segment = (Elf64_Phdr *)(void *)(bytes + header->e_phoff);
    *segment = (Elf64_Phdr){.p_type = type, .p_offset = offset, .p_filesz = size};
    memcpy(bytes + 5000, "/loader", 8);
    memset(bytes + 6000, '/', 2000);
    return read_bytes(bytes, sizeof(bytes));
}

static void loader_is_a_whole_absolute_path(void **state)
{
    (void)state;
    assert_int_equal(read_altered(PT_INTERP, 5000, 8), 0);
    assert_string_equal(loader, "/loader");
    assert_int_equal(read_altered(PT_INTERP, 5000, 7), -ENOEXEC); /* not terminated */
    assert_int_equal(read_altered(PT_INTERP, 5001, 7), -ENOEXEC); /* "loader" */
    assert_int_equal(read_altered(PT_INTERP, 5000, 0), -ENOEXEC);
    assert_int_equal(read_altered(PT_INTERP, 6000, PATH_MAX + 1), -ENOEXEC);
    assert_int_equal(read_altered(PT_INTERP, 8190, 8), -ENOEXEC);
    assert_int_equal(read_altered(PT_INTERP, UINT64_MAX, 8), -ENOEXEC);
}

static void program_without_a_loader_is_static(void **state)
{
    (void)state;
    assert_int_equal(read_altered(PT_LOAD, 0, 0), 0);
    assert_string_equal(loader, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_program_names_its_loader),
        cmocka_unit_test(others_than_programs_are_refused),
        cmocka_unit_test(loader_is_a_whole_absolute_path),
        cmocka_unit_test(program_without_a_loader_is_static),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
