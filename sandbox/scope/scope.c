#include "sandbox/scope/scope.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/scope/dbus_connection.h"
#include "sandbox/scope/manager.h"

#include <stdbool.h>
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

struct scope_call {
    pid_t pid;
    const char *unit;
    int64_t deadline; /* clock_now() nanoseconds */
};

/* The result of a request by one way. */
enum scope_answer {
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
static bool await_move(const struct scope_call *request)
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

/* The name of a property and the signature of its value, which follows. */
static void put_property(struct dbus_writer *body, const char *name, const char *signature)
{
    dbus_begin_structure(body);
    dbus_put_string(body, name);
    dbus_put_signature(body, signature);
}

/* StartTransientUnit(name, mode, properties, auxiliary units) */
static void put_arguments(struct dbus_writer *body, const struct scope_call *request)
{
    dbus_put_string(body, request->unit);
    dbus_put_string(body, "fail"); /* never replace an existing unit */
    size_t properties = dbus_begin_array(body);
    put_property(body, "Description", "s");
    dbus_put_string(body, "Sandboxes of code-sandbox-mcp");
    put_property(body, "PIDs", "au");
    dbus_put_number(body, sizeof(uint32_t));
    dbus_put_number(body, (uint32_t)request->pid);
    put_property(body, "Delegate", "b");
    dbus_put_number(body, true);
    put_property(body, "CollectMode", "s"); /* otherwise systemd would keep a failed unit */
    dbus_put_string(body, "inactive-or-failed");
    dbus_end_array(body, properties);
    size_t units = dbus_begin_array(body);
    dbus_end_array(body, units);
}

/* Whether the name is not on this bus; the last is what its stand-in there comes to. */
static bool is_absent(const char *error_name)
{
    static const char *const names[] = {
        "org.freedesktop.DBus.Error.ServiceUnknown",
        "org.freedesktop.DBus.Error.NameHasNoOwner",
        "org.freedesktop.DBus.Error.Spawn.ChildExited",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (strcmp(error_name, names[i]) == 0)
            return true;
    }
    return false;
}

static enum scope_answer explain_no_answer(int r, struct fault *fault)
{
    if (r == -ETIMEDOUT) {
        fault_set(fault, ETIMEDOUT, "it was asked and did not answer; is it hung?");
        return ANSWER_NONE;
    }
    if (r == -ECONNRESET || r == -EPIPE) {
        fault_set(fault, -r, "it was asked and went away");
        return ANSWER_UNREACHED;
    }
    fault_set(fault, -r, "asking it: %m");
    return ANSWER_NONE;
}

static enum scope_answer scope_call(int fd, const struct scope_call *request, struct fault *fault)
{
    const struct dbus_call call = {
        .serial = 2, /* the greeting has 1 */
        .destination = DESTINATION,
        .path = OBJECT,
        .interface = INTERFACE,
        .member = "StartTransientUnit",
        .signature = "ssa(sv)a(sa(sv))",
    };
    OWNED(dbus_writer_release) struct dbus_writer body = DBUS_WRITER;
    struct dbus_answer answer;
    put_arguments(&body, request);
    int r = dbus_call(fd, &call, &body, request->deadline, &answer);
    if (r < 0)
        return explain_no_answer(r, fault);
    if (answer.type == DBUS_RETURN)
        return ANSWER_ACCEPTED;
    fault_set(fault, ECONNREFUSED, "it refused: %s (%s)", answer.error_text, answer.error_name);
    return is_absent(answer.error_name) ? ANSWER_UNREACHED : ANSWER_REFUSED;
}

static enum scope_answer scope_ask(const struct manager *manager, const struct manager_way *way,
                                   const struct scope_call *request, struct fault *fault)
{
    OWNED_FD int fd = -1;
    if (manager_connect(manager, way, clock_now() + GREETING_NS, &fd, fault) < 0)
        return ANSWER_UNREACHED;
    return scope_call(fd, request, fault);
}

static int explain_no_move(const struct scope_call *request, const struct manager *manager,
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
static int explain_refusal(const struct scope_call *request, const struct manager *manager,
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
    const struct scope_call request = {pid, unit, clock_now() + TOTAL_NS};
    const struct manager manager = manager_find();
    struct fault faults[MANAGER_WAYS] = {0};
    enum scope_answer answer = ANSWER_UNREACHED;
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
