#include "interpreter/files/kept_files.h"

#include "interpreter/files/picture_header.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#define PIECE_SIZE 65536

static void free_call(struct kept_call *call)
{
    fd_close(&call->fd);
    for (size_t i = 0; i < call->count; i++)
        free(call->files[i].path);
    memory_release(&call->files);
    call->count = 0;
}

static void drop_call(struct kept_files *kept, struct kept_call *call)
{
    kept->bytes -= call->bytes;
    if (call->number > kept->newest_dropped)
        kept->newest_dropped = call->number;
    free_call(call);
    *call = kept->calls[--kept->call_count];
}

static struct kept_call *least_recently_used(struct kept_files *kept)
{
    struct kept_call *found = &kept->calls[0];
    for (size_t i = 1; i < kept->call_count; i++) {
        if (kept->calls[i].used < found->used)
            found = &kept->calls[i];
    }
    return found;
}

static struct kept_call *oldest(struct kept_files *kept)
{
    struct kept_call *found = &kept->calls[0];
    for (size_t i = 1; i < kept->call_count; i++) {
        if (kept->calls[i].number < found->number)
            found = &kept->calls[i];
    }
    return found;
}

/* Marks the files that fit, says whether there are any, and returns their total size. */
static uint64_t choose(struct file_to_keep *files, size_t count, bool *ret_any)
{
    uint64_t bytes = 0;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        files[i].is_kept =
            files[i].size <= KEPT_FILE_MAX && files[i].size <= KEPT_BYTES_MAX - bytes;
        bytes += files[i].is_kept ? files[i].size : 0;
        any = any || files[i].is_kept;
    }
    *ret_any = any;
    return bytes;
}

/* Appends the whole file, or nothing. 0 or a negative errno. */
static int copy_file(int to_fd, off_t end, const struct file_to_keep *file)
{
    off_t position = 0;
    while ((uint64_t)position < file->size) {
        ssize_t count =
            sendfile(to_fd, file->fd, &position, (size_t)(file->size - (uint64_t)position));
        if (count > 0 || (count < 0 && errno == EINTR))
            continue;
        int error = count < 0 ? errno : EIO;
        if (ftruncate(to_fd, end) == 0)
            (void)lseek(to_fd, end, SEEK_SET);
        return -error;
    }
    return 0;
}

static void keep_file(struct kept_call *call, struct file_to_keep *file)
{
    char *path = strdup(file->path);
    file->is_kept = path != NULL && copy_file(call->fd, (off_t)call->bytes, file) == 0;
    if (!file->is_kept) {
        free(path);
        return;
    }
    call->files[call->count++] =
        (struct kept_file){.path = path, .offset = call->bytes, .size = file->size};
    call->bytes += file->size;
}

static int copy_files(struct kept_call *call, struct file_to_keep *files, size_t count)
{
    call->files = calloc(count, sizeof(*call->files));
    call->fd = memfd_create("files", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (call->files == NULL || call->fd < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (files[i].is_kept)
            keep_file(call, &files[i]);
    }
    int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    return fcntl(call->fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

/* Whether a call was dropped. */
static bool make_room(struct kept_files *kept, uint64_t bytes)
{
    size_t count = kept->call_count;
    while (kept->call_count > 0 && kept->bytes > KEPT_BYTES_MAX - bytes)
        drop_call(kept, least_recently_used(kept));
    if (kept->call_count == KEPT_CALLS_MAX)
        drop_call(kept, oldest(kept));
    return kept->call_count < count;
}

/* Whether any file is kept. */
static bool add_call(struct kept_files *kept, unsigned owner, uint64_t number,
                     struct file_to_keep *files, size_t count)
{
    struct kept_call call = {.owner = owner, .number = number, .fd = -1, .used = ++kept->uses};
    if (copy_files(&call, files, count) < 0 || call.count == 0) {
        for (size_t i = 0; i < count; i++)
            files[i].is_kept = false;
        free_call(&call);
        return false;
    }
    kept->calls[kept->call_count++] = call;
    kept->bytes += call.bytes;
    return true;
}

void kept_files_add(struct kept_files *kept, unsigned owner, uint64_t number,
                    struct file_to_keep *files, size_t count)
{
    bool any = false;
    uint64_t bytes = choose(files, count, &any);
    if (!any)
        return;
    /* Before copying, so that the bound holds at all times. */
    bool has_dropped = make_room(kept, bytes);
    bool has_added = add_call(kept, owner, number, files, count);
    if ((has_dropped || has_added) && kept->changed != NULL)
        kept->changed(kept->data);
}

bool kept_files_find(struct kept_files *kept, unsigned owner, uint64_t number, const char *path,
                     struct kept_view *ret_view)
{
    for (size_t i = 0; i < kept->call_count; i++) {
        struct kept_call *call = &kept->calls[i];
        bool is_it = call->owner == owner && call->number == number;
        for (size_t k = 0; is_it && k < call->count; k++) {
            if (strcmp(call->files[k].path, path) != 0)
                continue;
            call->used = ++kept->uses;
            *ret_view = (struct kept_view){call, &call->files[k]};
            return true;
        }
    }
    return false;
}

/* The owner's newest call of a number below that; or NULL. */
static struct kept_call *newest_below(struct kept_files *kept, unsigned owner, uint64_t number)
{
    struct kept_call *found = NULL;
    for (size_t i = 0; i < kept->call_count; i++) {
        struct kept_call *call = &kept->calls[i];
        if (call->owner == owner && call->number < number &&
            (found == NULL || call->number > found->number))
            found = call;
    }
    return found;
}

size_t kept_files_list(struct kept_files *kept, unsigned owner, struct kept_view *views,
                       size_t maximum)
{
    size_t count = 0;
    struct kept_call *call = newest_below(kept, owner, UINT64_MAX);
    for (; call != NULL; call = newest_below(kept, owner, call->number)) {
        for (size_t i = 0; i < call->count && count < maximum; i++)
            views[count++] = (struct kept_view){call, &call->files[i]};
    }
    return count;
}

bool kept_files_has_call(const struct kept_files *kept, unsigned owner, uint64_t number)
{
    for (size_t i = 0; i < kept->call_count; i++) {
        if (kept->calls[i].owner == owner && kept->calls[i].number == number)
            return true;
    }
    return false;
}

ssize_t kept_file_read(const struct kept_view *view, uint64_t offset, char *bytes, size_t length)
{
    const struct kept_file *file = view->file;
    uint64_t left = offset < file->size ? file->size - offset : 0;
    size_t wanted = length < left ? length : (size_t)left;
    int r = io_read_at(view->call->fd, bytes, wanted, file->offset + offset);
    return r < 0 ? r : (ssize_t)wanted;
}

/* In pieces; a character cut by the end of a piece is read again with the next one. */
static bool examine_text(const struct kept_view *view)
{
    OWNED_MEMORY char *piece = malloc(PIECE_SIZE);
    if (piece == NULL)
        return false;
    for (uint64_t offset = 0; offset < view->file->size;) {
        ssize_t count = kept_file_read(view, offset, piece, PIECE_SIZE);
        if (count <= 0 || memchr(piece, '\0', (size_t)count) != NULL)
            return false;
        size_t length = (size_t)count;
        if (offset == 0 && picture_type(piece, length) != NULL)
            return false;
        size_t valid = utf8_valid_length(piece, length);
        bool is_last = offset + length == view->file->size;
        if (valid == 0 || (valid < length && is_last))
            return false;
        offset += valid;
    }
    return true;
}

bool kept_file_is_text(const struct kept_view *view)
{
    if (view->file->content == KEPT_UNKNOWN)
        view->file->content = examine_text(view) ? KEPT_TEXT : KEPT_BINARY;
    return view->file->content == KEPT_TEXT;
}

void kept_files_release(struct kept_files *kept)
{
    while (kept->call_count > 0)
        drop_call(kept, &kept->calls[0]);
}
