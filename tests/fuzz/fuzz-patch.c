/*
 * Contents and names of any bytes, before and after: the patch has the files that the list tells, each
 * name can be read back from its quoted form, and the report is valid JSON.
 *
 * Each change is a line for its path, a byte for its modes, a byte for the share of the rest that is old,
 * and its contents. The last takes what is left.
 */
#include "interpreter/changes/changes_report.h"
#include "interpreter/changes/git_name.h"
#include "interpreter/changes/patch.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <git2.h>
#include <string.h>

#define CHANGES 3
#define PATCH_MAX (1 << 20)

/* Reads what git would read, up to the end of the quoted name. */
static void unquote(const char *quoted, char *path)
{
    for (quoted++; *quoted != '"'; path++) {
        static const char letters[] = "abtnvfr";
        FUZZ_CHECK((unsigned char)*quoted >= ' ' && (unsigned char)*quoted < 0x7f);
        if (*quoted != '\\') {
            *path = *quoted++;
            continue;
        }
        quoted++;
        const char *letter = strchr(letters, *quoted);
        if (*quoted >= '0' && *quoted <= '3') {
            *path = (char)((quoted[0] - '0') << 6 | (quoted[1] - '0') << 3 | (quoted[2] - '0'));
            quoted += 3;
        } else {
            *path = letter != NULL ? (char)('\a' + (letter - letters)) : *quoted;
            quoted++;
        }
    }
    FUZZ_CHECK(quoted[1] == '\0');
    *path = '\0';
}

static void check_name(const char *path)
{
    OWNED(buffer_release) struct buffer text = BUFFER(PATCH_MAX);
    FUZZ_CHECK(git_name_quote(&text, "b/", path) == 0);
    const char *quoted = buffer_string(&text);
    OWNED_MEMORY char *back = malloc(text.length + 1);
    FUZZ_CHECK(quoted != NULL && back != NULL);
    if (quoted[0] == '"')
        unquote(quoted, back);
    else
        strcpy(back, quoted);
    FUZZ_CHECK(strncmp(back, "b/", 2) == 0 && strcmp(back + 2, path) == 0);
    FUZZ_CHECK(strpbrk(quoted, "\n\r\t\"") == NULL || quoted[0] == '"');
}

static unsigned mode_of(unsigned choice)
{
    static const unsigned modes[] = {MODE_NONE, MODE_FILE, MODE_PROGRAM, MODE_LINK};
    return modes[choice % 4];
}

static struct file_version version_of(unsigned mode, const uint8_t *data, size_t size)
{
    struct file_version version = {mode, NULL, mode != MODE_NONE ? size : 0};
    if (version.size == 0)
        return version;
    version.bytes = malloc(size);
    FUZZ_CHECK(version.bytes != NULL);
    memcpy(version.bytes, data, size);
    return version;
}

static void add_change(struct change_list *changes, struct fuzz_input *input, bool is_last)
{
    OWNED_MEMORY char *path = fuzz_line(input);
    if (path == NULL || path[0] == '\0')
        return;
    check_name(path);
    uint8_t modes = fuzz_byte(input);
    size_t size = is_last ? input->size : input->size / 2;
    size_t share = size * fuzz_byte(input) / 255;
    size = size < input->size ? size : input->size;
    share = share < size ? share : size;
    if ((modes & 3) == 0 && (modes >> 2 & 3) == 0)
        modes |= 1;
    struct file_version old = version_of(mode_of(modes), input->data, share);
    struct file_version new = version_of(mode_of(modes >> 2), input->data + share, size - share);
    input->data += size;
    input->size -= size;
    change_list_add(changes, path, &old, &new);
}

static size_t count_headers(const struct buffer *patch)
{
    static const char begin[] = "diff --git ";
    size_t count = 0;
    for (size_t i = 0; i + sizeof(begin) - 1 <= patch->length; i++) {
        bool is_line = i == 0 || patch->data[i - 1] == '\n';
        count += is_line && memcmp(patch->data + i, begin, sizeof(begin) - 1) == 0;
    }
    return count;
}

static size_t wanted_headers(const struct change_list *changes)
{
    size_t count = 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->changes[i];
        bool has_both = change->old.mode != MODE_NONE && change->new.mode != MODE_NONE;
        bool is_other = (change->old.mode == MODE_LINK) != (change->new.mode == MODE_LINK);
        count += change->is_left_out ? 0 : has_both && is_other ? 2 : 1;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int users; /* libgit2 takes long to start: it does so once */
    users = users > 0 ? users : git_libgit2_init();
    struct fuzz_input input = {data, size};
    struct fault fault = {0};
    OWNED(change_list_release) struct change_list changes = {0};
    OWNED(buffer_release) struct buffer patch = BUFFER(PATCH_MAX);
    OWNED(buffer_release) struct buffer report = BUFFER(CHANGES_REPORT_MAX);
    for (size_t i = 0; i < CHANGES; i++)
        add_change(&changes, &input, i + 1 == CHANGES);
    FUZZ_CHECK(patch_write(&changes, &patch, &fault) == 0);
    /* Lines of files begin with a sign, and those of packed ones with a letter for their length. */
    FUZZ_CHECK(count_headers(&patch) == wanted_headers(&changes));
    FUZZ_CHECK(changes_report_write(&changes, patch.length, &report) == 0);
    OWNED(json_release) struct json *json = fuzz_parse(&report);
    FUZZ_CHECK(json_member(json_root(json), "files")->count <= changes.count);
    return 0;
}
