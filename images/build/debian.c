#include "images/build/debian.h"

#include "images/base/file.h"
#include "images/base/room.h"
#include "images/base/subprocess.h"
#include "images/build/installer_output.h"
#include "images/build/sources.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define REMEDY                                                                                     \
    "; on another system, make the image from the archive of a root file system with: "            \
    "code-sandbox-mcp fetch --from FILE --name NAME"
#define APT_TEXT_MAX (64 << 10)
#define PACKAGE_FILES_MIN 8 /* inodes: its archive, a few files, their directories */

static const char *const plain_language[] = {"LC_ALL=C", NULL};

/* The configuration of the host's apt. */
struct host {
    char *architecture;
    char *list_file;      /* /etc/apt/sources.list */
    char *list_directory; /* /etc/apt/sources.list.d */
    char *origins;
};

static void host_release(struct host *host)
{
    free(host->architecture);
    free(host->list_file);
    free(host->list_directory);
    free(host->origins);
}

static int apt_absent(struct fault *fault)
{
    return fault_set(fault, ENOENT,
                     "cannot fetch Debian packages: this host has no apt-get" REMEDY);
}

/* Asks apt-config and apt-get for it. */
static int host_ask(struct host *host, struct fault *fault)
{
    OWNED(subprocess_release) struct subprocess config = SUBPROCESS_NONE;
    const struct subprocess_spec ask_config = {
        .argv = (const char *const[]){"apt-config", "shell", "ARCHITECTURE", "APT::Architecture",
                                      "FILE", "Dir::Etc::sourcelist/f", "DIRECTORY",
                                      "Dir::Etc::sourceparts/d", NULL},
        .environment = plain_language,
    };
    int r = subprocess_run(&ask_config, NULL, &config, fault);
    if (r < 0)
        return r == -ENOENT ? apt_absent(fault) : r;
    const char *text = buffer_string(&config.out);
    host->architecture = apt_value(text != NULL ? text : "", "ARCHITECTURE");
    host->list_file = apt_value(text != NULL ? text : "", "FILE");
    host->list_directory = apt_value(text != NULL ? text : "", "DIRECTORY");
    if (host->architecture == NULL)
        return fault_set(fault, EPROTO, "apt-config does not report the architecture of this host");

    OWNED(subprocess_release) struct subprocess targets = SUBPROCESS_NONE;
    const struct subprocess_spec ask_targets = {
        .argv =
            (const char *const[]){"apt-get", "indextargets", "--format",
                                  "$(ORIGIN) $(REPO_URI) $(RELEASE)", "Created-By: Packages", NULL},
        .environment = plain_language,
    };
    /* It fails if no list was ever downloaded; then sources are recognised by their names. */
    r = subprocess_run(&ask_targets, NULL, &targets, NULL);
    if (r == -EINTR)
        return fault_set(fault, EINTR, "interrupted");
    text = r == 0 ? buffer_string(&targets.out) : NULL;
    host->origins = strdup(text != NULL ? text : "");
    return host->origins != NULL ? 0 : fault_set(fault, ENOMEM, "no memory for apt's answer");
}

/* Reads one file of sources; an unreadable one counts as empty. */
static int sources_read_file(struct source_list *list, const char *path, bool deb822)
{
    OWNED(buffer_release) struct buffer text = BUFFER(SOURCES_TEXT_MAX);
    if (file_read(path, &text, NULL) < 0)
        return 0;
    const char *all = buffer_string(&text);
    if (all == NULL)
        return 0;
    return deb822 ? sources_parse_deb822(list, all) : sources_parse_lines(list, all);
}

static int is_source_file(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && (strcmp(dot, ".list") == 0 || strcmp(dot, ".sources") == 0);
}

static int sources_read(const struct host *host, struct source_list *list, struct fault *fault)
{
    int r = 0;
    if (host->list_file != NULL)
        r = sources_read_file(list, host->list_file, false);
    struct dirent **entries = NULL;
    int count = host->list_directory != NULL
                    ? scandir(host->list_directory, &entries, is_source_file, alphasort)
                    : 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        int length =
            snprintf(path, sizeof(path), "%s/%s", host->list_directory, entries[i]->d_name);
        if (r == 0 && length < (int)sizeof(path))
            r = sources_read_file(list, path, strcmp(strrchr(path, '.'), ".sources") == 0);
        free(entries[i]);
    }
    free(entries);
    return r < 0 ? fault_set(fault, -r, "cannot read the package sources of this host: %m") : 0;
}

static int scratch_write(const char *scratch, const char *name, const struct buffer *text,
                         struct fault *fault)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    return file_write(path, text->data, text->length, fault);
}

static int directories_make(const char *scratch, struct fault *fault)
{
    static const char *const names[] = {"state/lists/partial", "cache/archives/partial"};
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(names); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", scratch, names[i]);
        r = file_make_directory(path, 0755, fault);
    }
    return r;
}

/* Finds the host's Debian archive and writes sources for the suite from that archive. */
static int sources_prepare(const char *scratch, const struct host *host, const char *suite,
                           struct progress *progress, struct fault *fault)
{
    OWNED(source_list_release) struct source_list list = {0};
    int r = sources_read(host, &list, fault);
    if (r < 0)
        return r;
    struct debian_archive archive = sources_choose(&list, host->origins);
    if (archive.main == NULL)
        return fault_set(fault, ENOENT,
                         "cannot fetch Debian packages: the package sources of this host name no "
                         "archive of Debian" REMEDY);
    if (archive.security == NULL)
        progress_note(progress, "note: this host's package sources name no security archive of "
                                "Debian, so the image has no security updates");
    OWNED(buffer_release) struct buffer text = BUFFER(APT_TEXT_MAX);
    r = sources_write(&archive, suite, host->architecture, &text);
    if (r < 0)
        return fault_set(fault, -r, "cannot compose the package sources: %m");
    return scratch_write(scratch, "image.sources", &text, fault);
}

int debian_status_of(const char *const *left_out, struct buffer *status, struct fault *fault)
{
    int r = 0;
    for (; r == 0 && *left_out != NULL; left_out++)
        r = buffer_format(status,
                          "Package: %s\nStatus: install ok installed\nVersion: 99:0\n"
                          "Architecture: all\nMulti-Arch: foreign\nMaintainer: none\n"
                          "Description: left out of the image\n\n",
                          *left_out);
    return r < 0 ? fault_set(fault, -r, "cannot compose a package status: %m") : 0;
}

/*
 * Passed with -c, the file is read after the host's configuration: its state and sources take
 * precedence; everything else (proxies, date checks, credentials) is the host's.
 */
static int configuration_prepare(const char *scratch, const struct host *host, struct fault *fault)
{
    if (strpbrk(scratch, "\"\\\n") != NULL)
        return fault_set(fault, EINVAL,
                         "apt cannot work in %s: quotes, backslashes and newlines are not allowed "
                         "in its path; set XDG_DATA_HOME to another place",
                         scratch);
    OWNED(buffer_release) struct buffer text = BUFFER(APT_TEXT_MAX);
    int r = buffer_format(&text,
                          "Dir::Etc::sourcelist \"%1$s/image.sources\";\n"
                          "Dir::Etc::sourceparts \"/dev/null\";\n"
                          "Dir::Etc::preferences \"/dev/null\";\n"
                          "Dir::Etc::preferencesparts \"/dev/null\";\n"
                          "Dir::State \"%1$s/state\";\n"
                          "Dir::State::lists \"%1$s/state/lists\";\n"
                          "Dir::State::status \"%1$s/state/status\";\n"
                          "Dir::State::extended_states \"%1$s/state/extended_states\";\n"
                          "Dir::Cache \"%1$s/cache\";\n"
                          "Dir::Cache::archives \"%1$s/cache/archives\";\n"
                          "Dir::Cache::pkgcache \"\";\n"
                          "Dir::Cache::srcpkgcache \"\";\n"
                          "Dir::Log \"%1$s\";\n"
                          "APT::Default-Release \"\";\n"
                          "APT::Install-Recommends \"false\";\n"
                          "APT::Install-Suggests \"false\";\n"
                          "APT::Get::Assume-Yes \"true\";\n"
                          /* As root, apt would switch to a user without access to the store. */
                          "APT::Sandbox::User \"root\";\n"
                          "#clear APT::Architectures;\n"
                          "APT::Architectures { \"%2$s\"; };\n"
                          "APT::Update::Error-Mode \"any\";\n"
                          "#clear APT::Update::Pre-Invoke;\n"
                          "#clear APT::Update::Post-Invoke;\n"
                          "#clear APT::Update::Post-Invoke-Success;\n"
                          "Debug::NoLocking \"true\";\n",
                          scratch, host->architecture);
    if (r < 0)
        return fault_set(fault, -r, "cannot compose apt's configuration: %m");
    return scratch_write(scratch, "apt.conf", &text, fault);
}

/* The arguments of one call of a program of apt, the packages at its end. */
struct apt_call {
    const char *argv[1024];
    size_t count;
};

static void apt_call_add(struct apt_call *call, const char *const *words)
{
    for (; *words != NULL && call->count < ARRAY_LENGTH(call->argv) - 1; words++)
        call->argv[call->count++] = *words;
    call->argv[call->count] = NULL;
}

/* `words` begin with the program. */
static int apt_run(const char *configuration, const char *const *words, const char *const *packages,
                   const struct subprocess_observer *observer, struct subprocess *child,
                   struct fault *fault)
{
    struct apt_call call = {0};
    apt_call_add(&call, (const char *const[]){words[0], "-c", configuration, "-qq", NULL});
    apt_call_add(&call, words + 1);
    apt_call_add(&call, packages);
    const struct subprocess_spec program = {.argv = call.argv, .environment = plain_language};
    int r = subprocess_run(&program, observer, child, fault);
    return r == -ENOENT ? apt_absent(fault) : r;
}

struct download_progress {
    struct progress *progress;
    char archives[PATH_MAX];
    uint64_t total;
};

/* Sums the sizes of the files. Errors count as 0: only the progress bar uses the sum. */
static uint64_t directory_sum(const char *path)
{
    OWNED(directory_release) DIR *directory = directory_open(AT_FDCWD, path);
    uint64_t bytes = 0;
    struct dirent *entry;
    struct stat status;
    int fd = directory != NULL ? dirfd(directory) : -1;
    while (fd >= 0 && (entry = directory_next(directory)) != NULL)
        if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_size;
    return bytes;
}

static void download_tick(void *data)
{
    const struct download_progress *at = data;
    char partial[PATH_MAX + 16];
    snprintf(partial, sizeof(partial), "%s/partial", at->archives);
    progress_amount(at->progress, directory_sum(at->archives) + directory_sum(partial), at->total);
}

/* Notes the downloads to come. */
static int uris_note(const struct debian_request *request, const char *text, struct fault *fault)
{
    if (request->lock == NULL)
        return 0;
    int r = lock_add_uris(request->lock, text, fault);
    return r == 0 && request->locked != NULL ? lock_compare(request->locked, request->lock, fault)
                                             : r;
}

static void requests_release(char ***requests)
{
    lock_requests_free(*requests);
}

/* Whether the store has room for the archives to come and for what is in them. */
static int packages_room_check(const char *configuration, const struct debian_request *request,
                               const char *uris, struct fault *fault)
{
    static const char *const show[] = {"apt-cache", "show", NULL};
    char what[64];
    size_t count;
    uint64_t bytes;
    apt_uris_sum(uris, &count, &bytes);
    if (count == 0)
        return 0;
    OWNED(lock_release) struct lock coming = {0};
    int r = lock_add_uris(&coming, uris, fault);
    if (r < 0)
        return r;
    OWNED(requests_release) char **packages = lock_requests(&coming, LOCK_DEB);
    if (packages == NULL)
        return fault_set(fault, ENOMEM, "no memory for the names of packages");
    OWNED(subprocess_release) struct subprocess shown = SUBPROCESS_NONE;
    r = apt_run(configuration, show, (const char *const *)packages, NULL, &shown, fault);
    if (r < 0)
        return r;
    const char *text = buffer_string(&shown.out);
    const struct room room = {bytes + apt_installed_sum(text != NULL ? text : ""),
                              count * PACKAGE_FILES_MIN};
    snprintf(what, sizeof(what), "%zu packages", count);
    return room_check(request->store, what, &room, fault);
}

static int packages_download(const char *scratch, const char *configuration,
                             const struct debian_request *request, struct progress *progress,
                             struct fault *fault)
{
    static const char *const print[] = {"apt-get", "install", "--print-uris",
                                        "-oAcquire::ForceHash=sha256", NULL};
    static const char *const download[] = {"apt-get", "install", "--download-only", NULL};
    OWNED(subprocess_release) struct subprocess uris = SUBPROCESS_NONE;
    int r = apt_run(configuration, print, request->packages, NULL, &uris, fault);
    const char *text = r == 0 ? buffer_string(&uris.out) : NULL;
    if (r == 0)
        r = uris_note(request, text != NULL ? text : "", fault);
    if (r == 0)
        r = packages_room_check(configuration, request, text != NULL ? text : "", fault);
    if (r < 0)
        return r;
    struct download_progress at = {.progress = progress};
    size_t count;
    apt_uris_sum(text != NULL ? text : "", &count, &at.total);
    snprintf(at.archives, sizeof(at.archives), "%s/cache/archives", scratch);
    char size[32];
    progress_step(progress, "downloading %zu packages, %s", count,
                  progress_size_text(at.total, size));
    const struct subprocess_observer observer = {.tick = download_tick, .data = &at};
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    return apt_run(configuration, download, request->packages, &observer, &child, fault);
}

struct opened {
    int fd;
    off_t size;
};

static int compare_opened(const void *left, const void *right)
{
    const struct opened *a = left, *b = right;
    return (a->size < b->size) - (a->size > b->size);
}

void debian_download_release(struct debian_download *download)
{
    for (size_t i = 0; i < download->count; i++)
        fd_close(&download->fds[i]);
    free(download->fds);
    *download = (struct debian_download){0};
}

/*
 * Opens every downloaded package, the largest first, so that the workers finish at about the same
 * time.
 */
static int packages_open(const char *scratch, struct debian_download *ret_download,
                         struct fault *fault)
{
    char archives[PATH_MAX];
    snprintf(archives, sizeof(archives), "%s/cache/archives", scratch);
    OWNED(file_list_release) struct file_list names;
    file_list_read(archives, ".deb", &names);
    if (names.count <= 0)
        return fault_set(fault, EPROTO, "apt left no package in %s", archives);
    OWNED_MEMORY struct opened *opened = calloc((size_t)names.count, sizeof(*opened));
    OWNED(debian_download_release) struct debian_download download = {0};
    download.fds = calloc((size_t)names.count, sizeof(*download.fds));
    if (opened == NULL || download.fds == NULL)
        return fault_set(fault, ENOMEM, "no memory for the list of packages");
    for (int i = 0; i < names.count; i++) {
        char path[PATH_MAX + NAME_MAX + 2];
        snprintf(path, sizeof(path), "%s/%s", archives, names.entries[i]->d_name);
        struct stat status = {0};
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) < 0)
            return fault_set(fault, errno, "cannot open the package %s: %m", path);
        download.fds[download.count++] = fd;
        opened[i] = (struct opened){fd, status.st_size};
    }
    qsort(opened, download.count, sizeof(*opened), compare_opened);
    for (size_t i = 0; i < download.count; i++)
        download.fds[i] = opened[i].fd;
    *ret_download = download;
    download = (struct debian_download){0};
    return 0;
}

/* apt's message, and the remedy. */
static int update_fault(const struct fault *cause, int error, const char *suite,
                        struct fault *fault)
{
    if (strstr(cause->text, "NO_PUBKEY") != NULL)
        return fault_set(fault, error,
                         "%s\nthe keyring of this host does not know Debian %s: install a newer "
                         "debian-archive-keyring",
                         cause->text, suite);
    if (strstr(cause->text, "resolving '") != NULL || strstr(cause->text, "Could not connect") ||
        strstr(cause->text, "Unable to connect"))
        return fault_set(fault, error,
                         "%s\nthe mirror that apt uses on this host cannot be reached: is there a "
                         "network, or a proxy for apt to use (Acquire::http::Proxy)?",
                         cause->text);
    return fault_set(fault, error, "%s", cause->text);
}

int debian_download(const char *scratch, const struct debian_request *request,
                    struct progress *progress, struct debian_download *ret_download,
                    struct fault *fault)
{
    progress_step(progress, "resolving packages of Debian %s", request->suite);
    OWNED(host_release) struct host host = {0};
    const struct room lists = {ROOM_LISTS_BYTES, ROOM_FILES};
    int r = host_ask(&host, fault);
    if (r == 0)
        r = room_check(request->store, "the lists of Debian's packages", &lists, fault);
    if (r == 0)
        r = directories_make(scratch, fault);
    if (r == 0)
        r = sources_prepare(scratch, &host, request->suite, progress, fault);
    if (r == 0)
        r = scratch_write(scratch, "state/status", request->status, fault);
    if (r == 0)
        r = configuration_prepare(scratch, &host, fault);
    if (r < 0)
        return r;
    static const char *const update[] = {"apt-get", "update", NULL};
    static const char *const none[] = {NULL};
    char configuration[PATH_MAX];
    snprintf(configuration, sizeof(configuration), "%s/apt.conf", scratch);
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    struct fault cause = {0};
    r = apt_run(configuration, update, none, NULL, &child, &cause);
    if (r < 0)
        return update_fault(&cause, -r, request->suite, fault);
    if (r == 0)
        r = packages_download(scratch, configuration, request, progress, fault);
    return r == 0 ? packages_open(scratch, ret_download, fault) : r;
}
