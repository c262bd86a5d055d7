#include "images/build/staging.h"

#include "images/base/interrupt.h"
#include "images/store/layer_sweep.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_POLL_NANOSECONDS 200000000L
#define REMOVE_TRIES 5

int staging_lock(const char *store, const char *name, struct publish_lock *lock,
                 struct progress *progress, struct fault *fault)
{
    sigset_t mask;
    interrupt_mask(&mask);
    for (bool told = false;; told = true) {
        pid_t holder = 0;
        int r = publish_lock(store, name, lock, &holder, fault);
        if (r <= 0)
            return r == 0 ? publish_sweep(lock, fault) : r;
        if (!told)
            progress_note(progress,
                          "process %ld is fetching or changing it already; waiting for that",
                          (long)holder);
        const struct timespec pause = {.tv_nsec = LOCK_POLL_NANOSECONDS};
        ppoll(NULL, 0, &pause, &mask);
        if (interrupt_signal() != 0)
            return fault_set(fault, EINTR, "interrupted while another process has the image");
    }
}

void staging_release(struct staging *place)
{
    if (place->name[0] == '\0')
        return;
    /* A killed program's own children may still be writing their last file. */
    for (int i = 0; i < REMOVE_TRIES; i++) {
        if (tree_remove(place->lock->images_fd, place->name) == 0)
            return;
        poll(NULL, 0, 100);
    }
}

static int directories_make(const struct staging *place, struct fault *fault)
{
    if (mkdir(place->rootfs, 0755) < 0 || mkdir(place->scratch, 0755) < 0)
        return fault_set(fault, errno, "cannot make directories in the image store: %m");
    return 0;
}

int staging_open(struct staging *place, const char *store, const struct publish_lock *lock,
                 struct fault *fault)
{
    place->lock = lock;
    place->store = store;
    int r = publish_begin(lock, place->name, fault);
    if (r < 0) {
        place->name[0] = '\0';
        return r;
    }
    int length = snprintf(place->rootfs, PATH_MAX, "%s/images/%s/rootfs", store, place->name);
    snprintf(place->scratch, PATH_MAX, "%s/images/%s/scratch", store, place->name);
    if (length + 64 >= PATH_MAX)
        return fault_set(fault, ENAMETOOLONG, "the path of the image store is too long");
    return directories_make(place, fault);
}

int staging_empty(const struct staging *place, struct fault *fault)
{
    int r = tree_remove(AT_FDCWD, place->rootfs);
    if (r == 0)
        r = tree_remove(AT_FDCWD, place->scratch);
    return r < 0 ? fault_set(fault, -r, "cannot empty %s: %m", place->rootfs)
                 : directories_make(place, fault);
}

void staging_clear_layers(const char *store, struct progress *progress)
{
    struct sweep sweep = {0};
    struct fault fault = {0};
    if (layer_sweep(store, &sweep, &fault) < 0)
        progress_note(progress, "note: former layers were not removed: %s", fault.text);
    else if (sweep.held > 0)
        progress_note(progress, "note: former layers are in use and stay; `code-sandbox-mcp "
                                "images prune` removes them later");
}

char *staging_time(void)
{
    return staging_time_of(time(NULL));
}

char *staging_time_of(time_t when)
{
    char text[32];
    struct tm parts;
    if (gmtime_r(&when, &parts) == NULL)
        return NULL;
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return strdup(text);
}
