#include "cli/rlimit_notes.h"

#include "interpreter/base/log.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/rlimits.h"

#include <inttypes.h>
#include <string.h>

#define NOTES_MAX (16 * KIBIBYTE)

static int write_value(const struct rlimit_row *row, rlim_t value, struct buffer *text)
{
    if (value == RLIM_INFINITY)
        return buffer_append_text(text, "unlimited");
    if (row->unit == RLIMIT_BYTES)
        return buffer_append_text(text, quantity_size_text(value).text);
    return buffer_format(text, "%" PRIu64 "%s", (uint64_t)value,
                         row->unit == RLIMIT_SECONDS ? " s" : "");
}

/* "the hard limit RLIMIT_CPU is 60 s: ...; ..." */
static int describe(const struct rlimit_row *row, const struct run_limits *limits,
                    struct buffer *text)
{
    int r = buffer_format(text, "the hard limit %s is ", row->name);
    if (r == 0)
        r = write_value(row, rlimit_hard(row->resource), text);
    if (r == 0)
        r = buffer_format(text, ": %s; runs need ", row->lack);
    if (r == 0)
        r = write_value(row, rlimit_needed(row, limits), text);
    return r < 0
               ? r
               : buffer_format(text,
                               ": raise it where it is set (`ulimit -H%c` of a shell, limits.conf, "
                               "Limit%s= of a systemd unit)",
                               row->option, row->name + strlen("RLIMIT_"));
}

void rlimit_notes_print(const struct run_limits *limits,
                        void (*print)(enum verdict verdict, const char *what, const char *text))
{
    size_t count;
    const struct rlimit_row *rows = rlimits_list(&count);
    for (size_t i = 0; i < count; i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
        if (!rlimit_is_low(&rows[i], limits))
            continue;
        const char *line = describe(&rows[i], limits, &text) == 0 ? buffer_string(&text) : NULL;
        print(VERDICT_WEAK, "rlimit", line != NULL ? line : "no memory");
    }
}

void rlimit_notes_write(struct json_writer *writer, const struct run_limits *limits)
{
    size_t count;
    const struct rlimit_row *rows = rlimits_list(&count);
    json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
        if (!rlimit_is_low(&rows[i], limits))
            continue;
        json_begin_object(writer);
        json_text_member(writer, "name", rows[i].name);
        json_number_member(writer, "value", (int64_t)rlimit_hard(rows[i].resource));
        json_text_member(writer, "message",
                         describe(&rows[i], limits, &text) == 0 ? buffer_string(&text) : NULL);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void rlimit_notes_log(const struct run_limits *limits)
{
    OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
    size_t count;
    const struct rlimit_row *rows = rlimits_list(&count);
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (!rlimit_is_low(&rows[i], limits))
            continue;
        r = buffer_append_text(&text, text.length > 0 ? "\n" : "");
        if (r == 0)
            r = describe(&rows[i], limits, &text);
    }
    log_note_lines(r == 0 && text.length > 0 ? buffer_string(&text) : NULL);
}
