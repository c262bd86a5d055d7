#include "interpreter/files/plain_name.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/folders/protected_names.h"

#include <string.h>
#include <strings.h>

void plain_name_make(char *name)
{
    size_t length = strlen(name);
    size_t written = 0;
    for (size_t at = 0, step = 0; at < length; at += step) {
        bool valid = false;
        step = utf8_step(name + at, length - at, &valid);
        if (valid && utf8_is_visible(name + at, step)) {
            memmove(name + written, name + at, step);
            written += step;
        } else {
            name[written++] = '_';
        }
    }
    name[written] = '\0';
    if (written > 0 && (strchr("-.~ ", name[0]) != NULL || strcasecmp(name, "HEAD") == 0 ||
                        protected_names_have(name)))
        name[0] = '_';
    if (written > 0 && name[written - 1] == ' ')
        name[written - 1] = '_';
}

int plain_name_append(struct buffer *text, const char *name)
{
    OWNED(buffer_release) struct buffer visible = BUFFER(4 * strlen(name) + 1);
    int r = visible_append(&visible, name, strlen(name));
    if (r < 0 || visible.length <= NOTES_NAME_MAX)
        return r < 0 ? r : buffer_append(text, visible.data, visible.length);
    r = buffer_append(text, visible.data, utf8_valid_length(visible.data, NOTES_NAME_MAX));
    return r < 0 ? r : buffer_append_text(text, "...");
}

void plain_name_write_member(struct json_writer *writer, const char *key, const char *name)
{
    OWNED(buffer_release) struct buffer text = BUFFER(4 * strlen(name) + 1);
    json_key(writer, key);
    if (visible_append(&text, name, strlen(name)) == 0)
        json_string(writer, text.data, text.length);
    else
        json_null(writer);
}
