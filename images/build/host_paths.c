/*
 * What settings of this host may name: host_settings_copy(). Installers see copies of the very files that were
 * checked, so whoever changes a path afterwards changes nothing for them.
 */
#include "images/build/host_settings.h"
#include "images/build/pem.h"
#include "images/build/settings_text.h"

#include "images/base/file.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/folders/host_fence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define NO_MEMORY "no memory for the settings of this host"
#define KEY_MAX (64 << 10) /* larger files, such as packages, are not looked through for keys */
#define PACKAGES_MAX 100000 /* in a directory */
#define CERTIFICATES_MAX 4096 /* likewise */
#define COPY_MAX                                                                                   \
    ((off_t)4                                                                                      \
     << 30) /* bytes of packages of a setting that are copied; those that are linked are free */
#define ANOTHER_FILE "name another file, or remove the setting"

/* A file or directory that a setting names, and where its copy goes. */
struct named {
    const char *name, *path;
    enum value_kind kind;
    int to_fd; /* a directory of ours */
    const char *to; /* in it */
    off_t copied;
};

/* Packages as pip knows them, and lists of links. Source: pip, ARCHIVE_EXTENSIONS of utils/filetypes.py. */
static bool is_package(const char *name)
{
    static const char *const ends[] = {
        ".whl",    ".zip", ".tar.gz", ".tgz",    ".tar",  ".tar.bz2",  ".tbz",
        ".tar.xz", ".txz", ".tlz",    ".tar.lz", ".html", ".tar.lzma", ".htm",
    };
    size_t length = strlen(name);
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        size_t end = strlen(ends[i]);
        if (length > end && name[0] != '.' && strcmp(name + length - end, ends[i]) == 0)
            return true;
    }
    return false;
}

static int refuse(const struct named *named, const char *reason, const char *remedy,
                  struct fault *fault)
{
    return fault_set(fault, EPERM, "%s names %s, which installers are not shown: %s; %s",
                     named->name, named->path, reason, remedy);
}

static int fail(const struct named *named, int error, struct fault *fault)
{
    return fault_set(fault, error, "%s names %s: %s", named->name, named->path, strerror(error));
}

/* The path of what is open, without links. */
static int real_path(int fd, char ret_path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, ret_path, PATH_MAX);
    if (length < 0 || length == PATH_MAX)
        return length < 0 ? -errno : -ENAMETOOLONG;
    ret_path[length] = '\0';
    return 0;
}

/* Opens a file or directory for reading, which is open as a path. */
static int reopen(int path_fd)
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
    int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

/* What is for everybody: certificates of distributions, and stores of packages. */
static bool is_public(const char *path)
{
    static const char *const places[] = {
        "/etc/ssl/certs",           "/etc/pki/tls/certs", "/etc/pki/ca-trust",
        "/etc/ca-certificates",     "/usr/share",         "/usr/local/share",
        "/var/lib/ca-certificates", "/nix/store",         "/gnu/store",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++)
        if (path_is_below(path, places[i]))
            return true;
    return false;
}

/*
 * Opens, as a path, what a name in a directory leads to. A link may lead to what is below the directory, or public;
 * whoever may write there could otherwise show installers any file of the user. A descriptor; -EXDEV: it leads elsewhere;
 * or another negative errno.
 */
static int open_within(int directory_fd, const char *name)
{
    char above[PATH_MAX], real[PATH_MAX];
    OWNED_FD int fd = open_resolved(directory_fd, name, O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
    if (fd < 0)
        return fd;
    int r = real_path(directory_fd, above);
    if (r == 0)
        r = real_path(fd, real);
    if (r < 0)
        return r;
    return path_is_below(real, above) || is_public(real) ? fd_take(&fd) : -EXDEV;
}

/* Copies a file of any size; a hard link is one. */
static int copy_package(struct named *named, int path_fd, int to_fd, const char *to)
{
    char link[64];
    struct stat about;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
    if (linkat(AT_FDCWD, link, to_fd, to, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    OWNED_FD int from = reopen(path_fd);
    if (from < 0)
        return from;
    OWNED_FD int copy = openat(to_fd, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (copy < 0 || fstat(from, &about) < 0)
        return -errno;
    for (off_t left = about.st_size; left > 0;) {
        if (left > COPY_MAX - named->copied)
            return -EFBIG;
        ssize_t moved = sendfile(copy, from, NULL, (size_t)left);
        if (moved < 0 && errno != EINTR)
            return -errno;
        if (moved == 0)
            break;
        left -= moved > 0 ? moved : 0;
        named->copied += moved > 0 ? moved : 0;
    }
    return 0;
}

static bool text_has(const struct buffer *text, const char *word)
{
    return text->length > 0 && memmem(text->data, text->length, word, strlen(word)) != NULL;
}

/* Of RFC 7468, or of OpenPGP: RFC 9580, 6.2. */
static bool has_key(const struct buffer *text)
{
    return text_has(text, "PRIVATE KEY-----") || text_has(text, "PRIVATE KEY BLOCK-----");
}

/* Reads a file and refuses what it may not hold. */
static int read_checked(const struct named *named, int path_fd, struct buffer *text,
                        struct fault *fault)
{
    struct stat about;
    if (fstat(path_fd, &about) < 0 || !S_ISREG(about.st_mode))
        return refuse(named, "it is no file", ANOTHER_FILE, fault);
    OWNED_FD int fd = reopen(path_fd);
    int r = fd < 0 ? fd : text_file_read_all(fd, text);
    if (r < 0)
        return fail(named, r == -ENOBUFS ? EFBIG : -r, fault);
    return named->kind != VALUE_CLIENT_CERTIFICATE && has_key(text)
               ? refuse(named, "there is a private key in it", ANOTHER_FILE, fault)
               : 0;
}

static int certificates_copy(const struct named *named, const struct buffer *text,
                             struct buffer *selected, struct fault *fault)
{
    int count = pem_select(text, named->kind == VALUE_CLIENT_CERTIFICATE, selected);
    if (count < 0)
        return fail(named, -count, fault);
    return count == 0 ? refuse(named, "there is no certificate in it", ANOTHER_FILE, fault) : 0;
}

static int constraints_copy(const struct named *named, const struct buffer *text,
                            struct buffer *selected, struct fault *fault)
{
    char reason[64];
    int r = constraints_select(text, selected);
    if (r < 0)
        return fail(named, -r, fault);
    snprintf(reason, sizeof(reason), "its line %d is no constraint", r);
    return r > 0 ? refuse(named, reason, ANOTHER_FILE, fault) : 0;
}

static int configuration_copy(const struct named *named, const struct buffer *text,
                              struct buffer *selected, struct fault *fault)
{
    int r = settings_select(text, strncasecmp(named->name, "npm", 3) == 0, selected);
    return r < 0 ? fail(named, -r, fault) : 0;
}

/* Nothing but what the setting is for: what is beside it could be anything. */
static int copy_file(const struct named *named, int path_fd, int to_fd, const char *to,
                     struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    OWNED(buffer_release) struct buffer selected = BUFFER(FILE_TEXT_MAX + 1);
    int r = read_checked(named, path_fd, &text, fault);
    if (r < 0)
        return r;
    if (named->kind == VALUE_CONSTRAINTS)
        r = constraints_copy(named, &text, &selected, fault);
    else if (named->kind == VALUE_CONFIGURATION || named->kind == VALUE_OWN_CONFIGURATION)
        r = configuration_copy(named, &text, &selected, fault);
    else
        r = certificates_copy(named, &text, &selected, fault);
    return r == 0 ? file_create(to_fd, to, selected.data, selected.length, fault) : r;
}

/* As `named`, but in the directory that it names. */
static int copy_certificate(const struct named *named, int directory_fd, int to_fd,
                            const char *entry, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/%s", named->path, entry) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, NO_MEMORY);
    }
    utf8_make_plain(path + strlen(named->path), false);
    const struct named inner = {named->name, path, named->kind, to_fd, entry, 0};
    OWNED_FD int fd = open_within(directory_fd, entry);
    if (fd == -EXDEV)
        return refuse(&inner, "it is a link that leads out of its directory", ANOTHER_FILE, fault);
    return fd < 0 ? fail(&inner, -fd, fault) : copy_file(&inner, fd, to_fd, entry, fault);
}

/* Packages only: whatever else is in a directory could be anything, and a link leads to it. */
static int copy_entry(struct named *named, int directory_fd, int to_fd, const char *entry,
                      struct fault *fault)
{
    struct stat about;
    OWNED_FD int fd =
        directory_fd < 0 ? -1 : openat(directory_fd, entry, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) < 0)
        return fail(named, errno, fault);
    if (S_ISREG(about.st_mode) && is_package(entry)) {
        int r = copy_package(named, fd, to_fd, entry);
        return r < 0 ? fail(named, -r, fault) : 0;
    }
    OWNED_MEMORY char *reason = NULL;
    if (asprintf(&reason, "%s is no package", entry) < 0) {
        reason = NULL;
        return fault_set(fault, ENOMEM, NO_MEMORY);
    }
    utf8_make_plain(reason, false);
    return refuse(named, reason, "keep packages in a directory of their own", fault);
}

static int copy_directory(struct named *named, int path_fd, struct fault *fault)
{
    bool is_packages = named->kind == VALUE_PACKAGES;
    size_t most = is_packages ? PACKAGES_MAX : CERTIFICATES_MAX;
    OWNED(directory_release) DIR *directory = directory_open(path_fd, ".");
    if (directory == NULL)
        return errno == ENOTDIR ? refuse(named, "it is no directory", ANOTHER_FILE, fault)
                                : fail(named, errno, fault);
    if (mkdirat(named->to_fd, named->to, 0755) < 0)
        return fault_set(fault, errno, "cannot copy settings of this host: %m");
    OWNED_FD int to_fd = openat(named->to_fd, named->to, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (to_fd < 0)
        return fault_set(fault, errno, "cannot copy settings of this host: %m");
    int r = 0;
    size_t count = 0;
    for (const struct dirent *entry; r == 0 && (entry = directory_next(directory)) != NULL;) {
        if (++count > most)
            return refuse(named, "it has too many files", "choose a directory with fewer", fault);
        r = is_packages ? copy_entry(named, dirfd(directory), to_fd, entry->d_name, fault)
                        : copy_certificate(named, dirfd(directory), to_fd, entry->d_name, fault);
    }
    return r;
}

/* A directory may not give away a home. */
static int check_fence(const struct named *named, const char *real, struct fault *fault)
{
    const char *own = getenv("HOME");
    OWNED_MEMORY char *home = own != NULL ? realpath(own, NULL) : NULL;
    struct host_fence stopped;
    return host_fence_stops(real, home, &stopped)
               ? refuse(named, stopped.reason, stopped.remedy, fault)
               : 0;
}

/* Opens, as a path, what the setting names; tells of a link that leads elsewhere. */
static int open_named(const char *path, bool *ret_leads_out)
{
    char above[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= sizeof(above))
        return -ENAMETOOLONG;
    memcpy(above, path, length);
    above[length] = '\0';
    char *slash = strrchr(above, '/');
    if (slash == NULL || slash[1] == '\0')
        return -EINVAL;
    *slash = '\0';
    OWNED_FD int directory_fd =
        open_resolved(AT_FDCWD, above[0] != '\0' ? above : "/", O_PATH | O_DIRECTORY | O_CLOEXEC,
                      RESOLVE_NO_MAGICLINKS);
    if (directory_fd < 0)
        return directory_fd;
    int fd = open_within(directory_fd, slash + 1);
    *ret_leads_out = fd == -EXDEV;
    if (fd != -EXDEV)
        return fd;
    return open_resolved(directory_fd, slash + 1, O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
}

/* A user's own configuration may be a link, as to a folder of such files: what it names counts as named. */
static void own_link_follow(const char *path, char ret_path[PATH_MAX])
{
    char target[PATH_MAX];
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *last = strrchr(path, '/');
    int above = length > 0 && target[0] != '/' && last != NULL ? (int)(last + 1 - path) : 0;
    int written = snprintf(ret_path, PATH_MAX, "%.*s%s", above, path, length > 0 ? target : path);
    if (written >= PATH_MAX)
        snprintf(ret_path, PATH_MAX, "%s", path);
}

/* A package, or a list of links. */
static int copy_one_package(struct named *named, int fd, const char *real, struct fault *fault)
{
    struct stat about;
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    OWNED_MEMORY char *reason = NULL;
    int r = fstat(fd, &about) < 0 ? fail(named, errno, fault) : 0;
    if (r == 0 && about.st_size <= KEY_MAX)
        r = read_checked(named, fd, &text, fault);
    if (r < 0)
        return r;
    if (is_package(named->path) && is_package(real)) {
        r = copy_package(named, fd, named->to_fd, named->to);
        return r < 0 ? fail(named, -r, fault) : 0;
    }
    if (asprintf(&reason, "%s is no package", strrchr(named->path, '/') + 1) < 0) {
        reason = NULL;
        return fault_set(fault, ENOMEM, NO_MEMORY);
    }
    return refuse(named, reason, ANOTHER_FILE, fault);
}

/* Files of the kernel tell of processes, such as their variables, and are no one's settings. */
static int check_file_system(const struct named *named, int fd, struct fault *fault)
{
    struct statfs about;
    if (fstatfs(fd, &about) < 0)
        return fail(named, errno, fault);
    return about.f_type == PROC_SUPER_MAGIC || about.f_type == SYSFS_MAGIC
               ? refuse(named, "it belongs to the system", ANOTHER_FILE, fault)
               : 0;
}

static int copy_opened(struct named *named, int fd, bool leads_out, const char *real,
                       struct fault *fault)
{
    struct stat about;
    int r = check_file_system(named, fd, fault);
    if (r < 0)
        return r;
    if (fstat(fd, &about) < 0)
        return fail(named, errno, fault);
    bool is_place = named->kind == VALUE_CERTIFICATE_FOLDER ||
                    (named->kind == VALUE_PACKAGES && !S_ISREG(about.st_mode));
    r = is_place ? check_fence(named, real, fault) : 0;
    if (r == 0 && leads_out)
        r = refuse(named, "it is a link that leads out of its directory",
                   "name the file or directory itself", fault);
    if (r < 0)
        return r;
    if (is_place)
        return copy_directory(named, fd, fault);
    return named->kind == VALUE_PACKAGES ? copy_one_package(named, fd, real, fault)
                                         : copy_file(named, fd, named->to_fd, named->to, fault);
}

/* The directory of copies, made at the first one. A descriptor or a negative errno. */
static int copies_open(struct host_settings *settings)
{
    if (settings->copies[0] == '\0') {
        int length = snprintf(settings->copies, sizeof(settings->copies), "%s/settings.XXXXXX",
                              settings->scratch);
        int r = length >= (int)sizeof(settings->copies) ? -ENAMETOOLONG
                : mkdtemp(settings->copies) == NULL     ? -errno
                                                        : 0;
        if (r < 0) {
            settings->copies[0] = '\0';
            return r;
        }
    }
    int fd = open(settings->copies, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int host_settings_copy(struct host_settings *settings, const struct host_path *host,
                       char **ret_copy, struct fault *fault)
{
    char end[PATH_MAX], real[PATH_MAX], to[16];
    bool leads_out = false;
    OWNED_FD int to_fd = copies_open(settings);
    if (to_fd < 0)
        return fault_set(fault, -to_fd, "cannot copy settings of this host: %s", strerror(-to_fd));
    snprintf(to, sizeof(to), "%zu", settings->copy_count++);
    struct named named = {host->name, host->path, host->kind, to_fd, to, 0};
    snprintf(end, sizeof(end), "%s", host->path);
    if (host->kind == VALUE_OWN_CONFIGURATION)
        own_link_follow(host->path, end);
    OWNED_FD int fd = open_named(end, &leads_out);
    int r = fd < 0 ? fd : real_path(fd, real);
    if (r < 0)
        return fail(&named, -r, fault);
    OWNED_MEMORY char *copy = NULL;
    /* Nobody but the administrator changes those of the system, and they may link to one another. */
    bool is_of_system =
        host->kind == VALUE_CERTIFICATE_FOLDER &&
        (path_is_below(real, "/etc/ssl/certs") || path_is_below(real, "/etc/pki/tls/certs"));
    int length =
        is_of_system ? asprintf(&copy, "%s", real) : asprintf(&copy, "%s/%s", settings->copies, to);
    if (length < 0) {
        copy = NULL;
        return fault_set(fault, ENOMEM, NO_MEMORY);
    }
    r = is_of_system ? 0 : copy_opened(&named, fd, leads_out, real, fault);
    if (r == 0)
        *ret_copy = pointer_take(&copy);
    return r;
}
