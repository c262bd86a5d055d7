#include "sandbox/scope/manager.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

/* "unix:path=" and a path with each byte possibly escaped as three. */
#define ADDRESS_MAX (16 + 3 * PATH_MAX)

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

/*
 * "unix:path=...", with every byte that needs escaping as %XX: D-Bus Specification, "Server
 * Addresses".
 */
static void address_of_socket(const char *path, char *address, size_t size)
{
    size_t used = (size_t)snprintf(address, size, "unix:path=");
    for (; *path != '\0' && used + sizeof("%XX") <= size; path++) {
        unsigned char byte = (unsigned char)*path;
        bool is_plain = isalnum(byte) || strchr("-_/.\\*", byte) != NULL;
        used += (size_t)snprintf(address + used, size - used, is_plain ? "%c" : "%%%02x", byte);
    }
}

/* Not left to sd_bus_call(), which ignores our time limit until the bus is connected. */
static int await_greeting(sd_bus *bus, int64_t deadline)
{
    while (sd_bus_is_ready(bus) == 0) {
        int r = sd_bus_process(bus, NULL);
        if (r < 0)
            return r;
        if (r > 0)
            continue;
        int64_t left_ns = deadline - clock_now();
        if (left_ns <= 0)
            return -ETIMEDOUT;
        r = sd_bus_wait(bus, (uint64_t)left_ns / 1000);
        if (r < 0 && r != -EINTR)
            return r;
    }
    return 0;
}

static int connect_to(const char *address, bool is_bus, int64_t deadline, sd_bus **ret_bus)
{
    OWNED(sd_bus_close_unrefp) sd_bus *bus = NULL;
    int r = sd_bus_new(&bus);
    if (r >= 0)
        r = sd_bus_set_address(bus, address);
    if (r >= 0)
        r = sd_bus_set_bus_client(bus, is_bus);
    if (r >= 0)
        r = sd_bus_start(bus);
    if (r >= 0)
        r = await_greeting(bus, deadline);
    if (r < 0)
        return r;
    *ret_bus = pointer_take(&bus);
    return 0;
}

int manager_connect(const struct manager *manager, const struct manager_way *way, int64_t deadline,
                    sd_bus **ret_bus, struct fault *fault)
{
    char path[PATH_MAX + 32];
    char address[ADDRESS_MAX];
    const char *given = way->variable != NULL ? getenv(way->variable) : NULL;
    bool is_given = given != NULL && given[0] != '\0';
    snprintf(path, sizeof(path), "%s/%s", manager->directory, way->socket);
    address_of_socket(path, address, sizeof(address));
    int r = connect_to(is_given ? given : address, way->is_bus, deadline, ret_bus);
    if (r == -ETIMEDOUT)
        return fault_set(fault, ETIMEDOUT, "%s took the connection and then said nothing",
                         is_given ? given : path);
    if (r < 0)
        return fault_set(fault, -r, "connecting to %s%s%s: %m", is_given ? given : path,
                         is_given ? ", from " : "", is_given ? way->variable : "");
    return 0;
}

const char *manager_remedy(const struct manager *manager, char *text, size_t size)
{
    char login[64];
    char login_socket[128];
    login_directory(login, sizeof(login));
    snprintf(login_socket, sizeof(login_socket), "%s/%s", login, user_ways[0].socket);
    if (sd_booted() <= 0)
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
