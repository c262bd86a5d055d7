#include "tests/fuzz/tree-check.h"

#include "images/unpack/member.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void directory_release(DIR **directory)
{
    if (*directory != NULL)
        closedir(*directory);
}

/* What must stay as it is: an empty directory, and an empty file with one name. */
static void make_outside(int fd)
{
    if (geteuid() == 0) {
        fprintf(stderr, "not as root: a name that leads out would be followed\n");
        exit(77); /* a skip, for meson */
    }
    umask(022);
    FUZZ_CHECK(mkdirat(fd, "outside", 0755) == 0);
    FUZZ_CHECK(mkdirat(fd, "outside/directory", 0755) == 0);
    OWNED_FD int file_fd =
        openat(fd, "outside/file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FUZZ_CHECK(file_fd >= 0);
}

void tree_check_begin(void)
{
    static bool is_made = false;
    int fd = fuzz_directory();
    if (!is_made)
        make_outside(fd);
    is_made = true;
    FUZZ_CHECK(mkdirat(fd, "tree", 0755) == 0);
    FUZZ_CHECK(fchdir(fd) == 0 && chdir("tree") == 0);
}

/* How many entries are below. */
static size_t check_directory(int parent_fd, const char *name, size_t depth);

static size_t check_entry(int directory_fd, const char *name, size_t depth)
{
    struct stat status;
    FUZZ_CHECK(fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0);
    mode_t mode = status.st_mode & 07777;
    FUZZ_CHECK(S_ISDIR(status.st_mode) || S_ISREG(status.st_mode) || S_ISLNK(status.st_mode));
    FUZZ_CHECK(!S_ISDIR(status.st_mode) || mode == 0755);
    /* All may read, and run what somebody may run; nobody but the owner may write. */
    FUZZ_CHECK(!S_ISREG(status.st_mode) || ((mode & 0444) == 0444 && (mode & 07022) == 0 &&
                                            ((mode & 0111) == 0 || (mode & 0111) == 0111)));
    return S_ISDIR(status.st_mode) ? check_directory(directory_fd, name, depth + 1) : 0;
}

static size_t check_directory(int parent_fd, const char *name, size_t depth)
{
    size_t count = 0;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && depth <= TREE_DEPTH_MAX + 2);
    OWNED(directory_release) DIR *directory = fdopendir(fd);
    FUZZ_CHECK(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count += 1 + check_entry(dirfd(directory), entry->d_name, depth);
    }
    return count;
}

static void check_outside(void)
{
    struct stat status;
    int fd = fuzz_directory();
    FUZZ_CHECK(fstatat(fd, "outside/file", &status, AT_SYMLINK_NOFOLLOW) == 0);
    FUZZ_CHECK(S_ISREG(status.st_mode) && status.st_size == 0 && status.st_nlink == 1);
    FUZZ_CHECK((status.st_mode & 07777) == 0600);
    FUZZ_CHECK(check_directory(fd, "outside/directory", 0) == 0);
    FUZZ_CHECK(fstatat(fd, "outside", &status, 0) == 0 && status.st_nlink == 3);
}

void tree_check_end(void)
{
    struct tree_size size = {0};
    int fd = fuzz_directory();
    size_t count = check_directory(fd, "tree", 0);
    FUZZ_CHECK(tree_measure(fd, "tree", &size) == 0 && size.files == count);
    FUZZ_CHECK(fchdir(fd) == 0);
    FUZZ_CHECK(tree_remove(fd, "tree") == 0);
    FUZZ_CHECK(faccessat(fd, "tree", F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
    check_outside();
}
