#include "interpreter/changes/patch.h"

#include "interpreter/changes/budget.h"
#include "interpreter/changes/git_name.h"
#include "sandbox/base/owned.h"

#include <git2.h>
#include <stdio.h>
#include <string.h>

#define ID_SIZE (GIT_OID_HEXSZ + 1)
_Static_assert(sizeof("100644 ") - 1 + ID_SIZE <= CHANGES_VERSION_SIZE, "a version has room");

/* The part of a patch about one file. */
struct patch_part {
    const char *path;
    const struct file_version *old, *new; /* not both absent */
    git_patch *patch; /* owned; NULL: the contents are the same */
};

static void part_release(struct patch_part *part)
{
    git_patch_free(part->patch);
    part->patch = NULL;
}

static size_t count_lines(const struct file_version *version)
{
    size_t lines = 0;
    const char *at = version->bytes;
    for (size_t left = version->size; left > 0; lines++) {
        const char *end = memchr(at, '\n', left);
        if (end == NULL)
            break;
        left -= (size_t)(end + 1 - at);
        at = end + 1;
    }
    return lines;
}

/* libgit2 takes NULL for a file that is not there. */
static const void *bytes_of(const struct file_version *version)
{
    if (version->mode == MODE_NONE)
        return NULL;
    return version->size > 0 ? version->bytes : "";
}

static int compare(struct patch_part *part)
{
    if (part->old->mode != MODE_NONE && version_same_content(part->old, part->new))
        return 0;
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    options.flags |= GIT_DIFF_SHOW_BINARY;
    if (part->old->mode == MODE_LINK || part->new->mode == MODE_LINK)
        options.flags |= GIT_DIFF_FORCE_TEXT;
    else if (count_lines(part->old) > CHANGES_LINES_MAX ||
             count_lines(part->new) > CHANGES_LINES_MAX)
        options.flags |= GIT_DIFF_FORCE_BINARY;
    /* The names are ours to write; libgit2 needs some. */
    return git_patch_from_buffers(&part->patch, bytes_of(part->old), part->old->size, "file",
                                  bytes_of(part->new), part->new->size, "file", &options) < 0
               ? -ENOMEM
               : 0;
}

static bool is_binary(const struct patch_part *part)
{
    return part->patch != NULL &&
           (git_patch_get_delta(part->patch)->flags & GIT_DIFF_FLAG_BINARY) != 0;
}

static int append_modes(const struct patch_part *part, struct buffer *text)
{
    if (part->old->mode == MODE_NONE)
        return buffer_format(text, "new file mode %06o\n", part->new->mode);
    if (part->new->mode == MODE_NONE)
        return buffer_format(text, "deleted file mode %06o\n", part->old->mode);
    if (part->old->mode == part->new->mode)
        return 0;
    return buffer_format(text, "old mode %06o\nnew mode %06o\n", part->old->mode, part->new->mode);
}

static int append_ids(const struct patch_part *part, struct buffer *text)
{
    char old[ID_SIZE], new[ID_SIZE];
    const git_diff_delta *delta = git_patch_get_delta(part->patch);
    git_oid_tostr(old, sizeof(old), &delta->old_file.id);
    git_oid_tostr(new, sizeof(new), &delta->new_file.id);
    int r = buffer_format(text, "index %s..%s", old, new);
    if (r == 0 && part->old->mode == part->new->mode)
        r = buffer_format(text, " %06o", part->new->mode);
    return r < 0 ? r : buffer_append(text, "\n", 1);
}

/* A tab keeps the end of a name with spaces apart from what older programs put there. */
static int append_side(const char *sign, const char *prefix, const struct file_version *version,
                       const char *path, struct buffer *text)
{
    int r = buffer_append_text(text, sign);
    if (r < 0)
        return r;
    if (version->mode == MODE_NONE)
        return buffer_append_text(text, "/dev/null\n");
    r = git_name_quote(text, prefix, path);
    return r < 0 ? r : buffer_append_text(text, strchr(path, ' ') != NULL ? "\t\n" : "\n");
}

static int append_header(const struct patch_part *part, struct buffer *text)
{
    int r = buffer_append_text(text, "diff --git ");
    if (r == 0)
        r = git_name_quote(text, "a/", part->path);
    if (r == 0)
        r = buffer_append(text, " ", 1);
    if (r == 0)
        r = git_name_quote(text, "b/", part->path);
    if (r == 0)
        r = buffer_append(text, "\n", 1);
    if (r == 0)
        r = append_modes(part, text);
    return r < 0 || part->patch == NULL ? r : append_ids(part, text);
}

/* A piece of the patch as libgit2 makes it; its own header is not used. Other than 0 ends it. */
static int append_piece(const git_diff_delta *delta, const git_diff_hunk *hunk,
                        const git_diff_line *line, void *data)
{
    (void)delta;
    (void)hunk;
    struct buffer *text = data;
    if (line->origin == GIT_DIFF_LINE_FILE_HDR)
        return 0;
    bool has_sign = line->origin == GIT_DIFF_LINE_CONTEXT ||
                    line->origin == GIT_DIFF_LINE_ADDITION ||
                    line->origin == GIT_DIFF_LINE_DELETION;
    int r = has_sign ? buffer_append(text, &line->origin, 1) : 0;
    return r < 0 ? r : buffer_append(text, line->content, line->content_len);
}

/* 0; -ENOBUFS: it does not fit; -ENOMEM. */
static int append_part(struct patch_part *part, struct buffer *text)
{
    int r = compare(part);
    if (r == 0)
        r = append_header(part, text);
    if (r < 0 || part->patch == NULL)
        return r;
    bool has_hunks = git_patch_num_hunks(part->patch) > 0;
    if (has_hunks && !is_binary(part)) {
        r = append_side("--- ", "a/", part->old, part->path, text);
        if (r == 0)
            r = append_side("+++ ", "b/", part->new, part->path, text);
    }
    if (r == 0)
        r = git_patch_print(part->patch, append_piece, text);
    return r == 0 || r == -ENOBUFS ? r : -ENOMEM;
}

static int append_and_count(struct change *change, const struct file_version *old,
                            const struct file_version *new, struct buffer *text)
{
    OWNED(part_release) struct patch_part part = {.path = change->path, .old = old, .new = new};
    size_t added = 0, removed = 0;
    int r = append_part(&part, text);
    if (r < 0 || part.patch == NULL)
        return r;
    change->is_binary |= is_binary(&part);
    if (!is_binary(&part) && git_patch_line_stats(NULL, &added, &removed, part.patch) == 0) {
        change->added += added;
        change->removed += removed;
    }
    return 0;
}

/* Not what the patch calls for: a change of the mode alone has no ids in it. */
static void name_version(struct change *change)
{
    git_oid id;
    const struct file_version *new = &change->new;
    if (new->mode != MODE_NONE && git_odb_hash(&id, bytes_of(new), new->size, GIT_OBJECT_BLOB) == 0)
        snprintf(change->version, sizeof(change->version), "%06o %s", new->mode,
                 git_oid_tostr_s(&id));
}

/* In git, a file becomes a link by being deleted and added. */
static int append_change(struct change *change, struct buffer *text)
{
    const struct file_version absent = VERSION_ABSENT;
    bool is_other_kind = change->old.mode != MODE_NONE && change->new.mode != MODE_NONE &&
                         (change->old.mode == MODE_LINK) != (change->new.mode == MODE_LINK);
    if (!is_other_kind)
        return append_and_count(change, &change->old, &change->new, text);
    int r = append_and_count(change, &change->old, &absent, text);
    return r < 0 ? r : append_and_count(change, &absent, &change->new, text);
}

/* A failed init is not an error of libgit2's own threads or files: it uses neither here. */
static int start_libgit2(struct fault *fault)
{
    if (git_libgit2_init() >= 0)
        return 0;
    const git_error *error = git_error_last();
    return fault_set(fault, EIO, "libgit2 cannot be started: %s",
                     error != NULL ? error->message : "it does not say why");
}

static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && path[length] == '/';
}

/*
 * A file cannot take the place of a directory that keeps one of its files, nor a directory that of a
 * file. What goes comes directly before what takes its place, so the last one tells enough.
 */
static bool is_blocked(const struct change *change, const char *staying)
{
    return staying != NULL && change->old.mode == MODE_NONE &&
           (is_below(change->path, staying) || is_below(staying, change->path));
}

static enum left_out_reason reason_of(int error)
{
    return error == -ETIME     ? LEFT_TIME
           : error == -ENOBUFS ? LEFT_PATCH_SIZE
           : error == -EEXIST  ? LEFT_IN_THE_WAY
                               : LEFT_MEMORY;
}

int patch_write(struct change_list *changes, struct buffer *text, struct fault *fault)
{
    if (changes->count == 0)
        return 0;
    int r = start_libgit2(fault);
    if (r < 0)
        return r;
    const struct budget budget = budget_begin();
    const char *staying = NULL;
    for (size_t i = 0; i < changes->count; i++) {
        struct change *change = &changes->changes[i];
        size_t before = text->length;
        r = is_blocked(change, staying) ? -EEXIST
            : !budget_is_spent(&budget) ? append_change(change, text)
                                        : -ETIME;
        if (r == 0) {
            name_version(change);
            continue;
        }
        text->length = before;
        change->is_left_out = true;
        change_list_leave_out(changes, change->path, reason_of(r), 0);
        staying = change->new.mode == MODE_NONE ? change->path : staying;
    }
    git_libgit2_shutdown();
    return 0;
}
