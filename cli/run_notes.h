/*
 * What `run` tells the person about a run that has ended, on stderr.
 *
 * Side: parent.  Names in it come from the snippet: untrusted.
 */
#ifndef CLI_RUN_NOTES_H
#define CLI_RUN_NOTES_H

#include "cli/neighbour_hint.h"
#include "interpreter/folders/patch_queue.h"
#include "interpreter/result/result_files.h"
#include "interpreter/session_text.h"
#include "interpreter/settings/settings.h"
#include "sandbox/result.h"

/*
 * Files that were not saved, and what would save them; those that no option would; and names that appeared
 * in writable folders, even if all went well: a hook runs later, outside of any sandbox.
 */
void run_notes_tell_files(const struct run_result *result, const struct result_files *files);

/* Changes in copies of folders. */
void run_notes_tell_changes(const struct folder_patches *patches);

/* What the end is told with. All are borrowed. */
struct run_notes {
    const struct settings *settings;
    const struct language *language;
    struct neighbour_place place;
    const struct session_view *session; /* NULL: it ran in none */
};

/*
 * How it ended, what to do about it, and what it lacked; of a bad end, low hard limits of this process, too. Nothing if all went well; an exit code of the
 * program's own is no news.
 */
void run_notes_tell_end(const struct run_result *result, const struct run_notes *notes);

#endif
