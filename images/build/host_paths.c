/* What settings of this host may name: host_settings_check(). */
#include "images/build/host_settings.h"

#include "images/base/file.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/host_fence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NO_MEMORY "no memory for the settings of this host"
#define KEY_MAX (64 << 10) /* larger files, such as packages, are not looked through for keys */
#define PACKAGES_MAX 100000 /* in a directory */
#define CERTIFICATES_MAX 4096 /* likewise */
#define NAME_SIZE 256

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

static int found(const char *name, char ret_name[NAME_SIZE])
{
    snprintf(ret_name, NAME_SIZE, "%s", name);
    return 1;
}

/*
 * Whether there is anything but packages and lists of links at a path: a file, or the files of a directory. 0: nothing;
 * 1, with its name, which may hold any bytes; or a negative errno.
 */
static int find_stranger(const char *path, char ret_name[NAME_SIZE])
{
    struct stat about;
    const char *last = strrchr(path, '/');
    if (stat(path, &about) < 0)
        return -errno;
    if (S_ISREG(about.st_mode))
        return is_package(path) ? 0 : found(last != NULL ? last + 1 : path, ret_name);
    OWNED(directory_release) DIR *directory = directory_open(AT_FDCWD, path);
    if (directory == NULL)
        return -errno;
    size_t count = 0;
    for (const struct dirent *entry; (entry = directory_next(directory)) != NULL;) {
        if (++count > PACKAGES_MAX)
            return -E2BIG;
        /* A link would lead to files that are not in the directory. */
        if (fstatat(dirfd(directory), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        if (!S_ISREG(about.st_mode) || !is_package(entry->d_name))
            return found(entry->d_name, ret_name);
    }
    return 0;
}

static int refuse(const char *name, const char *path, const char *reason, const char *remedy,
                  struct fault *fault)
{
    return fault_set(fault, EPERM, "%s names %s, which installers are not shown: %s; %s", name,
                     path, reason, remedy);
}

static bool text_has(const struct buffer *text, const char *word)
{
    return memmem(text->data, text->length, word, strlen(word)) != NULL;
}

/* Why a file is not shown; NULL: it may be. Source: RFC 7468, on labels. */
static const char *reason_against(const struct buffer *text, enum value_kind kind)
{
    if (kind != VALUE_CLIENT_CERTIFICATE && text_has(text, "PRIVATE KEY-----"))
        return "there is a private key in it";
    if (kind == VALUE_CERTIFICATES && !text_has(text, "CERTIFICATE-----"))
        return "there is no certificate in it";
    return NULL;
}

static int check_file(const char *name, const char *path, enum value_kind kind, struct fault *fault)
{
    static const char remedy[] = "name another file, or remove the setting";
    struct stat about;
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    if (stat(path, &about) < 0 || !S_ISREG(about.st_mode))
        return refuse(name, path, "it is no file", remedy, fault);
    int r = file_read(path, &text, fault);
    if (r < 0)
        return r;
    const char *reason = reason_against(&text, kind);
    return reason == NULL ? 0 : refuse(name, path, reason, remedy, fault);
}

/* Packages only: whatever else is in a directory could be anything. */
static int check_packages(const char *name, const char *path, struct fault *fault)
{
    char stranger[NAME_SIZE];
    int r = find_stranger(path, stranger);
    if (r == -E2BIG)
        return refuse(name, path, "it has too many files", "choose a directory with fewer", fault);
    if (r <= 0)
        return r == 0 ? 0 : fault_set(fault, -r, "%s names %s: %s", name, path, strerror(-r));
    utf8_make_plain(stranger, false);
    OWNED_MEMORY char *reason = NULL;
    if (asprintf(&reason, "%s is no package", stranger) < 0) {
        reason = NULL;
        return fault_set(fault, ENOMEM, NO_MEMORY);
    }
    return refuse(name, path, reason, "keep packages in a directory of their own", fault);
}

/* A directory may have links, which lead nowhere in the jail unless their files are here, too. */
static int check_certificates(const char *name, const char *path, struct fault *fault)
{
    OWNED(directory_release) DIR *directory = directory_open(AT_FDCWD, path);
    if (directory == NULL)
        return refuse(name, path, "it is no directory", "name a directory of certificates", fault);
    int r = 0;
    size_t count = 0;
    for (const struct dirent *entry; r == 0 && (entry = directory_next(directory)) != NULL;) {
        OWNED_MEMORY char *file = NULL;
        if (asprintf(&file, "%s/%s", path, entry->d_name) < 0) {
            file = NULL;
            return fault_set(fault, ENOMEM, NO_MEMORY);
        }
        utf8_make_plain(file + strlen(path), false);
        r = ++count > CERTIFICATES_MAX ? refuse(name, path, "it has too many files",
                                                "choose a directory with fewer", fault)
                                       : check_file(name, file, VALUE_CERTIFICATES, fault);
    }
    return r;
}

/* Certificates of the system are for everybody; any other directory may not give away a home. */
static int check_place(const char *name, const char *path, enum value_kind kind,
                       struct fault *fault)
{
    OWNED_MEMORY char *real = realpath(path, NULL);
    const char *own = getenv("HOME");
    OWNED_MEMORY char *home = own != NULL ? realpath(own, NULL) : NULL;
    struct host_fence stopped;
    bool is_of_system =
        kind == VALUE_CERTIFICATE_FOLDER && real != NULL &&
        (path_is_below(real, "/etc/ssl/certs") || path_is_below(real, "/etc/pki/tls/certs"));
    if (real == NULL || is_of_system)
        return 0;
    if (host_fence_stops(real, home, &stopped))
        return refuse(name, path, stopped.reason, stopped.remedy, fault);
    return kind == VALUE_PACKAGES ? check_packages(name, path, fault)
                                  : check_certificates(name, path, fault);
}

int host_settings_check(const char *name, const char *path, enum value_kind kind,
                        struct fault *fault)
{
    struct stat about;
    bool is_file = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    bool is_place = kind == VALUE_CERTIFICATE_FOLDER || (kind == VALUE_PACKAGES && !is_file);
    if (is_place)
        return check_place(name, path, kind, fault);
    int r = kind != VALUE_PACKAGES || about.st_size <= KEY_MAX ? check_file(name, path, kind, fault)
                                                               : 0;
    return r == 0 && kind == VALUE_PACKAGES ? check_packages(name, path, fault) : r;
}
