#include "tests/bench/bench-rootfs.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

/* What the jail mounts over, each after the one that it is in. */
static const char *const directories[] = {"proc", "dev", "tmp", "work", "home", "home/sandbox"};

const char *const bench_layers[BENCH_LAYERS + 2] = {
    "0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10",
    "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", NULL,
};

static int copy_program(const char *program, int root_fd)
{
    OWNED_FD int source = open(program, O_RDONLY | O_CLOEXEC);
    OWNED_FD int target = openat(root_fd, &BENCH_PROGRAM[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    struct stat status;
    if (source < 0 || target < 0 || fstat(source, &status) < 0)
        return -errno;
    while (status.st_size > 0) {
        ssize_t count = sendfile(target, source, NULL, (size_t)status.st_size);
        if (count <= 0)
            return count < 0 ? -errno : -EIO;
        status.st_size -= count;
    }
    return 0;
}

static int make_layers(const char *top, struct fault *fault)
{
    OWNED_FD int top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* mkdtemp(3) keeps everybody else out, and the user inside the jail may be another. */
    if (top_fd < 0 || fchmod(top_fd, 0755) < 0)
        return fault_set(fault, errno, "opening %s: %m", top);
    for (size_t i = 0; bench_layers[i] != NULL; i++)
        if (mkdirat(top_fd, bench_layers[i], 0755) < 0)
            return fault_set(fault, errno, "making %s/%s: %m", top, bench_layers[i]);
    return 0;
}

static int fill(const char *path, const char *program, struct fault *fault)
{
    OWNED_FD int root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        return fault_set(fault, errno, "opening %s: %m", path);
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
        if (mkdirat(root_fd, directories[i], 0755) < 0)
            return fault_set(fault, errno, "making %s/%s: %m", path, directories[i]);
    }
    int r = copy_program(program, root_fd);
    return r < 0 ? fault_set(fault, -r, "copying %s to %s: %m", program, path) : 0;
}

int bench_rootfs_make(const char *program, char **ret_path, struct fault *fault)
{
    OWNED(bench_rootfs_remove) char *path = NULL;
    OWNED_MEMORY char *template = NULL;
    const char *base = getenv("TMPDIR");
    if (asprintf(&template, "%s/code-sandbox-bench-XXXXXX", base != NULL ? base : "/tmp") < 0) {
        template = NULL;
        return fault_set(fault, ENOMEM, "out of memory for a path");
    }
    if (mkdtemp(template) == NULL)
        return fault_set(fault, errno, "making the directory %s: %m", template);
    int r = asprintf(&path, "%s/%s", template, bench_layers[0]);
    if (r < 0) {
        path = NULL;
        rmdir(template);
        return fault_set(fault, ENOMEM, "out of memory for a path");
    }
    r = make_layers(template, fault);
    if (r == 0)
        r = fill(path, program, fault);
    if (r < 0)
        return r;
    *ret_path = pointer_take(&path);
    return 0;
}

void bench_rootfs_remove(char **path)
{
    if (*path == NULL)
        return;
    OWNED_FD int root_fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unlinkat(root_fd, &BENCH_PROGRAM[1], 0);
    for (size_t i = ARRAY_LENGTH(directories); i > 0; i--)
        unlinkat(root_fd, directories[i - 1], AT_REMOVEDIR);
    *strrchr(*path, '/') = '\0';
    OWNED_FD int top_fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; bench_layers[i] != NULL; i++)
        unlinkat(top_fd, bench_layers[i], AT_REMOVEDIR);
    rmdir(*path);
    memory_release(path);
}

int bench_find_beside(const char *name, char path[PATH_MAX], struct fault *fault)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return fault_set(fault, errno, "reading /proc/self/exe: %m");
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    if (snprintf(path, PATH_MAX, "%s/%s", self, name) >= PATH_MAX)
        return fault_set(fault, ENAMETOOLONG, "%s: %m", name);
    return 0;
}
