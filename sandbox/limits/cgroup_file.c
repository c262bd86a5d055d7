#include "sandbox/limits/cgroup_file.h"

#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEYED_FILE_MAX 4096

static const struct {
    enum cgroup_controller controller;
    const char *name;
} controllers[] = {
    {CONTROLLER_MEMORY, "memory"}, {CONTROLLER_PIDS, "pids"}, {CONTROLLER_CPU, "cpu"}};

int cgroup_write(int directory_fd, const char *file, const char *text)
{
    OWNED_FD int fd = openat(directory_fd, file, O_WRONLY | O_CLOEXEC);
    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int cgroup_parse_number(const char *text, uint64_t *ret_number)
{
    if (strncmp(text, "max", 3) == 0) {
        *ret_number = UINT64_MAX;
        return 0;
    }
    return sscanf(text, "%" SCNu64, ret_number) == 1 ? 0 : -EPROTO;
}

int cgroup_read_number(int directory_fd, const char *file, uint64_t *ret_number)
{
    char text[64];
    int r = text_file_read(directory_fd, file, text, sizeof(text));
    return r < 0 ? r : cgroup_parse_number(text, ret_number);
}

int cgroup_find_key(const char *text, const char *key, uint64_t *ret_number)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return cgroup_parse_number(line + length + 1, ret_number);
    }
    return -ENOENT;
}

int cgroup_read_key(int directory_fd, const char *file, const char *key, uint64_t *ret_number)
{
    char text[KEYED_FILE_MAX];
    int r = text_file_read(directory_fd, file, text, sizeof(text));
    return r < 0 ? r : cgroup_find_key(text, key, ret_number);
}

unsigned cgroup_read_controllers(int directory_fd, const char *file)
{
    char text[KEYED_FILE_MAX];
    if (text_file_read(directory_fd, file, text, sizeof(text)) < 0)
        return 0;
    unsigned found = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \n", &rest); word != NULL;
         word = strtok_r(NULL, " \n", &rest)) {
        for (size_t i = 0; i < ARRAY_LENGTH(controllers); i++)
            found |= strcmp(word, controllers[i].name) == 0 ? controllers[i].controller : 0;
    }
    return found;
}

const char *cgroup_controller_name(enum cgroup_controller controller)
{
    size_t i = 0;
    while (controllers[i].controller != controller)
        i++;
    return controllers[i].name;
}

char *cgroup_own_path(const char *cgroup_text)
{
    const char *line = cgroup_text;
    while (line != NULL && strncmp(line, "0::/", 4) != 0) {
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return line == NULL ? NULL : strndup(line + 3, strcspn(line + 3, "\n"));
}

/* mountinfo(5) writes spaces and the like as three octal digits: \040. In place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        bool is_escape = from[0] == '\\' && strspn(from + 1, "01234567") >= 3;
        if (is_escape) {
            int byte = (from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0');
            *to = (char)(unsigned char)byte;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Field `number` of a line, from 0, unescaped and owned; NULL: none, or out of memory. */
static char *read_field(const char *line, size_t length, int number)
{
    const char *end = line + length;
    for (; number > 0 && line != NULL; number--) {
        line = memchr(line, ' ', (size_t)(end - line));
        line = line == NULL ? NULL : line + 1;
    }
    char *field = line == NULL ? NULL : strndup(line, strcspn(line, " \n"));
    if (field != NULL)
        unescape(field);
    return field;
}

/* Root and mount point of a mountinfo line that is a cgroup2 mount; both owned. */
static bool read_mount(const char *line, char **ret_root, char **ret_point)
{
    size_t length = strcspn(line, "\n");
    const char *separator = strstr(line, " - cgroup2 ");
    if (separator == NULL || separator > line + length)
        return false;
    *ret_root = read_field(line, length, 3);
    *ret_point = read_field(line, length, 4);
    return *ret_root != NULL && *ret_point != NULL;
}

/* The part of `path` below `root`; NULL: it is not below. */
static const char *path_below(const char *path, const char *root)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return NULL;
    return path + length;
}

char *cgroup_directory(const char *mountinfo_text, const char *path, char **ret_mount_point)
{
    char *found = NULL;
    for (const char *line = mountinfo_text; line != NULL && found == NULL;
         line = strchr(line, '\n')) {
        line += *line == '\n';
        OWNED_MEMORY char *root = NULL;
        OWNED_MEMORY char *point = NULL;
        const char *below = read_mount(line, &root, &point) ? path_below(path, root) : NULL;
        if (below == NULL || strstr(below, "/..") != NULL)
            continue;
        if (asprintf(&found, "%s%s", point, strcmp(below, "/") == 0 ? "" : below) < 0)
            return NULL;
        *ret_mount_point = pointer_take(&point);
    }
    return found;
}

static int read_proc(const char *path, struct buffer *text)
{
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : text_file_read_all(fd, text);
    return r < 0 ? r : buffer_append(text, "", 1);
}

/* The limits of the enclosing cgroups apply whatever a new one is set to. */
static void find_ceilings(struct cgroup_location *place, const char *mount_point)
{
    place->memory_ceiling = place->processes_ceiling = UINT64_MAX;
    OWNED_MEMORY char *path = strdup(place->directory);
    while (path != NULL && strlen(path) > strlen(mount_point)) {
        OWNED_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        uint64_t limit = UINT64_MAX;
        if (fd >= 0 && cgroup_read_number(fd, "memory.max", &limit) == 0 &&
            limit < place->memory_ceiling)
            place->memory_ceiling = limit;
        if (fd >= 0 && cgroup_read_number(fd, "pids.max", &limit) == 0 &&
            limit < place->processes_ceiling)
            place->processes_ceiling = limit;
        *strrchr(path, '/') = '\0';
    }
}

int cgroup_location_find(struct cgroup_location *ret_place, struct fault *fault)
{
    OWNED(buffer_release) struct buffer cgroups = BUFFER(PROC_FILE_MAX);
    OWNED(buffer_release) struct buffer mounts = BUFFER(PROC_FILE_MAX);
    int r = read_proc("/proc/self/cgroup", &cgroups);
    if (r == 0)
        r = read_proc("/proc/self/mountinfo", &mounts);
    if (r < 0)
        return fault_set(fault, -r, "cannot read /proc/self/cgroup and mountinfo: %m");
    OWNED_MEMORY char *path = cgroup_own_path(cgroups.data);
    if (path == NULL)
        return fault_set(fault, ENOENT,
                         "this machine has no cgroup v2 hierarchy (a kernel parameter such as "
                         "systemd.unified_cgroup_hierarchy=1 enables it)");
    OWNED_MEMORY char *point = NULL;
    OWNED_MEMORY char *directory = cgroup_directory(mounts.data, path, &point);
    if (directory == NULL)
        return fault_set(fault, ENOENT,
                         "the cgroup v2 hierarchy is not mounted for this program "
                         "(usually at /sys/fs/cgroup)");
    OWNED_FD int root_fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned offered = root_fd < 0 ? 0 : cgroup_read_controllers(root_fd, "cgroup.controllers");
    if (offered == 0)
        return fault_set(fault, ENOENT,
                         "the cgroup v2 hierarchy of this machine has no controllers: version 1 "
                         "has them (the kernel parameter "
                         "systemd.unified_cgroup_hierarchy=1 changes that)");
    *ret_place = (struct cgroup_location){
        .directory = pointer_take(&directory),
        .controllers = offered,
    };
    find_ceilings(ret_place, point);
    return 0;
}

void cgroup_location_release(struct cgroup_location *place)
{
    free(place->directory);
    place->directory = NULL;
}
