#include "sandbox/roots/relocation.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/rlimits.h"
#include "sandbox/jail/rootfs.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADERS_MAX 64
#define LOADER_ARGUMENTS 5 /* the loader, two options with their values; and the program */
#define LIBRARY_PATH_MAX 4096

/* Programs and libraries of the host, which a snippet may start: `sh`, for instance. Nothing else of its files. */
static const struct plan_path_rights of_host[] = {
    {"/usr/bin", RIGHTS_READ},
    {"/usr/sbin", RIGHTS_READ},
    {"/usr/lib", RIGHTS_READ},
    {"/usr/lib32", RIGHTS_READ},
    {"/usr/lib64", RIGHTS_READ},
    {"/usr/libexec", RIGHTS_READ},
    {"/usr/share", RIGHTS_READ},
    {"/usr/local/bin", RIGHTS_READ},
    {"/usr/local/lib", RIGHTS_READ},
    {"/bin", RIGHTS_READ},
    {"/sbin", RIGHTS_READ},
    {"/lib", RIGHTS_READ},
    {"/lib32", RIGHTS_READ},
    {"/lib64", RIGHTS_READ},
    {"/etc/alternatives", RIGHTS_READ},
    {"/etc/ld.so.cache", RIGHTS_READ_FILE},
    {"/etc/localtime", RIGHTS_READ_FILE},
    {"/etc/ssl/certs", RIGHTS_READ},
    {"/etc/ssl/openssl.cnf", RIGHTS_READ_FILE},
    {"/dev/random", RIGHTS_READ_FILE},
    {"/dev/urandom", RIGHTS_READ_FILE},
    {"/dev/null", RIGHTS_WRITE},
    {"/dev/zero", RIGHTS_WRITE},
    {"/dev/full", RIGHTS_WRITE},
};

/* Where an image has libraries, apart from what its ld.so.conf names. */
static const char *const library_directories[] = {
#if defined(__x86_64__)
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
#endif
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
};

void relocation_release(struct relocation *relocation)
{
    text_list_release(&relocation->texts);
    free(relocation->argv);
    free(relocation->environment);
    *relocation = (struct relocation){0};
}

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

int relocation_read_loader(int fd, char *ret_path, size_t size)
{
    Elf64_Ehdr header;
    Elf64_Phdr headers[HEADERS_MAX];
    ret_path[0] = '\0';
    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_machine != OWN_MACHINE || header.e_phentsize != sizeof(headers[0]))
        return -ENOEXEC;
    size_t count = header.e_phnum < HEADERS_MAX ? header.e_phnum : HEADERS_MAX;
    ssize_t length = (ssize_t)(count * sizeof(headers[0]));
    if (header.e_phoff > LONG_MAX ||
        pread(fd, headers, (size_t)length, (off_t)header.e_phoff) != length)
        return -ENOEXEC;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type != PT_INTERP)
            continue;
        if (headers[i].p_filesz < 2 || headers[i].p_filesz > size ||
            headers[i].p_offset > LONG_MAX ||
            pread(fd, ret_path, headers[i].p_filesz, (off_t)headers[i].p_offset) !=
                (ssize_t)headers[i].p_filesz ||
            ret_path[headers[i].p_filesz - 1] != '\0' || ret_path[0] != '/')
            return -ENOEXEC;
        return 0;
    }
    return 0;
}

/* A file of the image, whose links lead nowhere else; and none that blocks, or waits for a writer. */
static int open_inside(const char *root, const char *path)
{
    OWNED_FD int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    OWNED_FD int fd = root_fd < 0 ? -errno
                                  : open_resolved(root_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                                                  RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    struct stat status;
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return -ENOEXEC;
    return fd_take(&fd);
}

/* The first program of the plan that is in the tree: its path there. */
static int find_program(struct relocation *relocation, const char *root,
                        const struct jail_plan *plan, char loader[PATH_MAX], char **ret_path,
                        struct fault *fault)
{
    for (char *const *program = plan->programs; *program != NULL; program++) {
        char *path = text_list_add(&relocation->texts, "%s%s", root, *program);
        OWNED_FD int fd = path != NULL ? open_inside(root, *program) : -ENOMEM;
        if (fd == -ENOENT || fd == -ENOTDIR)
            continue;
        int r = fd < 0 ? fd : relocation_read_loader(fd, loader, PATH_MAX);
        if (r < 0)
            return fault_set(fault, -r,
                             "cannot start %s of the image here, where it is not the root: %m",
                             *program);
        *ret_path = path;
        return 0;
    }
    return fault_set(fault, ENOENT, "the image has no %s", plan->argv[0]);
}

/* Adds the directories of a file like /etc/ld.so.conf. */
static void add_libraries(const char *root, const char *configuration, char *list, size_t *length)
{
    char line[PATH_MAX];
    int fd = open_inside(root, configuration);
    FILE *file = fd >= 0 ? fdopen(fd, "re") : NULL;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, " \t\r\n#")] = '\0';
        if (line[0] == '/' && strchr(line, ':') == NULL && *length < LIBRARY_PATH_MAX)
            *length +=
                (size_t)snprintf(list + *length, LIBRARY_PATH_MAX - *length, ":%s%s", root, line);
    }
    if (file != NULL)
        fclose(file);
    else if (fd >= 0)
        close(fd);
}

static char *find_libraries(struct relocation *relocation, const char *root)
{
    char list[LIBRARY_PATH_MAX] = "";
    size_t length = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(library_directories) && length < sizeof(list); i++)
        length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s%s",
                                   i == 0 ? "" : ":", root, library_directories[i]);
    char path[PATH_MAX];
    OWNED_FD int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    OWNED_FD int configuration_fd =
        open_resolved(root_fd, "etc/ld.so.conf.d", O_PATH | O_DIRECTORY | O_CLOEXEC,
                      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    OWNED(directory_release)
    DIR *directory = configuration_fd < 0 ? NULL : directory_open(configuration_fd, ".");
    for (struct dirent *entry; (entry = directory_next(directory)) != NULL;) {
        snprintf(path, sizeof(path), "/etc/ld.so.conf.d/%.255s", entry->d_name);
        add_libraries(root, path, list, &length);
    }
    return length < sizeof(list) ? text_list_add(&relocation->texts, "%s", list) : NULL;
}

/* LOADER --library-path LIBRARIES --argv0 PROGRAM PROGRAM ARGUMENTS: ld.so(8). A static program needs none. */
int relocation_start(struct relocation *relocation, const char *root, struct jail_plan *plan,
                     struct fault *fault)
{
    char loader[PATH_MAX] = "";
    char *program = NULL;
    int r = find_program(relocation, root, plan, loader, &program, fault);
    if (r < 0)
        return r;
    size_t count = 1;
    while (plan->argv[count] != NULL)
        count++;
    relocation->argv = calloc(count + LOADER_ARGUMENTS + 1, sizeof(char *));
    char *libraries = find_libraries(relocation, root);
    if (relocation->argv == NULL || libraries == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the arguments of a program");
    size_t at = 0;
    relocation->programs[0] = program;
    if (loader[0] != '\0') {
        char *const before[] = {text_list_add(&relocation->texts, "%s%s", root, loader),
                                text_list_add(&relocation->texts, "--library-path"), libraries,
                                text_list_add(&relocation->texts, "--argv0"), program};
        if (before[0] == NULL || before[1] == NULL || before[3] == NULL)
            return fault_set(fault, ENOMEM, "out of memory for the arguments of a program");
        relocation->programs[0] = before[0];
        memcpy(relocation->argv, before, sizeof(before));
        at = ARRAY_LENGTH(before);
    }
    relocation->argv[at] = program;
    memcpy(relocation->argv + at + 1, plan->argv + 1, (count - 1) * sizeof(char *));
    if (plan->code_name != NULL && plan->code_name[0] == '/' && count > 1)
        relocation->argv[at + count - 1] =
            text_list_add(&relocation->texts, "%s%s", root, plan->argv[count - 1]);
    plan->argv = relocation->argv;
    plan->programs = relocation->programs;
    return relocation->argv[at + count - 1] != NULL ? 0 : -ENOMEM;
}

/* The home and temporary directories, and programs of the host: those of the image have the wrong loader for it. */
static int move_environment(struct relocation *relocation, struct jail_plan *plan)
{
    static const char *const own[] = {"HOME=", "TMPDIR=", "PATH="};
    size_t count = 0;
    while (plan->environment[count] != NULL)
        count++;
    relocation->environment = calloc(count + ARRAY_LENGTH(own) + 1, sizeof(char *));
    if (relocation->environment == NULL)
        return -ENOMEM;
    size_t at = 0;
    char *const values[] = {text_list_add(&relocation->texts, "HOME=%s", plan->home),
                            text_list_add(&relocation->texts, "TMPDIR=%s", plan->temporary),
                            text_list_add(&relocation->texts, "PATH=%s", JAIL_PATH)};
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
        if (values[i] == NULL)
            return -ENOMEM;
        relocation->environment[at++] = values[i];
    }
    for (size_t i = 0; i < count; i++) {
        bool is_replaced = false;
        for (size_t j = 0; j < ARRAY_LENGTH(own); j++)
            is_replaced |= strncmp(plan->environment[i], own[j], strlen(own[j])) == 0;
        if (!is_replaced)
            relocation->environment[at++] = plan->environment[i];
    }
    plan->environment = relocation->environment;
    return 0;
}

static int move_rights(struct relocation *relocation, const char *root, struct jail_plan *plan)
{
    struct plan_path_rights *rights = relocation->rights;
    size_t count = ARRAY_LENGTH(of_host);
    memcpy(rights, of_host, sizeof(of_host));
    for (size_t i = 0; i < plan->path_rights_count; i++) {
        const struct plan_path_rights *one = &plan->path_rights[i];
        bool is_device = one->rights == RIGHTS_WRITE;
        if (is_device)
            continue; /* the host's, above */
        if (count == RELOCATION_RIGHTS_MAX)
            return -E2BIG;
        rights[count] = *one;
        rights[count].path = text_list_add(&relocation->texts, "%s%s", root,
                                           strcmp(one->path, "/") == 0 ? "" : one->path);
        if (rights[count++].path == NULL)
            return -ENOMEM;
    }
    plan->path_rights = rights;
    plan->path_rights_count = count;
    return 0;
}

/* Threads of this user, of which the kernel counts all against one limit. */
static rlim_t count_threads(void)
{
    rlim_t count = 0;
    uid_t own = geteuid();
    OWNED(directory_release) DIR *processes = directory_open(AT_FDCWD, "/proc");
    int fd = processes != NULL ? dirfd(processes) : -1;
    for (const char *name; fd >= 0 && (name = directory_next_number(processes)) != NULL;) {
        char path[32];
        struct stat status;
        snprintf(path, sizeof(path), "%.16s/task", name);
        if (fstatat(fd, path, &status, 0) == 0 && status.st_uid == own)
            count += status.st_nlink > 2 ? status.st_nlink - 2 : 1;
    }
    return count;
}

static int move_rlimits(struct relocation *relocation, struct jail_plan *plan)
{
    if (plan->rlimit_count > RELOCATION_RLIMITS_MAX)
        return -E2BIG;
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        relocation->rlimits[i] = plan->rlimits[i];
        if (relocation->rlimits[i].resource != RLIMIT_NPROC)
            continue;
        rlim_t own = rlimit_hard(RLIMIT_NPROC);
        rlim_t limit = relocation->rlimits[i].limit + count_threads();
        limit = own < limit ? own : limit;
        relocation->rlimits[i].limit = relocation->rlimits[i].hard = limit;
    }
    plan->rlimits = relocation->rlimits;
    return 0;
}

static int move_directories(struct relocation *relocation, const char *root, struct jail_plan *plan)
{
    plan->work_directory = text_list_add(&relocation->texts, "%s%s", root, plan->work_directory);
    plan->home = text_list_add(&relocation->texts, "%s%s", root, plan->home);
    plan->temporary = text_list_add(&relocation->texts, "%s%s", root, plan->temporary);
    return plan->work_directory != NULL && plan->home != NULL && plan->temporary != NULL ? 0
                                                                                         : -ENOMEM;
}

int relocation_place(struct relocation *relocation, const char *root, struct jail_plan *plan,
                     struct fault *fault)
{
    int r = move_directories(relocation, root, plan);
    if (r == 0)
        r = move_environment(relocation, plan);
    if (r == 0)
        r = move_rights(relocation, root, plan);
    if (r == 0)
        r = move_rlimits(relocation, plan);
    return r < 0 ? fault_set(fault, -r, "cannot place a sandbox in %s: %m", root) : 0;
}
