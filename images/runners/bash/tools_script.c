#include "images/runners/bash/tools_script.h"

#include "images/runners/bash/tools_system.h"

static struct flock lock_at(int64_t offset, int type)
{
    return (struct flock){
        .l_type = (short)type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
}

bool take_lock(int64_t offset)
{
    struct flock lock = lock_at(offset, F_WRLCK);
    return system_lock(CALLS_FD, F_SETLK, &lock) == 0;
}

void leave_lock(int64_t offset)
{
    struct flock lock = lock_at(offset, F_UNLCK);
    system_lock(CALLS_FD, F_SETLK, &lock);
}

bool is_locked(int64_t offset)
{
    struct flock lock = lock_at(offset, F_WRLCK);
    return system_lock(CALLS_FD, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Whether all of the script waits. */

static size_t read_text(const char *path, char *text, size_t size)
{
    int fd = (int)system_open(path, O_RDONLY);
    long length = fd < 0 ? 0 : system_read(fd, text, size - 1);
    if (fd >= 0)
        system_close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

/* "/proc/PID/NAME". */
static void make_path(char path[64], const char *pid, const char *name)
{
    const char *const parts[] = {"/proc/", pid, "/", name};
    size_t length = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        for (const char *part = parts[i]; *part != '\0' && length < 63; part++)
            path[length++] = *part;
    path[length] = '\0';
}

/* A number of /proc/PID/stat, counted from the state, which is 0; -1: there is none. */
static long stat_number(const char *stat, int place)
{
    const char *at = stat + length_of(stat);
    while (at > stat && *at != ')')
        at--;
    if (at == stat)
        return -1;
    for (at++; place >= 0 && *at == ' '; place--)
        for (at++; place > 0 && *at != ' ' && *at != '\0';)
            at++;
    long number = *at >= '0' && *at <= '9' ? 0 : -1;
    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (*at - '0');
    return number;
}

static bool has_ended(const char *stat)
{
    const char *at = stat + length_of(stat);
    while (at > stat && *at != ')')
        at--;
    return at > stat && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

/* For a child, or for what another process writes: as the kernels name it. */
static bool waits_for_others(const char *pid)
{
    static const char *const places[] = {"do_wait", "pipe_read", "anon_pipe_read", "pipe_wait"};
    char path[64], place[64];
    make_path(path, pid, "wchan");
    read_text(path, place, sizeof(place));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (is_same(place, places[i]))
            return true;
    return false;
}

#define STAT_SESSION 3
#define STAT_THREADS 17

/* A process that waits for a place waits for calls only as long as there is none: *ret_comes. */
static bool process_waits(const char *pid, bool *ret_comes)
{
    char path[64], stat[1024];
    make_path(path, pid, "stat");
    if (read_text(path, stat, sizeof(stat)) == 0)
        return true; /* it is gone */
    if (stat_number(stat, STAT_SESSION) != system_session() || has_ended(stat))
        return true;
    int64_t number = 0;
    for (const char *digit = pid; *digit != '\0'; digit++)
        number = number * 10 + (*digit - '0');
    if (number == system_pid() || is_locked(WAITERS + number))
        return true;
    if (is_locked(COMERS + number))
        return *ret_comes = true;
    return stat_number(stat, STAT_THREADS) == 1 && waits_for_others(pid);
}

struct directory_entry {
    uint64_t inode, offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static bool processes_wait(bool *ret_comes)
{
    static char entries[32768] __attribute__((aligned(8)));
    int fd = (int)system_open("/proc", O_RDONLY | O_DIRECTORY);
    bool waits = fd >= 0;
    long length = waits ? system_list(fd, entries, sizeof(entries)) : 0;
    for (; waits && length > 0; length = system_list(fd, entries, sizeof(entries)))
        for (long at = 0; waits && at < length;) {
            const struct directory_entry *entry = (const void *)(entries + at);
            waits = entry->name[0] < '0' || entry->name[0] > '9' ||
                    process_waits(entry->name, ret_comes);
            at += entry->length;
        }
    if (fd >= 0)
        system_close(fd);
    return waits && length >= 0;
}

/* Which other processes have calls that are open; 0: none has this place. How many there are with that of this process. */
static uint32_t look_at_places(int owners[CALLS_AT_ONCE])
{
    uint32_t count = 1;
    for (int place = 0; place < CALLS_AT_ONCE; place++) {
        struct flock lock = lock_at(PLACES + place, F_WRLCK);
        bool is_taken = system_lock(CALLS_FD, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
        owners[place] = is_taken ? lock.l_pid : 0;
        count += is_taken;
    }
    return count;
}

/* A process that ends while others are looked at lets some go on that were seen waiting: its parent, and who wants its place. */
uint32_t count_waiting(void)
{
    int before[CALLS_AT_ONCE], after[CALLS_AT_ONCE];
    bool comes = false;
    look_at_places(before);
    bool waits = processes_wait(&comes);
    uint32_t count = look_at_places(after);
    for (int place = 0; place < CALLS_AT_ONCE; place++)
        waits &= before[place] == after[place];
    return waits && (!comes || count == CALLS_AT_ONCE) ? count : 0;
}
