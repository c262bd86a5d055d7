#include "images/build/contents.h"

#include "images/base/digest.h"
#include "images/base/file.h"
#include "images/base/interrupt.h"
#include "images/store/layer_store.h"
#include "images/unpack/member.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define THREADS_MAX 4
#define READ_SIZE (256 << 10)
#define OPAQUE "user.overlay.opaque"

void contents_release(struct contents *contents)
{
    for (size_t i = 0; i < contents->count; i++) {
        free(contents->entries[i].path);
        free(contents->entries[i].value);
    }
    free(contents->entries);
    *contents = (struct contents){0};
}

/* Appends an empty entry. NULL: no memory. */
static struct contents_entry *entry_new(struct contents *contents)
{
    if (contents->count == contents->capacity) {
        size_t capacity = contents->capacity > 0 ? 2 * contents->capacity : 1024;
        struct contents_entry *grown =
            reallocarray(contents->entries, capacity, sizeof(*contents->entries));
        if (grown == NULL)
            return NULL;
        contents->entries = grown;
        contents->capacity = capacity;
    }
    struct contents_entry *entry = &contents->entries[contents->count++];
    *entry = (struct contents_entry){0};
    return entry;
}

/*
 * Encodes text with %XX and prefixes it with `directory` and a slash, unless that is "". Owned;
 * NULL: no memory.
 */
static char *text_encode(const char *directory, const char *text)
{
    size_t above = strlen(directory);
    char *encoded = malloc(above + 1 + 3 * strlen(text) + 1);
    if (encoded == NULL)
        return NULL;
    char *at = encoded;
    if (above > 0) {
        memcpy(at, directory, above);
        at += above;
        *at++ = '/';
    }
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte > ' ' && byte < 127 && byte != '%')
            *at++ = (char)byte;
        else
            at += sprintf(at, "%%%02X", byte);
    }
    *at = '\0';
    return encoded;
}

/* Decodes the result of text_encode(). Owned; NULL: no memory. */
static char *text_decode(const char *encoded)
{
    char *text = malloc(strlen(encoded) + 1);
    char *at = text;
    while (text != NULL && *encoded != '\0') {
        unsigned byte;
        if (*encoded == '%' && sscanf(encoded + 1, "%2x", &byte) == 1) {
            *at++ = (char)byte;
            encoded += 3;
        } else {
            *at++ = *encoded++;
        }
    }
    if (text != NULL)
        *at = '\0';
    return text;
}

static char type_letter(const struct stat *status)
{
    switch (status->st_mode & S_IFMT) {
    case S_IFREG:
        return 'f';
    case S_IFDIR:
        return 'd';
    case S_IFLNK:
        return 'l';
    default:
        return S_ISCHR(status->st_mode) && status->st_rdev == makedev(0, 0) ? 'w' : '?';
    }
}

static char *link_value(int directory_fd, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(directory_fd, name, target, sizeof(target) - 1);
    if (length < 0)
        return NULL;
    target[length] = '\0';
    return text_encode("", target);
}

static int directory_take(struct contents *contents, int parent_fd, const char *name,
                          const char *path);

/* Adds an entry and everything below it. Files are hashed later. */
static int entry_take(struct contents *contents, int directory_fd, const char *name,
                      const char *directory)
{
    struct stat status;
    if (fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    struct contents_entry *entry = entry_new(contents);
    if (entry == NULL)
        return -ENOMEM;
    entry->type = type_letter(&status);
    entry->mode = status.st_mode & 07777;
    entry->path = text_encode(directory, name);
    if (entry->type == 'l')
        entry->value = link_value(directory_fd, name);
    else if (entry->type != 'f')
        entry->value = strdup("-");
    if (entry->path == NULL || (entry->type != 'f' && entry->value == NULL))
        return -ENOMEM;
    if (entry->type == 'f') {
        entry->size = (uint64_t)status.st_size;
        entry->mtime = status.st_mtim.tv_sec;
        entry->inode = status.st_nlink > 1 ? status.st_ino : 0;
    }
    contents->text_bytes += strlen(entry->path) + (entry->value != NULL ? strlen(entry->value) : 0);
    if (contents->text_bytes > CONTENTS_MAX)
        return -EFBIG;
    return entry->type == 'd' ? directory_take(contents, directory_fd, name, entry->path) : 0;
}

static int directory_take(struct contents *contents, int parent_fd, const char *name,
                          const char *path)
{
    OWNED(directory_release) DIR *directory = directory_open_itself(parent_fd, name);
    int fd = directory != NULL ? dirfd(directory) : -1;
    if (fd < 0)
        return -errno;
    /* The directory's own entry is the last so far; the top has none. */
    if (contents->count > 0 && fgetxattr(fd, OPAQUE, NULL, 0) > 0) {
        char **value = &contents->entries[contents->count - 1].value;
        free(*value);
        *value = strdup("opaque");
        if (*value == NULL)
            return -ENOMEM;
    }
    struct dirent *entry;
    int r = 0;
    while (r == 0 && (entry = directory_next(directory)) != NULL)
        r = entry_take(contents, fd, entry->d_name, path);
    return r;
}

/* Shared by the threads. */
struct hashing {
    int tree_fd;
    struct contents *contents;
    atomic_size_t next;
    atomic_int error;
};

static int file_hash(int fd, char *bytes, struct digest *ret_digest)
{
    static const struct digest like = {"sha256:"};
    OWNED(digest_release) struct digest_stream *stream = NULL;
    int r = digest_open(&like, &stream);
    while (r == 0) {
        if (interrupt_signal() != 0)
            return -EINTR;
        ssize_t got = read(fd, bytes, READ_SIZE);
        if (got == 0)
            return digest_finish(stream, ret_digest);
        r = got < 0 ? -errno : digest_update(stream, bytes, (size_t)got);
    }
    return r;
}

static int entry_hash(const struct hashing *hashing, struct contents_entry *entry, char *bytes)
{
    struct digest digest;
    OWNED_MEMORY char *path = text_decode(entry->path);
    if (path == NULL)
        return -ENOMEM;
    OWNED_FD int fd =
        open_resolved(hashing->tree_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0 && fd != -EACCES)
        return fd;
    if (fd < 0) { /* a layer's files are readable when it is made */
        entry->value = strdup("-");
        return entry->value != NULL ? 0 : -ENOMEM;
    }
    int r = file_hash(fd, bytes, &digest);
    if (r == 0)
        entry->value = strdup(strchr(digest.text, ':') + 1);
    return r == 0 && entry->value == NULL ? -ENOMEM : r;
}

static void *hash_entries(void *data)
{
    struct hashing *hashing = data;
    OWNED_MEMORY char *bytes = malloc(READ_SIZE);
    int r = bytes != NULL ? 0 : -ENOMEM;
    while (r == 0 && atomic_load(&hashing->error) == 0) {
        size_t number = atomic_fetch_add(&hashing->next, 1);
        if (number >= hashing->contents->count)
            return NULL;
        struct contents_entry *entry = &hashing->contents->entries[number];
        if (entry->value == NULL)
            r = entry_hash(hashing, entry, bytes);
    }
    if (r < 0)
        atomic_store(&hashing->error, -r);
    return NULL;
}

/* The names of files that have several, those of one file beside each other. */
struct file_names {
    struct contents_entry **list; /* owned; borrows the entries */
    size_t count;
};

static int compare_inodes(const void *left, const void *right)
{
    const struct contents_entry *a = *(struct contents_entry *const *)left;
    const struct contents_entry *b = *(struct contents_entry *const *)right;
    return (a->inode > b->inode) - (a->inode < b->inode);
}

/* Whether the name before it is one of the same file. */
static bool is_known(const struct file_names *names, size_t at)
{
    return at > 0 && names->list[at]->inode == names->list[at - 1]->inode;
}

/* Each file is hashed once, by its first name: a tree of a few bytes may name a large one very often. */
static int names_find(const struct contents *contents, struct file_names *names)
{
    names->list = calloc(contents->count + 1, sizeof(struct contents_entry *));
    if (names->list == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < contents->count; i++)
        if (contents->entries[i].inode != 0)
            names->list[names->count++] = &contents->entries[i];
    qsort(names->list, names->count, sizeof(struct contents_entry *), compare_inodes);
    int r = 0;
    for (size_t i = 0; r == 0 && i < names->count; i++)
        if (is_known(names, i))
            r = (names->list[i]->value = strdup("-")) == NULL ? -ENOMEM : 0;
    return r;
}

static int names_complete(const struct file_names *names)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < names->count; i++) {
        if (!is_known(names, i))
            continue;
        free(names->list[i]->value);
        names->list[i]->value = strdup(names->list[i - 1]->value);
        r = names->list[i]->value == NULL ? -ENOMEM : 0;
    }
    return r;
}

/* The calling thread takes part, and is the only one that receives signals. */
static int contents_hash(int tree_fd, struct contents *contents)
{
    struct hashing hashing = {.tree_fd = tree_fd, .contents = contents};
    pthread_t threads[THREADS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    long wanted = (processors < THREADS_MAX ? processors : THREADS_MAX) - 1;
    long started = 0;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    while (started < wanted && pthread_create(&threads[started], NULL, hash_entries, &hashing) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    hash_entries(&hashing);
    for (long i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return -atomic_load(&hashing.error);
}

static int compare_entries(const void *left, const void *right)
{
    const struct contents_entry *a = left, *b = right;
    return strcmp(a->path, b->path);
}

int contents_take(int tree_fd, struct contents *ret_contents, struct fault *fault)
{
    OWNED(contents_release) struct contents contents = {0};
    struct file_names names = {0};
    int r = directory_take(&contents, tree_fd, ".", "");
    if (r == 0)
        r = names_find(&contents, &names);
    if (r == 0)
        r = contents_hash(tree_fd, &contents);
    if (r == 0)
        r = names_complete(&names);
    free(names.list);
    if (r == -EINTR)
        return interrupt_fault(fault);
    if (r == -EFBIG)
        return fault_set(fault, EFBIG,
                         "the paths of a layer's files have more than %d MiB together",
                         CONTENTS_MAX >> 20);
    if (r < 0)
        return fault_set(fault, -r, "cannot read the files of a layer: %m");
    if (contents.count > 0)
        qsort(contents.entries, contents.count, sizeof(*contents.entries), compare_entries);
    *ret_contents = contents;
    contents = (struct contents){0};
    return 0;
}

/* The path of the list, for functions that need a path. */
static void list_path(int layer_fd, char path[64])
{
    snprintf(path, 64, "/proc/self/fd/%d/" CONTENTS_FILE, layer_fd);
}

static int list_compose(const struct contents *contents, struct buffer *text)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < contents->count; i++) {
        const struct contents_entry *entry = &contents->entries[i];
        r = buffer_format(text, "%c %o %" PRIu64 " %" PRId64 " %s %s\n", entry->type, entry->mode,
                          entry->size, entry->mtime, entry->value, entry->path);
    }
    return r;
}

int contents_write(int layer_fd, struct fault *fault)
{
    OWNED(contents_release) struct contents contents = {0};
    OWNED_FD int tree_fd = openat(layer_fd, LAYER_TREE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree_fd < 0)
        return fault_set(fault, errno, "cannot open the tree of a layer: %m");
    int r = contents_take(tree_fd, &contents, fault);
    if (r < 0)
        return r;
    char path[64];
    list_path(layer_fd, path);
    OWNED(buffer_release) struct buffer text = BUFFER(CONTENTS_MAX);
    r = list_compose(&contents, &text);
    return r < 0 ? fault_set(fault, -r, "cannot compose the list of files of a layer: %m")
                 : file_write(path, text.data, text.length, fault);
}

static int line_parse(const char *line, struct contents_entry *entry)
{
    int end = 0;
    int fields = sscanf(line, "%c %o %" SCNu64 " %" SCNd64 " %ms %ms%n", &entry->type, &entry->mode,
                        &entry->size, &entry->mtime, &entry->value, &entry->path, &end);
    return fields == 6 && line[end] == '\0' && strchr("fdlw", entry->type) != NULL ? 0 : -EINVAL;
}

int contents_parse(char *text, struct contents *ret_contents, struct fault *fault)
{
    OWNED(contents_release) struct contents contents = {0};
    char *state;
    for (char *line = strtok_r(text, "\n", &state); line != NULL;
         line = strtok_r(NULL, "\n", &state)) {
        struct contents_entry *entry = entry_new(&contents);
        if (entry == NULL)
            return fault_set(fault, ENOMEM, "no memory for the list of files of a layer");
        if (line_parse(line, entry) < 0 ||
            (contents.count > 1 && strcmp(entry[-1].path, entry->path) >= 0))
            return fault_set(fault, EINVAL, "the list of files of a layer is damaged");
    }
    *ret_contents = contents;
    contents = (struct contents){0};
    return 0;
}

int contents_read(int layer_fd, struct contents *ret_contents, struct fault *fault)
{
    char path[64];
    list_path(layer_fd, path);
    OWNED(buffer_release) struct buffer text = BUFFER(CONTENTS_MAX);
    int r = file_read(path, &text, fault);
    if (r < 0)
        return r;
    if (buffer_string(&text) == NULL)
        return fault_set(fault, ENOMEM, "no memory for the list of files of a layer");
    return contents_parse(text.data, ret_contents, fault);
}

/* The differences in words; "": none. */
static const char *entries_compare(const struct contents_entry *made,
                                   const struct contents_entry *found, char how[64])
{
    const struct {
        bool differs;
        const char *word;
    } facts[] = {
        {made->type != found->type, "type"},
        {made->type == found->type && strcmp(made->value, found->value) != 0,
         made->type == 'l' ? "target" : "content"},
        {made->mode != found->mode, "mode"},
        {made->size != found->size, "size"},
        {made->mtime != found->mtime, "time"},
    };
    size_t used = 0;
    how[0] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(facts); i++)
        if (facts[i].differs)
            used += (size_t)snprintf(how + used, 64 - used, "%s%s", used > 0 ? ", " : "",
                                     facts[i].word);
    return how;
}

size_t contents_compare(const struct contents *made, const struct contents *found,
                        void (*tell)(void *data, const struct difference *difference), void *data)
{
    size_t i = 0, j = 0, count = 0;
    while (i < made->count || j < found->count) {
        int order = i == made->count    ? 1
                    : j == found->count ? -1
                                        : compare_entries(&made->entries[i], &found->entries[j]);
        char how[64] = "";
        struct difference difference = {"", "changed", how};
        if (order < 0)
            difference = (struct difference){made->entries[i++].path, "missing", ""};
        else if (order > 0)
            difference = (struct difference){found->entries[j++].path, "added", ""};
        else if (entries_compare(&made->entries[i], &found->entries[j++], how)[0] != '\0')
            difference.path = made->entries[i++].path;
        else
            i++;
        if (difference.path[0] == '\0')
            continue;
        count++;
        tell(data, &difference);
    }
    return count;
}
