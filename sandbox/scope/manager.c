#include "sandbox/scope/manager.h"

#include "sandbox/scope/dbus_connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The manager's private socket comes first, as in systemctl: it is faster, and exists even if no
 * D-Bus daemon runs.
 */
static const struct manager_way root_ways[MANAGER_WAYS] = {
    {.socket = "systemd/private"},
    {.socket = "dbus/system_bus_socket", .variable = "DBUS_SYSTEM_BUS_ADDRESS", .is_bus = true},
};

static const struct manager_way user_ways[MANAGER_WAYS] = {
    {.socket = "systemd/private"},
    {.socket = "bus", .variable = "DBUS_SESSION_BUS_ADDRESS", .is_bus = true},
};

/* The directory of the user's sockets as made at login, regardless of the environment. */
static void login_directory(char *text, size_t size)
{
    snprintf(text, size, "/run/user/%u", (unsigned)geteuid());
}

struct manager manager_find(void)
{
    if (geteuid() == 0)
        return (struct manager){"the system's service manager", root_ways, "/run"};
    struct manager manager = {"the user's service manager", user_ways, ""};
    const char *runtime_directory = getenv("XDG_RUNTIME_DIR");
    if (runtime_directory != NULL && runtime_directory[0] != '\0')
        snprintf(manager.directory, sizeof(manager.directory), "%s", runtime_directory);
    else
        login_directory(manager.directory, sizeof(manager.directory));
    return manager;
}

int manager_connect(const struct manager *manager, const struct manager_way *way, int64_t deadline,
                    int *ret_fd, struct fault *fault)
{
    char path[PATH_MAX + 32];
    const char *given = way->variable != NULL ? getenv(way->variable) : NULL;
    bool is_given = given != NULL && given[0] != '\0';
    snprintf(path, sizeof(path), "%s/%s", manager->directory, way->socket);
    int r = is_given ? dbus_connect_address(given, way->is_bus, deadline, ret_fd)
                     : dbus_connect_path(path, way->is_bus, deadline, ret_fd);
    if (r == -ETIMEDOUT)
        return fault_set(fault, ETIMEDOUT, "%s took the connection and then said nothing",
                         is_given ? given : path);
    if (r < 0)
        return fault_set(fault, -r, "connecting to %s%s%s: %m", is_given ? given : path,
                         is_given ? ", from " : "", is_given ? way->variable : "");
    return 0;
}

/* sd_booted(3) */
static bool is_booted_by_systemd(void)
{
    struct stat status;
    return lstat("/run/systemd/system", &status) == 0 && S_ISDIR(status.st_mode);
}

const char *manager_remedy(const struct manager *manager, char *text, size_t size)
{
    char login[64];
    char login_socket[128];
    login_directory(login, sizeof(login));
    snprintf(login_socket, sizeof(login_socket), "%s/%s", login, user_ways[0].socket);
    if (!is_booted_by_systemd())
        snprintf(text, size,
                 "systemd does not run this machine, so have this program started in a cgroup that "
                 "it may write to");
    else if (manager->ways == root_ways)
        snprintf(text, size, "is systemd's /run to be seen from here?");
    else if (strcmp(manager->directory, login) != 0 && access(login_socket, F_OK) == 0)
        snprintf(text, size, "there is one in %s: set XDG_RUNTIME_DIR to that", login);
    else
        snprintf(
            text, size,
            "a service manager for the user is started by a login through PAM (ssh, a console, "
            "su -l), and at boot after `loginctl enable-linger %u`",
            (unsigned)geteuid());
    return text;
}
