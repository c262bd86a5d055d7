#include "sandbox/scope/scope.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/scope/manager.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/*
 * Time limits: for the handshake of one way, and for everything until the process has moved. After
 * the handshake a manager may use all remaining time: it may be busy with other requests.
 */
#define GREETING_NS (NANOSECONDS_PER_SECOND * 3 / 2)
#define TOTAL_NS (SCOPE_SECONDS_MAX * NANOSECONDS_PER_SECOND * 5 / 6)
/* How often to check whether the process has moved. */
#define LOOK_NS (2 * NANOSECONDS_PER_MILLISECOND)

#define DESTINATION "org.freedesktop.systemd1"
#define OBJECT "/org/freedesktop/systemd1"
#define INTERFACE "org.freedesktop.systemd1.Manager"

struct request {
    pid_t pid;
    const char *unit;
    int64_t deadline; /* clock_now() nanoseconds */
};

/* The result of a request by one way. */
enum answer {
    ANSWER_ACCEPTED,
    ANSWER_REFUSED,
    ANSWER_NONE,      /* no answer: the manager may still do it */
    ANSWER_UNREACHED, /* the request was not sent */
};

static void file_release(FILE **file)
{
    if (*file != NULL)
        fclose(*file);
    *file = NULL;
}

/*
 * The path of the process in the unified hierarchy, without a newline; "" if there is none, as on a
 * host with only version 1. Source: cgroups(7), /proc/pid/cgroup.
 */
static void cgroup_of(pid_t pid, char *path, size_t size)
{
    char name[64];
    path[0] = '\0';
    snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
    OWNED(file_release) FILE *file = fopen(name, "re");
    OWNED_MEMORY char *line = NULL;
    size_t line_size = 0;
    while (file != NULL && getline(&line, &line_size, file) > 0) {
        if (strncmp(line, "0::", 3) == 0)
            snprintf(path, size, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    }
}

/*
 * The manager answers before it moves the process. Returns whether the process was moved in time; a
 * process outside the unified hierarchy never is.
 */
static bool await_move(const struct request *request)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    for (;;) {
        char path[PATH_MAX];
        cgroup_of(request->pid, path, sizeof(path));
        const char *last = strrchr(path, '/');
        if (last != NULL && strcmp(last + 1, request->unit) == 0)
            return true;
        if (last == NULL || clock_now() >= request->deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

/* StartTransientUnit(name, mode, properties, auxiliary units). 0 or a negative errno. */
static int message_make(sd_bus *bus, const struct request *request, sd_bus_message **ret_message)
{
    OWNED(sd_bus_message_unrefp) sd_bus_message *message = NULL;
    int r = sd_bus_message_new_method_call(bus, &message, DESTINATION, OBJECT, INTERFACE,
                                           "StartTransientUnit");
    if (r >= 0) /* "fail": never replace an existing unit */
        r = sd_bus_message_append(message, "ssa(sv)a(sa(sv))", request->unit, "fail", 4,
                                  "Description", "s", "Sandboxes of code-sandbox-mcp", "PIDs", "au",
                                  1, (uint32_t)request->pid, "Delegate", "b", 1,
                                  /* otherwise systemd would keep a failed unit */
                                  "CollectMode", "s", "inactive-or-failed", 0);
    if (r < 0)
        return r;
    *ret_message = pointer_take(&message);
    return 0;
}

static enum answer scope_call(sd_bus *bus, const struct request *request, struct fault *fault)
{
    OWNED(sd_bus_message_unrefp) sd_bus_message *message = NULL;
    OWNED(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    int r = message_make(bus, request, &message);
    if (r < 0) {
        fault_set(fault, -r, "writing the request: %m");
        return ANSWER_UNREACHED;
    }
    int64_t left_ns = request->deadline - clock_now();
    r = sd_bus_call(bus, message, left_ns > 0 ? (uint64_t)left_ns / 1000 : 1, &error, NULL);
    if (r >= 0)
        return ANSWER_ACCEPTED;
    if (r == -ETIMEDOUT) {
        fault_set(fault, ETIMEDOUT, "it was asked and did not answer; is it hung?");
        return ANSWER_NONE;
    }
    if (r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE) {
        fault_set(fault, -r, "it was asked and went away");
        return ANSWER_UNREACHED;
    }
    fault_set(fault, -r, "it refused: %s (%s)", error.message, error.name);
    /* On a bus that it is not on; the last is what its stand-in there comes to. */
    bool is_absent =
        sd_bus_error_has_names(&error, SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_NAME_HAS_NO_OWNER,
                               "org.freedesktop.DBus.Error.Spawn.ChildExited") > 0;
    return is_absent ? ANSWER_UNREACHED : ANSWER_REFUSED;
}

static enum answer scope_ask(const struct manager *manager, const struct manager_way *way,
                             const struct request *request, struct fault *fault)
{
    OWNED(sd_bus_close_unrefp) sd_bus *bus = NULL;
    if (manager_connect(manager, way, clock_now() + GREETING_NS, &bus, fault) < 0)
        return ANSWER_UNREACHED;
    return scope_call(bus, request, fault);
}

static int explain_no_move(const struct request *request, const struct manager *manager,
                           struct fault *fault)
{
    char path[PATH_MAX];
    cgroup_of(request->pid, path, sizeof(path));
    if (path[0] == '\0')
        return fault_set(fault, ENOTSUP,
                         "%s made the scope %s, but process %d has no place in a unified cgroup "
                         "hierarchy: this host has cgroup version 1; boot it with "
                         "systemd.unified_cgroup_hierarchy=1",
                         manager->name, request->unit, (int)request->pid);
    return fault_set(fault, ETIMEDOUT,
                     "%s accepted the scope %s, but has not moved process %d there in time: it is "
                     "still in %s",
                     manager->name, request->unit, (int)request->pid, path);
}

/* Explains why the process was not moved. Each fault is the result of one way, or empty. */
static int explain_refusal(const struct request *request, const struct manager *manager,
                           const struct fault faults[MANAGER_WAYS], const char *remedy,
                           struct fault *fault)
{
    return fault_set(fault, EHOSTUNREACH, "%s gave process %d no cgroup of its own: %s%s%s%s%s",
                     manager->name, (int)request->pid, faults[0].text,
                     faults[1].text[0] != '\0' ? "; " : "", faults[1].text,
                     remedy[0] != '\0' ? ". " : "", remedy);
}

int scope_start(pid_t pid, const char *unit, struct fault *fault)
{
    const struct request request = {pid, unit, clock_now() + TOTAL_NS};
    const struct manager manager = manager_find();
    struct fault faults[MANAGER_WAYS] = {0};
    enum answer answer = ANSWER_UNREACHED;
    for (size_t i = 0; i < MANAGER_WAYS && answer == ANSWER_UNREACHED; i++)
        answer = scope_ask(&manager, &manager.ways[i], &request, &faults[i]);
    if ((answer == ANSWER_ACCEPTED || answer == ANSWER_NONE) && await_move(&request))
        return 0;
    if (answer == ANSWER_ACCEPTED)
        return explain_no_move(&request, &manager, fault);
    char remedy[512] = "";
    if (answer == ANSWER_UNREACHED)
        manager_remedy(&manager, remedy, sizeof(remedy));
    return explain_refusal(&request, &manager, faults, remedy, fault);
}
