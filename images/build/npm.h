/*
 * Node.js and npm packages for the node image: by the npm client of the host, with its settings,
 * else by the one of Debian inside the image.
 *
 * npm checks each package against the integrity its registry gives; no script of a package is run.
 * Side: parent, but npm_place().
 */
#ifndef IMAGES_BUILD_NPM_H
#define IMAGES_BUILD_NPM_H

#include "images/base/progress.h"
#include "images/base/subprocess.h"
#include "images/build/staging.h"
#include "images/store/lock.h"
#include "sandbox/base/fault.h"

#define NODE_MAJOR "24" /* the current line with long-term support */

/* Where the packages say their version, once they are in place. */
#define NODE_RECORD "usr/share/doc/node/package.json"
#define NPM_RECORD "usr/lib/node_modules/npm/package.json"
#define GENAI_RECORD "node_modules/@google/genai/package.json"

/* 0: this host has npm; 1: it has not; -EINTR. */
int npm_find(struct fault *fault);

/*
 * Starts the host's npm, which is to put Node.js, npm and @google/genai below
 * rootfs/SETUP_DIRECTORY/npm, where npm_place() takes them from; its cache is in the scratch
 * directory. `locked`: lock.npm, and just that comes; or NULL. It works while the caller does other
 * things. 0 or a negative errno.
 */
int npm_start(const struct staging *place, const char *locked, struct subprocess *child,
              struct fault *fault);

/* Waits for it. 0; -EPROTO with npm's words; -EINTR; or another negative errno. */
int npm_finish(struct subprocess *child, struct progress *progress, struct fault *fault);

/* Before npm_place(): notes what came as lock->npm. 0 or a negative errno. */
int npm_note(const char *root, struct lock *lock, struct fault *fault);

/* In a confined child: moves what npm_install() left to its places, if it left anything. */
int npm_place(struct fault *fault);

/*
 * Has Debian's npm in the finished image add @google/genai, confined but with the host's network.
 * Without it the image is of use too: a failure is noted only. 0 or -EINTR.
 */
int npm_install_inside(const char *root, struct progress *progress, struct fault *fault);

#endif
