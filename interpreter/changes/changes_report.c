#include "interpreter/changes/changes_report.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>

static const char *status_of(const struct change *change)
{
    return change->old.mode == MODE_NONE ? "A" : change->new.mode == MODE_NONE ? "D" : "M";
}

static void write_change(struct json_writer *writer, const struct change *change)
{
    json_begin_object(writer);
    json_text_member(writer, "path", change->path);
    json_text_member(writer, "status", status_of(change));
    json_number_member(writer, "added", (int64_t)change->added);
    json_number_member(writer, "removed", (int64_t)change->removed);
    json_boolean_member(writer, "binary", change->is_binary);
    json_text_member(writer, "version", change->version);
    json_end_object(writer);
}

static void write_left_out(struct json_writer *writer, const struct left_out *left_out)
{
    char reason[CHANGES_REASON_SIZE];
    if (left_out->count > 0)
        snprintf(reason, sizeof(reason), "%s: %zu changed", left_out_text(left_out->reason),
                 left_out->count);
    else
        snprintf(reason, sizeof(reason), "%s", left_out_text(left_out->reason));
    json_begin_object(writer);
    json_text_member(writer, "path", left_out->path);
    json_text_member(writer, "reason", reason);
    json_end_object(writer);
}

/* Whether the path still fits into the report. */
static bool fits(const char *path, size_t *count, size_t maximum, size_t *bytes)
{
    size_t length = strlen(path);
    if (*count == maximum || length > CHANGES_TOLD_PATHS_MAX - *bytes)
        return false;
    *bytes += length;
    ++*count;
    return true;
}

static void write_files(struct json_writer *writer, const struct change_list *changes,
                        size_t *bytes)
{
    size_t told = 0, more = 0;
    json_key(writer, "files");
    json_begin_array(writer);
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->changes[i];
        if (change->is_left_out)
            continue;
        if (more == 0 && fits(change->path, &told, CHANGES_TOLD_MAX, bytes))
            write_change(writer, change);
        else
            more++;
    }
    json_end_array(writer);
    json_number_member(writer, "more_files", (int64_t)more);
}

static void write_all_left_out(struct json_writer *writer, const struct change_list *changes,
                               size_t *bytes)
{
    size_t told = 0, more = changes->left_out_more;
    json_key(writer, "left_out");
    json_begin_array(writer);
    for (size_t i = 0; i < changes->left_out_count; i++) {
        const struct left_out *left_out = &changes->left_out[i];
        if (fits(left_out->path, &told, CHANGES_LEFT_OUT_MAX, bytes))
            write_left_out(writer, left_out);
        else
            more++;
    }
    json_end_array(writer);
    json_number_member(writer, "more_left_out", (int64_t)more);
}

int changes_report_write(const struct change_list *changes, size_t patch_bytes, struct buffer *text)
{
    struct json_writer *writer = NULL;
    size_t bytes = 0;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    /* What is left out is short, and of more importance than the 500th file. */
    write_all_left_out(writer, changes, &bytes);
    write_files(writer, changes, &bytes);
    json_number_member(writer, "patch_bytes", (int64_t)patch_bytes);
    json_end_object(writer);
    return json_writer_close(writer);
}

int changes_report_write_fault(const struct fault *fault, struct buffer *text)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_text_member(writer, "fault", fault->text);
    json_end_object(writer);
    return json_writer_close(writer);
}
