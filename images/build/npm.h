/*
 * Node.js and npm packages for the node image: by the npm client of the host, with its settings
 * (npm_host.c), else by the one of Debian inside the image (npm.c); both jailed.
 *
 * npm checks each package against the integrity its registry gives; no script of a package is run.
 * Side: parent, but npm_place().
 */
#ifndef IMAGES_BUILD_NPM_H
#define IMAGES_BUILD_NPM_H

#include "images/base/progress.h"
#include "images/base/subprocess.h"
#include "images/build/staging.h"
#include "images/store/catalog.h"
#include "images/store/lock.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/fault.h"

#include <limits.h>

/*
 * No scripts, no git, nothing but the packages, and no word unless it fails. What an older npm does
 * not know, such as allow-git, it passes over.
 */
#define NPM_OPTIONS                                                                                \
    "--ignore-scripts", "--omit=dev", "--no-bin-links", "--no-package-lock", "--no-audit",         \
        "--no-fund", "--no-update-notifier", "--logs-max=0", "--loglevel=error",                   \
        "--fetch-retries=1", "--git=/bin/false", "--allow-git=none"
#define GENAI "@google/genai"
#define NPM_ASIDE SETUP_DIRECTORY "/npm" /* in a root file system, until npm_place() */

/* Real host paths: the programs behind `node` and `npm` in PATH. */
struct npm_host {
    char node[PATH_MAX];
    char npm[PATH_MAX];
};

/* 0: this host has npm; 1: it has not; -EINTR, or another negative errno. */
int npm_find(struct npm_host *ret_host, struct fault *fault);

/*
 * Starts the host's npm, jailed as programs of an image are: it sees system directories of the
 * host, read-only, the settings of registries, and its own directory in the scratch directory, where
 * it is to put Node.js, npm and @google/genai. `locked`: lock.npm, and just that comes; or NULL. It
 * works while the caller does other things. 0 or a negative errno.
 */
int npm_start(const struct staging *place, const struct npm_host *host, const char *locked,
              struct subprocess *child, struct fault *fault);

/*
 * Waits for it, and moves what it brought to rootfs/NPM_ASIDE, where npm_place() takes it from. 0;
 * -EPROTO with npm's words; -EINTR; or another negative errno.
 */
int npm_finish(const struct staging *place, struct subprocess *child, struct progress *progress,
               struct fault *fault);

/* Before npm_place(): notes what came as lock->npm. 0 or a negative errno. */
int npm_note(const char *root, struct lock *lock, struct fault *fault);

/* In a jailed child: moves what npm_finish() left to its places, if it left anything. */
int npm_place(struct fault *fault);

/*
 * Has Debian's npm in the finished image add @google/genai, jailed but with the host's network.
 * Without it the image is of use too: a failure is noted only. 0 or -EINTR.
 */
int npm_install_inside(const char *root, struct progress *progress, struct fault *fault);

#endif
