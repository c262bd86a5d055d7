#include "cli/run_notes.h"

#include "cli/rlimit_notes.h"
#include "images/store/store.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/files/plain_name.h"
#include "interpreter/folders/changes_text.h"
#include "interpreter/result/hints.h"
#include "interpreter/result/left_text.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/result/result_json.h"
#include "interpreter/settings/mounts_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/limits/limits.h"

#include <stdbool.h>
#include <string.h>

#define NAMES_TOLD_MAX 5

/* The name is the snippet's. */
static void tell_unsaved(const struct result_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct result_file *file = &files->list[i];
        if (file->error != 0)
            log_note("%s was not saved to %s: %s", visible_name(file->name).text, files->directory,
                     files_dir_reason(file->error));
    }
}

/* Patches are told elsewhere. */
static void tell_unkept(const struct result_files *files)
{
    OWNED(buffer_release) struct buffer text = BUFFER(16 * KIBIBYTE);
    size_t told = 0;
    size_t more = files->more + files->undrawn;
    int r = 0;
    for (size_t i = 0; r == 0 && i < files->count; i++) {
        if (files->list[i].is_patch)
            continue;
        if (told == NAMES_TOLD_MAX) {
            more++;
            continue;
        }
        r = buffer_append_text(&text, told++ > 0 ? ", " : "Not kept, without --files-dir DIR: ");
        if (r == 0)
            r = plain_name_append(&text, files->list[i].name);
    }
    if (r == 0 && told > 0 && more > 0)
        r = buffer_format(&text, " and %zu more", more);
    log_note_lines(r == 0 && told > 0 ? buffer_string(&text) : NULL);
}

void run_notes_tell_files(const struct run_result *result, const struct result_files *files)
{
    OWNED(buffer_release) struct buffer text = BUFFER(64 * KIBIBYTE);
    if (files->is_lost)
        log_note(RESULT_FILES_LOST);
    else if (files->directory == NULL)
        tell_unkept(files);
    else
        tell_unsaved(files);
    if (left_text_note(&result->left_out, &text) == 0 && text.length > 0)
        log_note_lines(buffer_string(&text));
    text.length = 0;
    if (mounts_warn(&result->appeared, RUN_OF_RESULT, &text) == 0 && text.length > 0)
        log_note_lines(buffer_string(&text));
}

void run_notes_tell_changes(const struct folder_patches *patches)
{
    OWNED(buffer_release) struct buffer text = BUFFER(128 * KIBIBYTE);
    if (changes_text_note(patches, 0, false, &text) == 0 && text.length > 0)
        log_note_lines(buffer_string(&text));
}

/*
 * Of what a person at a terminal does not know: what only the host has, what the image lacks, and that there is no
 * network.
 */
static int append_hint(const struct run_result *result, const struct run_notes *notes,
                       struct buffer *text)
{
    const struct settings *settings = notes->settings;
    const struct language *language = notes->language;
    size_t before = text->length;
    int r = neighbour_hint_write(result, &notes->place, text);
    if (r < 0 || text->length > before)
        return r;
    OWNED(image_release) struct image image = {0};
    OWNED_MEMORY char *store = NULL;
    const struct hint hint = hint_find(language, result);
    if (hint.kind != HINT_NOT_INSTALLED && hint.kind != HINT_NETWORK)
        return 0;
    bool has_network = settings->network.mode != NETWORK_OFF;
    if (hint.kind == HINT_NETWORK && !has_network && settings->fleet.url == NULL)
        return buffer_append_text(text, "There is no network here: --allow-host HOST gives access "
                                        "to a host, --network on to all public ones.\n");
    bool is_known = store_path(&store, NULL) == 0 &&
                    image_open(store, settings_image(settings, language), &image, NULL) == 0;
    const struct hint_image view = {.name = is_known ? image.name : NULL,
                                    .summary = is_known ? image.summary : NULL,
                                    .has_network = has_network};
    return hint_write(&hint, &view, text);
}

void run_notes_tell_end(const struct run_result *result, const struct run_notes *notes)
{
    OWNED(buffer_release) struct buffer text = BUFFER(16 * KIBIBYTE);
    const struct outcome_text_reader person = {.has_all_output = true,
                                               .network = &notes->settings->network};
    if (result_json_is_success(result))
        return;
    int r = result->outcome != OUTCOME_EXITED ? outcome_text_describe(result, &text) : 0;
    if (r == 0 && text.length > 0 && notes->session != NULL)
        r = session_text_end(notes->session, result, &text);
    if (r == 0 && text.length > 0)
        r = buffer_append(&text, "\n", 1);
    if (r == 0)
        r = outcome_text_advise(result, &person, &text);
    if (r == 0)
        r = append_hint(result, notes, &text);
    log_note_lines(r == 0 && text.length > 0 ? buffer_string(&text) : NULL);
    /* An exit code tells what the program met; a signal or a timeout may come of them. */
    if (result->outcome != OUTCOME_EXITED && notes->settings->fleet.url == NULL)
        rlimit_notes_log(&notes->settings->limits);
}
