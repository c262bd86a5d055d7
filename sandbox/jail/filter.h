/*
 * Seccomp profiles: JSON in the shape of the OCI runtime specification and Docker, compiled once to
 * the bytes that the child installs.
 *
 * Side: parent.  Source: OCI runtime-spec, config-linux.md "Seccomp"; seccomp(2); libseccomp.
 */
#ifndef SANDBOX_JAIL_FILTER_H
#define SANDBOX_JAIL_FILTER_H

#include "sandbox/base/fault.h"
#include "sandbox/base/tier.h"
#include "sandbox/jail/child/jail_plan.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

struct filter {
    struct sock_filter *code; /* owned */
    unsigned short length;    /* instructions */
};

/*
 * Compiles a profile. defaultAction must be a denial; it also applies to names unknown to
 * libseccomp and to the system calls `without`: names separated by spaces, or NULL. System calls of
 * another architecture, including x32, kill the process. 0; -EINVAL with a fault that names the member that is wrong;
 * another negative errno.
 */
int filter_compile(const char *json, size_t length, const char *without, struct filter *ret_filter,
                   struct fault *fault);

/*
 * Compiles a profile that comes on top of another: its defaultAction must be SCMP_ACT_ALLOW, and so it says nothing of the
 * system calls `without`. Likewise.
 */
int filter_compile_addition(const char *json, size_t length, const char *without,
                            struct filter *ret_filter, struct fault *fault);

/*
 * Checks that libseccomp can compile a user's profile in bounded time: up to version 2.5.5, some
 * pairs of rules that each compare two arguments make it loop for ever. Compiles in a separate
 * process. 0, or -ETIME with a fault that says what to do.
 */
int filter_try(const char *json, size_t length, struct fault *fault);

/*
 * What makes objects that hold memory, but shows to nobody how much: left out of the profile where memory is polled.
 * Without landlock_create_ruleset there is nothing to add rules to. Programs take both for missing.
 */
#define FILTER_UNPOLLED_CALLS "memfd_create landlock_create_ruleset"
/* The same of a template, whose forks make walls of Landlock. */
#define FILTER_UNPOLLED_CALLS_OF_TEMPLATES "memfd_create"

/* The built-in profile: seccomp-profiles/default.json. NULL and FILTER_UNPOLLED_CALLS are compiled already. */
int filter_compile_default(const char *without, struct filter *ret_filter, struct fault *fault);

#define FILTER_CALL_SIZE 32 /* for the name of a system call; a longer one is cut */

/*
 * Whether a valid profile (NULL: the built-in one) allows nothing that the built-in one refuses, as far as its entries show
 * it: each that allows must have the like there, or one without args. If not, a call that it allows; "" if memory is short.
 */
bool filter_is_within_default(const char *profile, char ret_call[FILTER_CALL_SIZE]);

/* What comes on top of a profile in jails without namespaces, of seccomp-profiles. */
struct filter_additions {
    struct filter list[FILTER_ADDITIONS_MAX]; /* owned */
    size_t count;
};

/*
 * Compiles those of a tier; none for TIER_F and TIER_P. For snippets: shared.json and no-sockets.json, and, if they have
 * the user of the server, same-user.json, and no-signals.json unless this version of Landlock guards signals. For installers: shared.json and as-root.json; no-sockets.json, unless they have
 * the network. 0, or a negative errno with a fault.
 */
int filter_additions_compile(enum tier tier, int landlock_abi,
                             struct filter_additions *ret_additions, struct fault *fault);
int filter_additions_compile_build(enum tier tier, bool has_network,
                                   struct filter_additions *ret_additions, struct fault *fault);
/* For unpacking, on top of unpack.json: modes.json, in TIER_L. Likewise. */
int filter_additions_compile_unpack(enum tier tier, struct filter_additions *ret_additions,
                                    struct fault *fault);
void filter_additions_release(struct filter_additions *additions);

/* Gives the plan these filters, which it borrows. */
void filter_give(struct jail_plan *plan, const struct filter *filter,
                 const struct filter_additions *additions);

/*
 * The profile of the interpreter of a template, whose forks join their jails: seccomp-profiles/template.json merged over
 * default.json. NULL and FILTER_UNPOLLED_CALLS_OF_TEMPLATES are compiled already.
 */
int filter_compile_template(const char *without, struct filter *ret_filter, struct fault *fault);

/*
 * On top of that, seccomp-profiles/fork.json: together, they are the built-in profile. `without` is what that was compiled
 * with, NULL or FILTER_UNPOLLED_CALLS.
 */
int filter_compile_fork(const char *without, struct filter *ret_filter, struct fault *fault);

/* The profile for installers: seccomp-profiles/build.json merged over default.json. */
int filter_compile_build(struct filter *ret_filter, struct fault *fault);

/* The profile for unpacking archives and arranging an image's files: unpack.json. */
int filter_compile_unpack(struct filter *ret_filter, struct fault *fault);

void filter_release(struct filter *filter);

#endif
