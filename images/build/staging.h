/*
 * The staging directory of an image in progress, used under the lock of its name.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_STAGING_H
#define IMAGES_BUILD_STAGING_H

#include "images/base/progress.h"
#include "images/store/publish.h"

#include <limits.h>

struct staging {
    const struct publish_lock *lock; /* borrowed */
    const char *store;               /* likewise */
    char name[STORE_STAGING_MAX];    /* below STORE/images; "" none */
    char rootfs[PATH_MAX];         /* empty directories in it: absolute host paths */
    char scratch[PATH_MAX];
};

/*
 * Takes the lock of the name, waiting while another process holds it, and sweeps leftovers of dead
 * processes. 0; -EINTR; or another negative errno.
 */
int staging_lock(const char *store, const char *name, struct publish_lock *lock,
                 struct progress *progress, struct fault *fault);

/* Makes the directories. 0 or a negative errno. */
int staging_open(struct staging *place, const char *store, const struct publish_lock *lock,
                 struct fault *fault);

/* Empties both directories, to start over. 0 or a negative errno. */
int staging_empty(const struct staging *place, struct fault *fault);

/* Removes the staging directory, unless its name is "": then it was published. */
void staging_release(struct staging *place);

/*
 * Removes layers of the former image and of failed or killed commands; reports layers still in use.
 */
void staging_clear_layers(const char *store, struct progress *progress);

/* The current time in UTC, in the format of RFC 3339; owned; NULL: no memory. */
char *staging_time(void);
/* The same of a time of a file, so that they compare as texts. Owned; NULL. */
char *staging_time_of(time_t when);

#endif
