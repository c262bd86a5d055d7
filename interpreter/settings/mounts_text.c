#include "interpreter/settings/mounts_text.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <string.h>

static const char *describe_mode(enum folder_mode mode)
{
    static const char *const texts[FOLDER_MODE_COUNT] = {
        [FOLDER_READ_ONLY] = "read-only",
        [FOLDER_OVERLAY] = "writes go to a copy and come back as a patch",
        [FOLDER_WRITABLE] = "writes change the user's files",
    };
    return texts[mode];
}

/* Every request of a model carries the description: names that do not fit are left out and counted. */
int mounts_describe(const struct folders *folders, struct buffer *text)
{
    if (folders->count == 0)
        return buffer_append_text(text, "no access to this computer's files");
    int r = buffer_append_text(text, "of this computer's files, it sees only ");
    size_t shown = 0;
    size_t length = 0;
    for (size_t i = 0; r == 0 && i < folders->count; i++) {
        OWNED_MEMORY char *place = strdup(folders->list[i].place);
        if (place == NULL)
            return -ENOMEM;
        utf8_make_plain(place, false);
        const char *mode = describe_mode(folders->list[i].mode);
        length += strlen(place) + strlen(mode) + strlen(", ()");
        if (length > FOLDERS_SHOWN_MAX)
            break;
        r = buffer_format(text, "%s%s (%s)", i > 0 ? ", " : "", place, mode);
        shown++;
    }
    if (r == 0 && shown < folders->count)
        r = buffer_format(text, "%s%zu %sfolder%s", shown > 0 ? " and " : "",
                          folders->count - shown, shown > 0 ? "more " : "",
                          folders->count - shown > 1 ? "s" : "");
    return r;
}

static int append_plain(struct buffer *text, const char *path)
{
    OWNED(buffer_release) struct buffer visible = BUFFER(4 * strlen(path) + 1);
    int r = visible_append(&visible, path, strlen(path));
    if (r < 0 || visible.length <= NOTES_NAME_MAX)
        return r < 0 ? r : buffer_append(text, visible.data, visible.length);
    /* The end says most: ".git/hooks/pre-commit". */
    size_t start = visible.length - NOTES_NAME_MAX;
    while (start < visible.length && (visible.data[start] & 0xc0) == 0x80)
        start++;
    r = buffer_append_text(text, "...");
    return r < 0 ? r : buffer_append(text, visible.data + start, visible.length - start);
}

int mounts_warn(const struct folder_changes *changes, const char *run, struct buffer *text)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < changes->count; i++) {
        r = i > 0 ? buffer_append_text(text, ", ")
                  : buffer_format(
                        text,
                        "WARNING: %s%s created, moved or replaced files that other programs "
                        "trust or run: ",
                        run, changes->is_shared ? ", or one beside it," : "");
        if (r == 0)
            r = append_plain(text, changes->list[i]);
    }
    if (r == 0 && changes->more > 0)
        r = buffer_format(text, " and %zu more", changes->more);
    if (r == 0 && changes->count > 0)
        r = buffer_append_text(text, ". Look at them before you use the folder.");
    if (r == 0 && changes->is_unknown)
        r = buffer_format(text,
                          "%sWARNING: a writable folder could not be searched after %s for "
                          "files that other programs trust or run.",
                          changes->count > 0 ? "\n" : "", run);
    return r;
}
