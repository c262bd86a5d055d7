/*
 * What a plan owns: what plan.c and its helpers work on.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_PLAN_STATE_H
#define SANDBOX_JAIL_PLAN_STATE_H

#include "sandbox/base/buffer.h"
#include "sandbox/jail/plan_base.h"
#include "sandbox/jail/run_spec.h"
#include "sandbox/jail/text_list.h"

struct plan {
    struct jail_plan jail;
    struct text_list texts;
    struct plan_rlimit rlimits[PLAN_RLIMITS_MAX];
    struct plan_link *home_links; /* owned */
    struct plan_file *home_files; /* owned */
    struct plan_folder *folders; /* owned; the strings are those of run_spec.folders */
    struct plan_path_rights *path_rights; /* owned */
    size_t warm_file_count;       /* of them, if the sandbox is prewarmed: all */
    size_t fork_file_count;       /* of them, if the sandbox is a fork: the first ones */
    struct run_template template; /* the texts are the run_spec's */
    struct plan_file *template_files; /* owned */
    struct buffer key;            /* plan_pack_key(), with the files of a prewarmed sandbox */
    char **argv;                  /* owned; the strings are texts */
    char **programs;
    char **environment;
};

#endif
