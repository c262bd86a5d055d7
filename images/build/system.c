#include "images/build/system.h"

#include "images/base/file.h"
#include "images/build/alternatives.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CERTIFICATES "usr/share/ca-certificates/mozilla"
#define CERTIFICATE_BUNDLE "etc/ssl/certs/ca-certificates.crt"

int system_provide_directories(struct fault *fault)
{
    static const char *const directories[] = {
        "dev", "etc", "home",    ("home/" ACCOUNT_NAME),
        "mnt", "opt", "proc",    "root",
        "run", "srv", "sys",     "tmp",
        "usr", "var", "var/tmp", "work",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
        struct stat status;
        if (mkdir(directories[i], 0755) == 0)
            continue;
        int error = errno;
        if (error != EEXIST)
            return fault_set(fault, error, "cannot make /%s in the image: %m", directories[i]);
        if (lstat(directories[i], &status) < 0 || !S_ISDIR(status.st_mode))
            return fault_set(fault, EBADMSG,
                             "the root file system cannot be used: /%s must be a directory, since "
                             "runs mount there, but it is %s",
                             directories[i],
                             S_ISLNK(status.st_mode) ? "a symbolic link" : "something else");
    }
    return 0;
}

/* Whether a line of the account file has this id in its third field. */
static bool has_id(const char *text, const char *id)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *field = line + strcspn(line, ":\n");
        if (*field == ':')
            field += 1 + strcspn(field + 1, ":\n");
        size_t length = strlen(id);
        if (*field == ':' && strncmp(field + 1, id, length) == 0 && field[length + 1] == ':')
            return true;
    }
    return false;
}

/*
 * Adds `line` to an account file unless `id` is there. An absent file begins as a copy of `master`,
 * or as `fallback` if that is absent too.
 */
static int account_provide(const char *path, const char *master, const char *fallback,
                           const char *line, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    int r = file_read_in_tree(path, &text, fault);
    if (r == -ENOENT)
        r = file_read_in_tree(master, &text, fault);
    if (r == -ENOENT)
        r = buffer_append_text(&text, fallback);
    if (r == 0 && text.length > 0 && text.data[text.length - 1] != '\n')
        r = buffer_append_text(&text, "\n");
    const char *present = r == 0 ? buffer_string(&text) : NULL;
    if (present != NULL && !has_id(present, ACCOUNT_ID))
        r = buffer_append_text(&text, line);
    if (r < 0)
        return fault_set(fault, -r, "cannot compose %s: %m", path);
    return file_write(path, text.data, text.length, fault);
}

int system_provide_account(struct fault *fault)
{
    int r = account_provide(
        "etc/passwd", "usr/share/base-passwd/passwd.master", "root:x:0:0:root:/root:/bin/sh\n",
        ACCOUNT_NAME ":x:" ACCOUNT_ID ":" ACCOUNT_ID "::" ACCOUNT_HOME ":/bin/bash\n", fault);
    if (r == 0)
        r = account_provide("etc/group", "usr/share/base-passwd/group.master", "root:x:0:\n",
                            ACCOUNT_NAME ":x:" ACCOUNT_ID ":\n", fault);
    return r;
}

static int write_texts(struct fault *fault)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        {"etc/hostname", ACCOUNT_NAME "\n"},
        {"etc/hosts", "127.0.0.1\tlocalhost " ACCOUNT_NAME "\n"
                      "::1\tlocalhost ip6-localhost ip6-loopback\n"},
        {"etc/resolv.conf", ""},
        {"etc/timezone", "Etc/UTC\n"},
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(files); i++)
        r = file_write(files[i].path, files[i].text, strlen(files[i].text), fault);
    return r == 0 ? file_write_link("etc/localtime", "/usr/share/zoneinfo/Etc/UTC", fault) : r;
}

/* Copies default files to /etc, as a maintainer script does; packages may lack them. */
static int copy_defaults(struct fault *fault)
{
    static const char *const copies[][2] = {
        {"usr/share/libc-bin/nsswitch.conf", "etc/nsswitch.conf"},
        {"usr/share/base-files/profile", "etc/profile"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(copies); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
        int r = file_exists(copies[i][1]) ? -ENOENT : file_read(copies[i][0], &text, fault);
        if (r == 0)
            r = file_write(copies[i][1], text.data, text.length, fault);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

/*
 * Does the work of update-ca-certificates(8), without the hashed links: libraries here read the
 * bundle.
 */
static int bundle_certificates(struct fault *fault)
{
    OWNED(file_list_release) struct file_list names;
    file_list_read(CERTIFICATES, ".crt", &names);
    OWNED(buffer_release) struct buffer bundle = BUFFER(FILE_TEXT_MAX);
    int r = 0;
    for (int i = 0; r == 0 && i < names.count; i++) {
        char path[512];
        snprintf(path, sizeof(path), CERTIFICATES "/%s", names.entries[i]->d_name);
        r = file_read(path, &bundle, fault);
    }
    if (r < 0 || bundle.length == 0)
        return r;
    r = file_make_directory("etc/ssl/certs", 0755, fault);
    return r == 0 ? file_write(CERTIFICATE_BUNDLE, bundle.data, bundle.length, fault) : r;
}

/*
 * Enables the font rules that fontconfig-config's script enables: all except mutually exclusive
 * choices.
 */
static int link_font_rules(struct fault *fault)
{
    static const char available[] = "usr/share/fontconfig/conf.avail";
    OWNED(file_list_release) struct file_list names;
    file_list_read(available, ".conf", &names);
    int r = names.count > 0 ? file_make_directory("etc/fonts/conf.d", 0755, fault) : 0;
    for (int i = 0; r == 0 && i < names.count; i++) {
        const char *name = names.entries[i]->d_name;
        char link[300], target[512];
        snprintf(link, sizeof(link), "etc/fonts/conf.d/%s", name);
        snprintf(target, sizeof(target), "/%s/%s", available, name);
        bool choice = strncmp(name, "10-", 3) == 0 || strncmp(name, "11-", 3) == 0 ||
                      strncmp(name, "70-", 3) == 0 || strncmp(name, "25-", 3) == 0;
        if (!choice && !file_exists(link))
            r = file_write_link(link, target, fault);
    }
    return r;
}

/* The packages in dpkg's format, for users and vulnerability scanners. */
static int write_package_status(struct fault *fault)
{
    OWNED(file_list_release) struct file_list names;
    file_list_read(SETUP_DIRECTORY, ".control", &names);
    OWNED(buffer_release) struct buffer status = BUFFER(FILE_TEXT_MAX);
    int r = 0;
    for (int i = 0; r == 0 && i < names.count; i++) {
        char path[512];
        snprintf(path, sizeof(path), SETUP_DIRECTORY "/%s", names.entries[i]->d_name);
        r = buffer_append_text(&status, "Status: install ok installed\n");
        if (r == 0)
            r = file_read(path, &status, fault);
        if (r == 0)
            r = buffer_append_text(&status, "\n");
    }
    if (r == 0)
        r = file_make_directory("var/lib/dpkg", 0755, fault);
    if (r == 0)
        r = file_write("var/lib/dpkg/status", status.data, status.length, fault);
    return r < 0 ? fault_set(fault, -r, "cannot write the package status: %m") : 0;
}

int system_configure(struct fault *fault)
{
    static int (*const steps[])(struct fault *) = {
        write_texts, copy_defaults, bundle_certificates, link_font_rules, write_package_status,
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(steps); i++)
        r = steps[i](fault);
    return r;
}

static int alternatives_read(struct alternative_list *list, struct fault *fault)
{
    OWNED(file_list_release) struct file_list names;
    file_list_read(SETUP_DIRECTORY, ".postinst", &names);
    for (int i = 0; i < names.count; i++) {
        char path[512];
        snprintf(path, sizeof(path), SETUP_DIRECTORY "/%s", names.entries[i]->d_name);
        OWNED(buffer_release) struct buffer script = BUFFER(FILE_TEXT_MAX);
        int r = file_read(path, &script, fault);
        if (r < 0)
            return r;
        const char *text = buffer_string(&script);
        if (text == NULL || alternatives_parse(list, text) < 0)
            return fault_set(fault, ENOMEM, "no memory for the alternatives");
    }
    return 0;
}

/* Makes a link, and the directory for it. */
static int alternative_link(const struct alternative *alternative, struct fault *fault)
{
    if (!file_exists(alternative->path))
        return 0; /* a manual page left out of the image */
    char middle[512];
    snprintf(middle, sizeof(middle), "/etc/alternatives/%s", alternative->name);
    OWNED_MEMORY char *directory = strdup(alternative->link);
    if (directory == NULL)
        return fault_set(fault, ENOMEM, "no memory for the alternatives");
    *strrchr(directory, '/') = '\0';
    int r = directory[0] != '\0' ? file_make_directory(directory, 0755, fault) : 0;
    if (r == 0)
        r = file_write_link(middle, alternative->path, fault);
    return r == 0 ? file_write_link(alternative->link, middle, fault) : r;
}

int system_link_alternatives(struct fault *fault)
{
    OWNED(alternative_list_release) struct alternative_list list = {0};
    int r = alternatives_read(&list, fault);
    if (r == 0)
        r = file_make_directory("etc/alternatives", 0755, fault);
    for (size_t i = 0; r == 0 && i < list.count; i++)
        r = alternative_link(&list.items[i], fault);
    return r;
}
