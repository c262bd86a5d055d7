/*
 * An examination of this machine: whether snippets can run on it, and what holds them to their
 * limits. Everything is tried, nothing is guessed.
 *
 * Side: parent.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/doctor_template.h"
#include "interpreter/languages/language.h"
#include "interpreter/settings/settings.h"
#include "sandbox/engine.h"
#include "sandbox/host_probe.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

enum verdict {
    VERDICT_OK,
    VERDICT_WEAK, /* it works, less well than it could */
    VERDICT_NO,
};

/* "ok", "weak", "no". */
const char *doctor_verdict_name(enum verdict verdict);

struct language_finding {
    const struct language *language;
    const char *image; /* borrowed from the settings or the catalog */
    enum verdict verdict;
    bool is_absent;        /* the image is not there */
    struct fault contents; /* what the image says of itself; may be "" */
    struct fault message;  /* the same, or why a program did not run and the remedy */
    int64_t run_ns;      /* from asking for a run to its end; 0: none ran */
};

struct examination {
    const struct settings *settings; /* borrowed */
    struct host_finding host; /* of any tier, whatever the settings allow */
    bool is_refused;          /* they do not allow the one that can be made, or there is none */
    struct utsname kernel;
    enum verdict kernel_verdict;
    struct language_finding languages[LANGUAGES_MAX];
    size_t language_count;
    size_t absent_count; /* of languages whose image is not there */
    struct template_finding template;
    enum verdict limits_verdict;
    int landlock;   /* its version, 0: none; once probed */
    bool has_no_rules; /* of routing, which the network of snippets needs for all ports */
    bool is_probed; /* enforcement is known; else limits_fault says why no sandbox can be made */
    struct engine_enforcement enforcement;
    struct fault folder_faults[FOLDER_MODE_COUNT]; /* why folders of that mode do not work; or "" */
    struct overlay_place copies; /* owned; of overlay folders */
    struct fault limits_fault;
    /* One language runs, every one that is there does, and what the operator requires is there. */
    bool can_run;
};

/*
 * Chooses the tier as tier_choose(). Makes a jail for each language whose image is there, and runs a program in it. May take some
 * seconds. 0; -EINTR a signal asked for the end; another negative errno with its fault: this program
 * itself could not work.
 */
int doctor_examine(struct settings *settings, struct examination *ret_examination,
                   struct fault *fault);

#endif
