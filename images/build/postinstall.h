/*
 * Turns an unpacked tree into a working system: does the work of maintainer scripts, and provides
 * for runs. Side: parent; the work is done in jailed children.
 */
#ifndef IMAGES_BUILD_POSTINSTALL_H
#define IMAGES_BUILD_POSTINSTALL_H

#include "images/base/progress.h"
#include "images/base/subprocess.h"
#include "images/store/catalog.h"
#include "images/store/lock.h"
#include "images/store/store.h"
#include "sandbox/base/fault.h"

struct postinstall {
    const struct recipe *recipe; /* borrowed */
    const struct lock *locked; /* the exact packages to install, or NULL */
    struct lock *lock;         /* records what was fetched */
    const char *scratch;       /* a directory for temporary files */
};

/*
 * For a tree of Debian packages, as unpack_packages() left it. Runs programs of the image, pip
 * among them: the recipe's packages from the index are installed if possible.
 */
int postinstall_packages(const char *root, const struct postinstall *finish,
                         struct progress *progress, struct fault *fault);

/*
 * For a tree from elsewhere: adds missing mount points and the account. None of its programs is
 * run. -EBADMSG if it does not look like a root file system.
 */
int postinstall_archive(const char *root, struct fault *fault);

/* Fills size, file count, summary and home links of the record; the last step. */
int postinstall_inspect(const char *root, const struct recipe *recipe, struct image *image,
                        struct fault *fault);

/* Stores one message of the child in the image, `data`; for tests. */
void postinstall_take_message(void *data, const struct message *message);

#endif
