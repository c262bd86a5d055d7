#include "interpreter/result/left_text.h"

#include "interpreter/files/plain_name.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <stdio.h>

#define STRING(number) #number
#define TEXT_OF(number) STRING(number)

/* What stands before the names. */
static const char *const reasons[LEFT_REASONS] = {
    [LEFT_ELSEWHERE] = "Not returned: files outside the current directory, /work: ",
    [LEFT_UNREADABLE] = "Not returned: their permissions forbid reading: ",
    [LEFT_TOO_DEEP] = "Not returned: deeper than " TEXT_OF(
        RUN_FILE_DEPTH_MAX) " directories, or with too long a path: ",
    [LEFT_UNLISTED] = "Not listed: the files of ",
};

static const char *const places[LEFT_PLACES] = {
    [LEFT_IN_WORK] = "", [LEFT_IN_TEMPORARY] = "/tmp/", [LEFT_IN_HOME] = "~/"};

static int append_one(struct buffer *text, const struct run_left *left)
{
    int r = buffer_append_text(text, places[left->place]);
    if (r == 0)
        r = plain_name_append(text, left->path);
    if (r < 0)
        return r;
    return left->is_directory
               ? buffer_append(text, "/", 1)
               : buffer_format(text, " (%s)", quantity_size_short_text(left->size).text);
}

static int append_reason(struct buffer *text, const struct run_left_out *left_out,
                         enum left_reason reason)
{
    int r = buffer_append_text(text, text->length > 0 ? "\n" : "");
    if (r == 0)
        r = buffer_append_text(text, reasons[reason]);
    for (size_t i = 0; r == 0 && i < left_out->count[reason]; i++) {
        r = buffer_append_text(text, i > 0 ? "; " : "");
        if (r == 0)
            r = append_one(text, &left_out->list[reason][i]);
    }
    if (r < 0 || left_out->more[reason] == 0)
        return r;
    return buffer_format(text, "%s%zu more", left_out->count[reason] > 0 ? "; and " : "",
                         left_out->more[reason]);
}

int left_text_note(const struct run_left_out *left_out, struct buffer *text)
{
    int r = 0;
    for (size_t reason = 0; r == 0 && reason < LEFT_REASONS; reason++) {
        if (left_out->count[reason] + left_out->more[reason] > 0)
            r = append_reason(text, left_out, (enum left_reason)reason);
    }
    return r;
}
