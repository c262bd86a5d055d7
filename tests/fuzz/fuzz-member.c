/*
 * Members of an archive, one a line, without the archive: a letter for the type, permissions in
 * octal digits, the size of a file in bytes, a blank, the name, and for a link a tab and what it
 * names. Whatever they say, the tree stays a tree of plain files, and what lies beside it is left
 * alone. A first line "merge" makes it a tree of packages, "layer" one of layers, in which a line "next"
 * begins another one.
 */
#include "images/unpack/member.h"
#include "images/unpack/package.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree-check.h"

#include <string.h>
#include <sys/stat.h>

static mode_t type_of(char letter)
{
    switch (letter) {
    case 'd':
        return S_IFDIR;
    case 's':
        return S_IFLNK;
    case 'c':
        return S_IFCHR;
    case 'p':
        return S_IFIFO;
    default:
        return S_IFREG;
    }
}

/* What member_name_normalize() promises: no "", "." or ".." among the parts, and no more to do. */
static void check_plain_name(const char *plain)
{
    char again[PATH_MAX] = "";
    FUZZ_CHECK(member_name_normalize(plain, again, NULL) == 0 && strcmp(plain, again) == 0);
    for (const char *part = plain; *part != '\0'; part++) {
        size_t length = strcspn(part, "/");
        FUZZ_CHECK(length > 0 && (length > 2 || strncmp(part, "..", length) != 0));
        part += length;
        if (*part == '\0')
            break;
        FUZZ_CHECK(part[1] != '\0');
    }
}

static void check_name(const char *name)
{
    char plain[PATH_MAX] = "", place[PATH_MAX] = "", again[PATH_MAX] = "", shown[256];
    struct fault fault = {0};
    int r = member_name_normalize(name, plain, &fault);
    fuzz_check_fault(r, &fault);
    fuzz_check_plain(member_name_for_people(name, shown), false);
    if (r < 0)
        return;
    check_plain_name(plain);
    if (!package_member_place(plain, true, place))
        return;
    FUZZ_CHECK(package_member_place(place, true, again) && strcmp(place, again) == 0);
    package_member_wanted(place, S_IFREG);
    package_member_wanted(place, S_IFLNK);
}

static struct member parse_member(char *line)
{
    struct member member = {.name = "", .type = type_of(line[0]), .hard_link = line[0] == 'h'};
    char *rest = line + (line[0] != '\0' ? 1 : 0);
    member.permissions = (mode_t)strtoul(rest, &rest, 8) & 07777;
    member.size = strtoull(rest, &rest, 10);
    if (*rest == ' ')
        rest++;
    char *tab = strchr(rest, '\t');
    if (tab != NULL)
        *tab++ = '\0';
    member.name = rest;
    member.link = tab;
    return member;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    enum tree_kind kind = TREE_WHOLE;
    if (size >= 5 && memcmp(data, "merge", 5) == 0)
        kind = TREE_PACKAGES;
    if (size >= 5 && memcmp(data, "layer", 5) == 0)
        kind = TREE_LAYERS;
    struct tree_usage usage = {0};
    OWNED(member_writer_close) struct member_writer writer;
    tree_check_begin();
    member_writer_open(&writer, &usage, kind);
    for (char *line; (line = fuzz_line(&input)) != NULL;) {
        OWNED_MEMORY char *owned = line;
        if (kind == TREE_LAYERS && strcmp(line, "next") == 0) {
            member_writer_close(&writer);
            member_writer_open(&writer, &usage, kind);
            continue;
        }
        const struct member member = parse_member(line);
        check_name(member.name);
        OWNED_FD int fd = -1;
        struct fault fault = {0};
        int r = member_writer_add(&writer, &member, &fd, &fault);
        fuzz_check_fault(r, &fault);
        if (r == -EFBIG) /* that is the end, as others are */
            break;
        FUZZ_CHECK(fd < 0 || (r == 0 && member.type == S_IFREG && !member.hard_link));
    }
    FUZZ_CHECK(usage.members <= size && usage.bytes <= 2 * TREE_BYTES_MAX);
    tree_check_end();
    return 0;
}
