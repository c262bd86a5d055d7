/*
 * Calls a harness with the bytes of files: replay-NAME FILE-OR-DIRECTORY... The name of each file
 * is printed before it is tried, so that the last one is the culprit.
 */
#include "tests/fuzz/fuzz.h"

#include "sandbox/base/owned.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many files were tried; none, or one that cannot be read, ends the program. */
static size_t replay_file(const char *path)
{
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        perror(path);
        exit(1);
    }
    /* In a block of its own size, so that AddressSanitizer and valgrind see who reads on. */
    OWNED_MEMORY uint8_t *data = malloc((size_t)status.st_size);
    if ((data == NULL && status.st_size > 0) ||
        read(fd, data, (size_t)status.st_size) != status.st_size) {
        perror(path);
        exit(1);
    }
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, (size_t)status.st_size);
    return 1;
}

static size_t replay(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        return replay_file(path);
    size_t tried = 0;
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            tried += replay_file(file);
        free(entries[i]);
    }
    free(entries);
    return tried;
}

int main(int argc, char **argv)
{
    size_t tried = 0;
    for (int i = 1; i < argc; i++)
        tried += replay(argv[i]);
    fprintf(stderr, "%zu files\n", tried);
    return tried > 0 ? 0 : 1;
}
