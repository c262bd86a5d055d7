#include "sandbox/jail/host_facts.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define STATUS_SIZE 4096
#define SECCOMP_MODE_OF_FILTERS '2'

static const char *const limit_paths[] = {
    [NAMESPACE_USER] = "/proc/sys/user/max_user_namespaces",
    [NAMESPACE_PID] = "/proc/sys/user/max_pid_namespaces",
    [NAMESPACE_NETWORK] = "/proc/sys/user/max_net_namespaces",
    [NAMESPACE_MOUNT] = "/proc/sys/user/max_mnt_namespaces",
    [NAMESPACE_IPC] = "/proc/sys/user/max_ipc_namespaces",
    [NAMESPACE_UTS] = "/proc/sys/user/max_uts_namespaces",
    [NAMESPACE_CGROUP] = "/proc/sys/user/max_cgroup_namespaces",
};

const char *namespace_limit_path(enum namespace_kind kind)
{
    return limit_paths[kind];
}

const char *container_clause(enum container container)
{
    static const char *const clauses[] = {
        [CONTAINER_NONE] = "",
        [CONTAINER_DOCKER] = " of this Docker container",
        [CONTAINER_PODMAN] = " of this podman container",
        [CONTAINER_KUBERNETES] = " of this Kubernetes pod",
        [CONTAINER_OTHER] = " of this container",
    };
    return clauses[container];
}

static int read_number(const char *path)
{
    char text[32];
    if (text_file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return FACT_UNKNOWN;
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || number < 0)
        return FACT_UNKNOWN;
    return number > INT_MAX ? INT_MAX : (int)number;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static enum container find_container(void)
{
    if (exists("/var/run/secrets/kubernetes.io") || getenv("KUBERNETES_SERVICE_HOST") != NULL)
        return CONTAINER_KUBERNETES;
    if (exists("/run/.containerenv"))
        return CONTAINER_PODMAN;
    if (exists("/.dockerenv"))
        return CONTAINER_DOCKER;
    return exists("/run/systemd/container") ? CONTAINER_OTHER : CONTAINER_NONE;
}

static bool has_filter(void)
{
    char status[STATUS_SIZE];
    if (text_file_read(AT_FDCWD, "/proc/self/status", status, sizeof(status)) < 0)
        return false;
    const char *line = strstr(status, "\nSeccomp:");
    return line != NULL && line[strcspn(line, "012")] == SECCOMP_MODE_OF_FILTERS;
}

/* A new proc is refused where an existing one is not shown whole: mount_namespaces(7). */
static bool is_proc_masked(void)
{
    OWNED_MEMORY char *line = NULL;
    size_t size = 0;
    bool found = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file != NULL && !found && getline(&line, &size, file) > 0) {
        char place[FACT_TEXT_MAX];
        found = sscanf(line, "%*s %*s %*s %*s %127s", place) == 1 &&
                strncmp(place, "/proc/", strlen("/proc/")) == 0;
        /* It lies over an empty directory, and so hides nothing. */
        if (found && strcmp(place, "/proc/sys/fs/binfmt_misc") == 0)
            found = false;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

/* "docker-default (enforce)" becomes "docker-default". process: its directory in /proc. */
static void read_apparmor(const char *process, char profile[FACT_TEXT_MAX])
{
    static const char *const names[] = {"attr/apparmor/current", "attr/current"};
    profile[0] = '\0';
    /* Otherwise the second file is that of another security module. */
    if (!exists("/sys/module/apparmor"))
        return;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%s/%s", process, names[i]);
        if (text_file_read(AT_FDCWD, path, profile, FACT_TEXT_MAX) == 0)
            break;
        profile[0] = '\0';
    }
    char *mode = strstr(profile, " (");
    if (mode != NULL)
        *mode = '\0';
    profile[strcspn(profile, "\n")] = '\0';
    if (strcmp(profile, "unconfined") == 0)
        profile[0] = '\0';
}

static bool has_profile_of_parent(const char *profile)
{
    char parent[16];
    char its[FACT_TEXT_MAX];
    snprintf(parent, sizeof(parent), "%d", (int)getppid());
    read_apparmor(parent, its);
    return profile[0] != '\0' && strcmp(profile, its) == 0;
}

static void read_program(char program[FACT_PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", program, FACT_PATH_MAX);
    program[length < 0 || length == FACT_PATH_MAX ? 0 : length] = '\0';
}

void host_facts_read(struct host_facts *ret_facts)
{
    struct host_facts facts = {0};
    struct utsname kernel = {0};
    uname(&kernel);
    snprintf(facts.kernel, sizeof(facts.kernel), "%s", kernel.release);
    sscanf(kernel.release, "%d.%d", &facts.kernel_major, &facts.kernel_minor);
    facts.container = find_container();
    facts.has_filter = has_filter();
    facts.is_proc_masked = is_proc_masked();
    read_apparmor("self", facts.apparmor);
    facts.apparmor_is_parents = has_profile_of_parent(facts.apparmor);
    read_program(facts.program);
    facts.apparmor_restricts =
        read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    facts.userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone");
    for (enum namespace_kind kind = 0; kind < NAMESPACE_KINDS; kind++)
        facts.limits[kind] = read_number(limit_paths[kind]);
    *ret_facts = facts;
}
