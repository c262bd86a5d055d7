#include "mcp/settings/mounts_text.h"
#include "mcp/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <string.h>

static const char *describe_mode(enum folder_mode mode)
{
    return mode == FOLDER_OVERLAY ? "writes go to a copy" : "read-only";
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
        length += strlen(place);
        if (length > FOLDERS_SHOWN_MAX)
            break;
        r = buffer_format(text, "%s%s (%s)", i > 0 ? ", " : "", place,
                          describe_mode(folders->list[i].mode));
        shown++;
    }
    if (r == 0 && shown < folders->count)
        r = buffer_format(text, "%s%zu folder%s of long names", shown > 0 ? " and " : "",
                          folders->count - shown, folders->count - shown > 1 ? "s" : "");
    return r;
}
