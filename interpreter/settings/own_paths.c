#include "interpreter/settings/own_paths.h"

#include "images/store/store.h"
#include "interpreter/base/helpers.h"
#include "interpreter/settings/configuration.h"
#include "interpreter/settings/network_presets.h"
#include "interpreter/settings/path_walk.h"
#include "interpreter/settings/setting_table.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/folders/host_fence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE "where images are"

/* A path that the server uses, as written, and what names it: "--files-dir". */
struct own_path {
    const char *name;
    const char *path;
    bool may_be_writable; /* itself, as a mounted folder may be; but not the way to it */
};

struct search {
    const struct folders *folders;
    bool may_be_writable;
    const struct folder *found;
};

/* The writable folder that is, or has, that directory or file; or NULL. */
static const struct folder *folder_of(const struct folders *folders, const char *real)
{
    struct stat about;
    bool is_known = stat(real, &about) == 0;
    for (size_t i = 0; i < folders->count; i++) {
        const struct folder *folder = &folders->list[i];
        if (folder->mode != FOLDER_WRITABLE)
            continue;
        /* A bind mount of the host has another path. */
        bool is_same = is_known && about.st_dev == folder->device && about.st_ino == folder->inode;
        if (is_same || path_is_below(real, folder->path))
            return folder;
    }
    return NULL;
}

/* As path_visit: finds such a folder. */
static int find_folder(void *data, const char *real, bool is_end)
{
    struct search *search = data;
    if (is_end && search->may_be_writable)
        return 0;
    search->found = folder_of(search->folders, real);
    return search->found != NULL;
}

/* As path_visit: finds the folder out of which the path leads. */
static int find_way_out(void *data, const char *real, bool is_end)
{
    struct search *search = data;
    const struct folder *folder = folder_of(search->folders, real);
    (void)is_end;
    if (search->found != NULL && folder != search->found)
        return 1;
    search->found = folder;
    return 0;
}

static int check_path(struct settings *settings, const struct own_path *own, struct fault *fault)
{
    struct search search = {&settings->folders, own->may_be_writable, NULL};
    int r = path_walk(own->path, find_folder, &search);
    if (r < 0)
        return fault_set(fault, -r, "%s (%s): %m", own->path, own->name);
    if (search.found == NULL && !own->may_be_writable &&
        folders_add_own(&settings->folders, own->path) < 0)
        return fault_set(fault, ENOMEM, "out of memory for folders");
    if (search.found == NULL)
        return 0;
    return fault_set(
        fault, EPERM,
        "%s cannot be mounted with the mode rw: snippets could replace %s, which is %s; "
        "mount it with the mode ro or overlay, or keep that elsewhere",
        search.found->path, own->path, own->name);
}

static int check(struct settings *settings, const char *name, const char *path, struct fault *fault)
{
    return check_path(settings, &(struct own_path){name, path, false}, fault);
}

/* The same for a name in a directory. */
static int check_in(struct settings *settings, const char *name, const char *directory,
                    const char *entry, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, entry) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, "out of memory for folders");
    }
    return check(settings, name, path, fault);
}

/* The value of a setting that is a path; NULL: it is none, or not set. */
static const char *path_of(const struct settings *settings, const struct option *option)
{
    const struct setting *setting = option->setting;
    if (setting == NULL || (setting->kind != SETTING_PATH && setting->kind != SETTING_PLACE))
        return NULL;
    const char *path = *(const char *const *)((const char *)settings + setting->offset);
    if (path == NULL)
        return NULL;
    if (path == settings->files_dir && settings->files_dir_said != NULL)
        return settings->files_dir_said;
    /* Presets and "none" are no files. */
    bool is_path = setting->is_written || strchr(path, '/') != NULL ||
                   faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return is_path ? path : NULL;
}

static int check_settings(struct settings *settings, struct fault *fault)
{
    int r = 0;
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; r == 0 && option->name != NULL; option++) {
            struct own_path own = {.name = option->name, .path = path_of(settings, option)};
            if (own.path == NULL)
                continue;
            own.may_be_writable = option->setting->kind == SETTING_PLACE;
            r = check_path(settings, &own, fault);
        }
    }
    for (size_t i = 0; r == 0 && i < settings->environment_file_count; i++)
        r = check(settings, "--env-file", settings->environment_files[i], fault);
    return r;
}

/* A variable with paths of certificates or code, which this program and its helpers read: ld.so(8), openssl-env(7). */
struct path_variable {
    const char *name;
    const char *separators; /* of several paths */
    bool has_names; /* what has no slash is no path */
    bool has_here; /* what is empty is the working directory */
};

static const struct path_variable path_variables[] = {
    {.name = "SSL_CERT_FILE", .separators = ""},
    {.name = "SSL_CERT_DIR", .separators = ":"},
    {.name = "CURL_CA_BUNDLE", .separators = ""},
    {.name = "OPENSSL_CONF", .separators = ""},
    {.name = "OPENSSL_MODULES", .separators = ""},
    {.name = "OPENSSL_ENGINES", .separators = ""},
    {.name = "LD_LIBRARY_PATH", .separators = ":;", .has_here = true},
    {.name = "LD_PRELOAD", .separators = ": ", .has_names = true},
    {.name = "LD_AUDIT", .separators = ":", .has_names = true},
};

static int check_part(struct settings *settings, const struct path_variable *variable,
                      const char *part, size_t length, struct fault *fault)
{
    bool is_here = length == 0 && variable->has_here;
    if ((length == 0 && !is_here) || (variable->has_names && memchr(part, '/', length) == NULL))
        return 0;
    OWNED_MEMORY char *path = is_here ? strdup(".") : strndup(part, length);
    return path == NULL ? fault_set(fault, ENOMEM, "out of memory for folders")
                        : check(settings, variable->name, path, fault);
}

static int check_variables(struct settings *settings, struct fault *fault)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(path_variables); i++) {
        const struct path_variable *variable = &path_variables[i];
        const char *part = getenv(variable->name);
        if (part == NULL || part[0] == '\0' || strcmp(part, "none") == 0)
            continue;
        size_t length = strcspn(part, variable->separators);
        r = check_part(settings, variable, part, length, fault);
        for (; r == 0 && part[length] != '\0'; length = strcspn(part, variable->separators)) {
            part += length + 1;
            r = check_part(settings, variable, part, strcspn(part, variable->separators), fault);
        }
    }
    return r;
}

struct preset_check {
    struct settings *settings;
    struct fault *fault;
};

static int check_preset(void *data, const char *path)
{
    const struct preset_check *own = data;
    return check(own->settings, "a file with hosts of --allow-host", path, own->fault);
}

/* What they say decides where the next start lets snippets connect to. */
static int check_presets(struct settings *settings, struct fault *fault)
{
    struct preset_check own = {settings, fault};
    int r = network_presets_visit(settings->network_presets, check_preset, &own);
    return r == -ENOMEM ? fault_set(fault, ENOMEM, "out of memory for folders") : r;
}

/* The usual one is read by the next start, also if there is none yet. */
static int check_configuration(struct settings *settings, struct fault *fault)
{
    OWNED_MEMORY char *directory = NULL;
    int r = 0;
    if (settings->configuration != NULL)
        r = check(settings, "--config", settings->configuration, fault);
    if (r < 0)
        return r;
    r = configuration_directory(&directory);
    if (r == -ENOENT) /* a user without a home has none */
        return 0;
    if (r < 0)
        return fault_set(fault, -r, "out of memory for folders");
    r = check_in(settings, "the configuration of this server", directory, "config.json", fault);
    return r < 0 ? r
                 : check_in(settings, "the language files of this server", directory, "languages",
                            fault);
}

/* They run in the place of programs that somebody has looked at, also where only other servers keep any. */
static int check_compiled(struct settings *settings, struct fault *fault)
{
    OWNED_MEMORY char *directory = NULL;
    int r = settings_compile_cache(&directory);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return fault_set(fault, -r, "out of memory for folders");
    return check(settings, "the compiled programs of this server", directory, fault);
}

/* In each directory that is in STORE/`kind`, the name. */
static int check_entries(struct settings *settings, const char *store, const char *kind,
                         const char *name, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/%s", store, kind) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, "out of memory for folders");
    }
    OWNED(directory_release) DIR *directory = directory_open(AT_FDCWD, path);
    int r = 0;
    for (struct dirent *entry;
         r == 0 && directory != NULL && (entry = readdir(directory)) != NULL;) {
        char within[2 * NAME_MAX + 2];
        snprintf(within, sizeof(within), "%s/%s", entry->d_name, name);
        r = check_in(settings, STORE, path, within, fault);
    }
    return r;
}

static int check_store(struct settings *settings, struct fault *fault)
{
    static const struct {
        const char *kind, *entry;
    } parts[] = {{"images", "image.json"}, {"images", "rootfs"}, {"layers", "tree"}};
    static const char *const names[] = {"images", "layers", "roots"};
    OWNED_MEMORY char *store = NULL;
    int r = store_path(&store, fault);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(names); i++)
        r = check_in(settings, STORE, store, names[i], fault);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(parts); i++)
        r = check_entries(settings, store, parts[i].kind, parts[i].entry, fault);
    return r;
}

static int check_copies(struct settings *settings, struct fault *fault)
{
    OWNED_MEMORY char *copies = NULL;
    int r = overlay_place_directory(&copies);
    if (r == -ENOENT) /* without a home */
        return 0;
    return r < 0 ? fault_set(fault, -r, "out of memory for folders")
                 : check(settings, "where copies of folders are", copies, fault);
}

/* By the name that it was started with: shells and execvp(3) look for one without a slash in $PATH. */
static int check_started(struct settings *settings, struct fault *fault)
{
    const char *name = program_invocation_name;
    const char *path = getenv("PATH");
    if (name == NULL || strchr(name, '/') != NULL || path == NULL)
        return name == NULL ? 0 : check(settings, "this program", name, fault);
    for (; path[0] != '\0'; path += path[0] == ':') {
        size_t length = strcspn(path, ":");
        OWNED_MEMORY char *found = NULL;
        if (asprintf(&found, "%.*s%s%s", (int)length, path, length > 0 ? "/" : "", name) < 0) {
            found = NULL;
            return fault_set(fault, ENOMEM, "out of memory for folders");
        }
        if (access(found, X_OK) == 0)
            return check(settings, "this program", found, fault);
        path += length;
    }
    return 0;
}

static int check_programs(struct settings *settings, struct fault *fault)
{
    char program[PATH_MAX] = "";
    int r = check_started(settings, fault);
    if (r == 0 && readlink("/proc/self/exe", program, sizeof(program) - 1) > 0)
        r = check(settings, "this program", program, fault);
    for (const struct helper *helper = helpers; r == 0 && helper->name != NULL; helper++) {
        char *path = NULL;
        for (unsigned i = 0; r == 0 && (r = helpers_place(helper, i, &path)) == 0; i++) {
            r = check(settings, "a program of this server", path, fault);
            free(path);
        }
        if (r == -ENOENT) /* no further place */
            r = 0;
    }
    return r;
}

/* The way to a folder must not lead through one: a snippet could have another one mounted by the next start. */
static int check_mounts(struct settings *settings, struct fault *fault)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < settings->mounts.count; i++) {
        const char *path = mount_path(&settings->mounts.list[i]);
        r = check_path(settings, &(struct own_path){"a mounted folder", path, true}, fault);
    }
    return r;
}

int own_paths_check_one(struct settings *settings, const char *name, const char *path,
                        struct fault *fault)
{
    return folders_have(&settings->folders, FOLDER_WRITABLE) ? check(settings, name, path, fault)
                                                             : 0;
}

static int refuse_given(const char *path, const struct folder *folder, struct fault *fault)
{
    return fault_set(fault, EPERM,
                     "%s leads out of %s, which snippets can write to: a link there may "
                     "be one of theirs; give the path of the file itself",
                     visible_name(path).text, folder->path);
}

int own_paths_check_given(const struct settings *settings, const char *path, struct fault *fault)
{
    struct search search = {&settings->folders, true, NULL};
    if (!folders_have(&settings->folders, FOLDER_WRITABLE))
        return 0;
    int r = path_walk(path, find_way_out, &search);
    if (r < 0)
        return fault_set(fault, -r, "%s: %m", visible_name(path).text);
    return r == 0 ? 0 : refuse_given(path, search.found, fault);
}

int own_paths_check_opened(const struct settings *settings, const char *path, int fd,
                           struct fault *fault)
{
    /* No snippet can change the way to the folder, only that from there on. */
    struct search search = {&settings->folders, false, NULL};
    char place[sizeof("/proc/self/fd/") + 10];
    char real[PATH_MAX] = "";
    if (!folders_have(&settings->folders, FOLDER_WRITABLE))
        return 0;
    int r = path_walk(path, find_folder, &search);
    if (r < 0)
        return fault_set(fault, -r, "%s: %m", visible_name(path).text);
    snprintf(place, sizeof(place), "/proc/self/fd/%d", fd);
    if (search.found == NULL)
        return 0;
    bool is_known = readlink(place, real, sizeof(real) - 1) > 0;
    return is_known && folder_of(&settings->folders, real) == search.found
               ? 0
               : refuse_given(path, search.found, fault);
}

int own_paths_check(struct settings *settings, struct fault *fault)
{
    static int (*const checks[])(struct settings *settings, struct fault *fault) = {
        check_settings, check_variables, check_presets,  check_configuration, check_compiled,
        check_store,    check_copies,    check_programs, check_mounts};
    int r = 0;
    if (!folders_have(&settings->folders, FOLDER_WRITABLE))
        return 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(checks); i++)
        r = checks[i](settings, fault);
    return r;
}
