/*
 * Node.js and npm packages for the node image, installed by the host's npm with its settings
 * (npm_host.c), else by Debian's npm in the image (npm.c); both jailed.
 *
 * npm checks each package against its registry's integrity digest; no script of a package is run.
 * Side: parent, except npm_place().
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
 * No scripts, no git, only the packages, and no output unless npm fails. Older npm versions ignore
 * unknown options such as allow-git.
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

/* 0: this host has npm; 1: it does not; -EINTR, or another negative errno. */
int npm_find(struct npm_host *ret_host, struct fault *fault);

/*
 * Starts the host's npm in an installer's jail. It sees the host's system directories read-only,
 * the settings of registries, and a directory of its own in scratch, into which it installs
 * Node.js, npm and @google/genai; or exactly `locked` (lock.npm), unless NULL. It runs in the
 * background. 0 or a negative errno.
 */
int npm_start(const struct staging *place, const struct npm_host *host, const char *locked,
              struct subprocess *child, struct fault *fault);

/*
 * Waits for npm, and moves its packages to rootfs/NPM_ASIDE for npm_place(). 0; -EPROTO with npm's
 * message; -EINTR; or another negative errno.
 */
int npm_finish(const struct staging *place, struct subprocess *child, struct progress *progress,
               struct fault *fault);

/* Before npm_place(): records the installed packages in lock->npm. 0 or a negative errno. */
int npm_note(const char *root, struct lock *lock, struct fault *fault);

/* In a jailed child: moves the packages left by npm_finish(), if any, to their places. */
int npm_place(struct fault *fault);

/*
 * Adds @google/genai with Debian's npm in the finished image, jailed but with the host's network.
 * The image is useful without it, so a failure is only noted. 0 or -EINTR.
 */
int npm_install_inside(const char *root, struct progress *progress, struct fault *fault);

#endif
