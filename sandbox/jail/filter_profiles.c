/* The profiles that are part of the program. */
#include "sandbox/jail/filter.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/default-filter-polled.h"
#include "sandbox/jail/default-filter.h"
#include "sandbox/jail/template-filter-polled.h"
#include "sandbox/jail/template-filter.h"
#include "seccomp-profiles/as-root-profile.h"
#include "seccomp-profiles/build-profile.h"
#include "seccomp-profiles/default-profile.h"
#include "seccomp-profiles/fork-profile.h"
#include "seccomp-profiles/modes-profile.h"
#include "seccomp-profiles/no-signals-profile.h"
#include "seccomp-profiles/no-sockets-profile.h"
#include "seccomp-profiles/same-user-profile.h"
#include "seccomp-profiles/shared-profile.h"
#include "seccomp-profiles/template-profile.h"
#include "seccomp-profiles/unpack-profile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define COMPILED(filter) filter, ARRAY_LENGTH(filter)

/* Compiled when this program was built, which spares each run some milliseconds; empty if that could not be. */
struct compiled_filter {
    const char *without;
    const struct sock_filter *code;
    unsigned short length;
};

static const struct compiled_filter defaults[] = {
    {NULL, COMPILED(default_filter)},
    {FILTER_UNPOLLED_CALLS, COMPILED(default_filter_polled)},
};

static const struct compiled_filter templates[] = {
    {NULL, COMPILED(template_filter)},
    {FILTER_UNPOLLED_CALLS_OF_TEMPLATES, COMPILED(template_filter_polled)},
};

static bool is_same(const char *one, const char *other)
{
    return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

static int copy_compiled(const struct compiled_filter *compiled, struct filter *ret_filter,
                         struct fault *fault)
{
    size_t size = compiled->length * sizeof(compiled->code[0]);
    struct sock_filter *code = malloc(size);
    if (code == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the seccomp filter");
    memcpy(code, compiled->code, size);
    ret_filter->code = code;
    ret_filter->length = compiled->length;
    return 0;
}

/* One of the pair, or the profile compiled now. */
static int compile_own(const struct compiled_filter pair[static 2], const char *json, size_t length,
                       const char *without, struct filter *ret_filter, struct fault *fault)
{
    for (size_t i = 0; i < 2; i++)
        if (is_same(pair[i].without, without) && pair[i].length > 0)
            return copy_compiled(&pair[i], ret_filter, fault);
    return filter_compile(json, length, without, ret_filter, fault);
}

int filter_compile_default(const char *without, struct filter *ret_filter, struct fault *fault)
{
    return compile_own(defaults, default_profile_json, sizeof(default_profile_json), without,
                       ret_filter, fault);
}

int filter_compile_template(const char *without, struct filter *ret_filter, struct fault *fault)
{
    return compile_own(templates, template_profile_json, sizeof(template_profile_json), without,
                       ret_filter, fault);
}

int filter_compile_fork(const char *without, struct filter *ret_filter, struct fault *fault)
{
    return filter_compile_addition(fork_profile_json, sizeof(fork_profile_json),
                                   without == NULL ? FILTER_UNPOLLED_CALLS : NULL, ret_filter,
                                   fault);
}

/* The profiles that are additions, as bits. */
enum filter_addition {
    ADDITION_SHARED = 1,
    ADDITION_NO_SOCKETS = 2,
    ADDITION_SAME_USER = 4,
    ADDITION_AS_ROOT = 8,
    ADDITION_NO_SIGNALS = 16,
    ADDITION_MODES = 32,
};

static const struct {
    enum filter_addition addition;
    const char *json;
    size_t length;
} addition_profiles[] = {
    {ADDITION_SHARED, shared_profile_json, sizeof(shared_profile_json)},
    {ADDITION_NO_SOCKETS, no_sockets_profile_json, sizeof(no_sockets_profile_json)},
    {ADDITION_SAME_USER, same_user_profile_json, sizeof(same_user_profile_json)},
    {ADDITION_AS_ROOT, as_root_profile_json, sizeof(as_root_profile_json)},
    {ADDITION_MODES, modes_profile_json, sizeof(modes_profile_json)},
    {ADDITION_NO_SIGNALS, no_signals_profile_json, sizeof(no_signals_profile_json)},
};

static int compile_additions(unsigned wanted, struct filter_additions *ret_additions,
                             struct fault *fault)
{
    struct filter_additions *additions = ret_additions;
    int r = 0;
    *additions = (struct filter_additions){.count = 0};
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(addition_profiles); i++)
        if ((wanted & addition_profiles[i].addition) != 0)
            r = filter_compile_addition(addition_profiles[i].json, addition_profiles[i].length,
                                        NULL, &additions->list[additions->count++], fault);
    if (r < 0)
        filter_additions_release(additions);
    return r;
}

int filter_additions_compile(enum tier tier, int landlock_abi,
                             struct filter_additions *ret_additions, struct fault *fault)
{
    unsigned wanted = tier >= TIER_C ? ADDITION_SHARED | ADDITION_NO_SOCKETS : 0;
    if (tier == TIER_L)
        wanted |= ADDITION_SAME_USER | (landlock_abi < LANDLOCK_SCOPES ? ADDITION_NO_SIGNALS : 0);
    return compile_additions(wanted, ret_additions, fault);
}

int filter_additions_compile_build(enum tier tier, bool has_network,
                                   struct filter_additions *ret_additions, struct fault *fault)
{
    unsigned wanted = tier >= TIER_C ? ADDITION_SHARED | ADDITION_AS_ROOT : 0;
    return compile_additions(wanted != 0 && !has_network ? wanted | ADDITION_NO_SOCKETS : wanted,
                             ret_additions, fault);
}

int filter_additions_compile_unpack(enum tier tier, struct filter_additions *ret_additions,
                                    struct fault *fault)
{
    return compile_additions(tier == TIER_L ? ADDITION_MODES : 0, ret_additions, fault);
}

void filter_additions_release(struct filter_additions *additions)
{
    for (size_t i = 0; i < additions->count; i++)
        filter_release(&additions->list[i]);
    additions->count = 0;
}

void filter_give(struct jail_plan *plan, const struct filter *filter,
                 const struct filter_additions *additions)
{
    plan->filter = filter->code;
    plan->filter_length = filter->length;
    plan->additions.count = additions->count;
    for (size_t i = 0; i < additions->count; i++)
        plan->additions.list[i] =
            (struct sock_fprog){additions->list[i].length, additions->list[i].code};
}

int filter_compile_build(struct filter *ret_filter, struct fault *fault)
{
    return filter_compile(build_profile_json, sizeof(build_profile_json), NULL, ret_filter, fault);
}

int filter_compile_unpack(struct filter *ret_filter, struct fault *fault)
{
    return filter_compile(unpack_profile_json, sizeof(unpack_profile_json), NULL, ret_filter,
                          fault);
}
