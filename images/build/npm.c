#include "images/build/npm.h"

#include "images/base/file.h"
#include "images/build/installer_output.h"
#include "images/unpack/jailed.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ASIDE NPM_ASIDE
#define INSIDE "/usr/share/code-sandbox/npm" /* npm cannot install to a prefix of "/" */
#define CA_BUNDLE "/etc/ssl/certs/ca-certificates.crt"

static int move(const char *from, const char *to, struct fault *fault)
{
    if (rename(from, to) < 0)
        return fault_set(fault, errno, "cannot move %s to %s in the image: %m", from, to);
    return 0;
}

/* The directory of the node package, which is named after the machine; "" when there is none. */
static void node_directory(char path[PATH_MAX])
{
    OWNED(file_list_release) struct file_list machines;
    path[0] = '\0';
    file_list_read(ASIDE "/node_modules", "64", &machines);
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
    int r = file_make_directory("usr/share/doc/node", 0755, fault);
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
        r = file_make_directory("usr/lib/node_modules", 0755, fault);
    if (r == 0)
        r = move(ASIDE "/node_modules/npm", "usr/lib/node_modules/npm", fault);
    if (r == 0)
        r = file_write_link("usr/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js", fault);
    if (r == 0)
        r = file_write_link("usr/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js", fault);
    if (r == 0)
        r = tree_remove(AT_FDCWD, ASIDE "/node_modules/.package-lock.json");
    /* At the root, since require() and import look in each directory above the program's. */
    return r == 0 ? move(ASIDE "/node_modules", "node_modules", fault) : r;
}

/* Proxies and npm settings come from our environment; everything else is the image's own. */
struct npm_environment {
    const char *pairs[64];
    size_t count;
};

static void environment_fill(struct npm_environment *environment)
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

/* In a jailed child: moves the packages installed by the image's npm to their place. */
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
    struct plan_shown files[2] = {{"/etc/resolv.conf", "/etc/resolv.conf"}};
    size_t file_count = 1;
    /* The host's certificate bundle: only it may know the certificate of the host's mirror. */
    if (file_exists(CA_BUNDLE))
        files[file_count++] = (struct plan_shown){CA_BUNDLE, CA_BUNDLE};
    struct npm_environment environment = {0};
    environment_fill(&environment);
    const struct image_jail jail = {
        .root = root,
        .shown = files,
        .shown_count = file_count,
        .network = true,
    };
    const struct image_program program = {
        .argv = (const char *const[]){"/usr/bin/npm", "install", ("--prefix=" INSIDE), NPM_OPTIONS,
                                      "--no-save", "--", GENAI, NULL},
        .environment = environment.pairs,
    };
    int r = jailed_program(&jail, &program, fault);
    if (r > 0)
        return fault_set(fault, ENOENT, "the image has no npm");
    const struct image_jail place = {.root = root, .body = inside_place};
    return r == 0 ? jailed_run(&place, NULL, fault) : r;
}

int npm_install_inside(const char *root, struct progress *progress, struct fault *fault)
{
    progress_step(progress, "adding " GENAI " with the image's npm");
    struct fault cause = {0};
    int r = inside_install(root, &cause);
    if (r == -EINTR || r == -ENOTRECOVERABLE)
        return fault_set(fault, -r, "%s", cause.text);
    char line[ANSWER_LINE_SIZE];
    if (r < 0)
        progress_note(progress,
                      "note: " GENAI " could not be added, the image is made without it: %s",
                      npm_failure(cause.text, line));
    return 0;
}
