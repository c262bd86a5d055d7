#include "sandbox/limits/cgroup_delegation.h"

#include "sandbox/base/owned.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Names the controllers that are missing: "memory and pids". */
static const char *name_missing(unsigned controllers, char *text, size_t size)
{
    text[0] = '\0';
    for (unsigned controller = 1; controller <= CONTROLLERS_ALL; controller <<= 1) {
        if ((controllers & controller) != 0)
            continue;
        if (text[0] != '\0')
            strncat(text, " and ", size - strlen(text) - 1);
        strncat(text, cgroup_controller_name(controller), size - strlen(text) - 1);
    }
    return text;
}

static void finish(struct cgroup_delegation *home, enum cgroup_source source)
{
    home->source = source;
    unsigned have = home->subtree.controllers;
    char missing[64];
    if (source != CGROUP_NONE && have != CONTROLLERS_ALL)
        fault_set(
            &home->fallback_reason, EOPNOTSUPP,
            "the cgroup that this program was given has no controller for %s: they are off in "
            "this kernel, or %s does not hand them down",
            name_missing(have, missing, sizeof(missing)),
            source == CGROUP_SYSTEMD ? "systemd (Delegate= of user@.service)" : "whoever made it");
    home->probed(home);
}

static int find_place(struct cgroup_delegation *home, struct cgroup_location *ret_place,
                      struct fault *fault)
{
    int r = cgroup_location_find(ret_place, fault);
    if (r == 0) {
        home->memory_ceiling = ret_place->memory_ceiling;
        home->processes_ceiling = ret_place->processes_ceiling;
    }
    return r;
}

static int take(struct cgroup_delegation *home, enum cgroup_exclusivity exclusivity,
                struct fault *fault)
{
    struct cgroup_location place = {0};
    int r = find_place(home, &place, fault);
    if (r == 0)
        r = cgroup_subtree_take(&place, exclusivity, &home->subtree, fault);
    cgroup_location_release(&place);
    return r;
}

/* No scope: the own cgroup again, with less demanded of it. */
static void fall_back(struct cgroup_delegation *home, const struct fault *no_scope)
{
    struct fault refused = {0};
    if (take(home, CGROUP_SHARED, &refused) == 0) {
        finish(home, CGROUP_OWN);
        return;
    }
    fault_set(&home->fallback_reason, EOPNOTSUPP,
              "no cgroup could be had. The one that this program was started in: %s. A scope of "
              "systemd: %s",
              refused.text, no_scope->text);
    home->was_refused = true;
    finish(home, CGROUP_NONE);
}

static void on_answer(struct scope_request *request, int status, const struct fault *fault)
{
    struct cgroup_delegation *home = container_of(request, struct cgroup_delegation, request);
    struct fault refused = {0};
    if (status < 0) {
        fall_back(home, fault);
    } else if (take(home, CGROUP_SHARED, &refused) == 0) {
        finish(home, CGROUP_SYSTEMD);
    } else {
        fault_set(&home->fallback_reason, EOPNOTSUPP, "systemd gave a scope, but of no use: %s",
                  refused.text);
        finish(home, CGROUP_NONE);
    }
}

void cgroup_delegation_probe(struct cgroup_delegation *home, struct loop *loop,
                             const char *scope_program,
                             void (*probed)(struct cgroup_delegation *home))
{
    home->loop = loop;
    home->probed = probed;
    home->processors = sysconf(_SC_NPROCESSORS_CONF);
    home->request.answered = on_answer;
    struct cgroup_location place = {0};
    int r = find_place(home, &place, &home->fallback_reason);
    if (r < 0) { /* then systemd has none to give either, though it might say it did */
        finish(home, CGROUP_NONE);
        return;
    }
    r = cgroup_subtree_take(&place, CGROUP_EXCLUSIVE, &home->subtree, NULL);
    cgroup_location_release(&place);
    if (r == 0) {
        finish(home, CGROUP_OWN);
        return;
    }
    struct fault no_scope = {0};
    if (scope_program == NULL)
        r = fault_set(
            &no_scope, ENOENT,
            "the program that asks for one, code-sandbox-mcp-scope, is not installed (it is built where libsystemd is)");
    else
        r = scope_request_start(&home->request, loop, scope_program, &no_scope);
    if (r < 0)
        fall_back(home, &no_scope);
}

void cgroup_delegation_release(struct cgroup_delegation *home)
{
    scope_request_release(&home->request);
    cgroup_remove(&home->spare);
    if (home->loop != NULL)
        loop_disarm(home->loop, &home->tidy);
    cgroup_subtree_release(&home->subtree);
}
