#include "sandbox/limits/cgroup_delegation.h"

#include "sandbox/base/owned.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* "memory and pids" */
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

static void finish(struct cgroup_delegation *delegation, enum cgroup_source source)
{
    delegation->source = source;
    unsigned have = delegation->parent.subtree.controllers;
    char missing[64];
    if (source != CGROUP_NONE && have != CONTROLLERS_ALL)
        fault_set(
            &delegation->fallback_reason, EOPNOTSUPP,
            "the delegated cgroup has no controller for %s: this kernel has it disabled, or %s "
            "does not delegate it",
            name_missing(have, missing, sizeof(missing)),
            source == CGROUP_SYSTEMD ? "systemd (Delegate= of user@.service)" : "its creator");
    delegation->probed(delegation);
}

static int find_place(struct cgroup_delegation *delegation, struct cgroup_location *ret_place,
                      struct fault *fault)
{
    int r = cgroup_location_find(ret_place, fault);
    if (r == 0) {
        delegation->memory_ceiling = ret_place->memory_ceiling;
        delegation->processes_ceiling = ret_place->processes_ceiling;
    }
    return r;
}

static int take(struct cgroup_delegation *delegation, enum cgroup_exclusivity exclusivity,
                struct fault *fault)
{
    struct cgroup_location place = {0};
    int r = find_place(delegation, &place, fault);
    if (r == 0)
        r = cgroup_subtree_take(&place, exclusivity, &delegation->parent.subtree, fault);
    cgroup_location_release(&place);
    return r;
}

/* Without a scope, the own cgroup is good enough even with fewer controllers. */
static void fall_back(struct cgroup_delegation *delegation, const struct fault *no_scope)
{
    struct fault refused = {0};
    if (take(delegation, CGROUP_SHARED, &refused) == 0) {
        finish(delegation, CGROUP_OWN);
        return;
    }
    fault_set(&delegation->fallback_reason, EOPNOTSUPP,
              "no cgroup is available. The one in which this program was started: %s. A scope "
              "of systemd: %s",
              refused.text, no_scope->text);
    delegation->was_refused = true;
    finish(delegation, CGROUP_NONE);
}

static void on_answer(struct scope_request *request, int status, const struct fault *fault)
{
    struct cgroup_delegation *delegation = container_of(request, struct cgroup_delegation, request);
    struct fault refused = {0};
    if (status < 0) {
        fall_back(delegation, fault);
    } else if (take(delegation, CGROUP_SHARED, &refused) == 0) {
        finish(delegation, CGROUP_SYSTEMD);
    } else {
        fault_set(&delegation->fallback_reason, EOPNOTSUPP,
                  "the scope of systemd is not usable: %s", refused.text);
        finish(delegation, CGROUP_NONE);
    }
}

void cgroup_delegation_probe(struct cgroup_delegation *delegation, struct loop *loop,
                             const char *scope_program,
                             void (*probed)(struct cgroup_delegation *delegation))
{
    delegation->parent.loop = loop;
    delegation->probed = probed;
    delegation->parent.processors = sysconf(_SC_NPROCESSORS_CONF);
    delegation->request.answered = on_answer;
    struct cgroup_location place = {0};
    int r = find_place(delegation, &place, &delegation->fallback_reason);
    if (r < 0) { /* then systemd has none either, whatever it answers */
        finish(delegation, CGROUP_NONE);
        return;
    }
    r = cgroup_subtree_take(&place, CGROUP_EXCLUSIVE, &delegation->parent.subtree, NULL);
    cgroup_location_release(&place);
    if (r == 0) {
        finish(delegation, CGROUP_OWN);
        return;
    }
    struct fault no_scope = {0};
    if (scope_program == NULL)
        r = fault_set(&no_scope, ENOENT,
                      "the program that requests one, code-sandbox-mcp-scope, is missing: install "
                      "code-sandbox-mcp again");
    else
        r = scope_request_start(&delegation->request, loop, scope_program, &no_scope);
    if (r < 0)
        fall_back(delegation, &no_scope);
}

void cgroup_delegation_release(struct cgroup_delegation *delegation)
{
    scope_request_release(&delegation->request);
    cgroup_remove(&delegation->parent.spare);
    if (delegation->parent.loop != NULL)
        loop_disarm(delegation->parent.loop, &delegation->parent.tidy);
    cgroup_subtree_release(&delegation->parent.subtree);
}
