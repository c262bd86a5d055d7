/*
 * The image sources: everything from which `fetch NAME --from TEXT` can make a root file system.
 *
 * Each kind is one file, source_KIND.c, with its name in the list of meson.build. The first kind in
 * the list that matches makes the image. An archive is unpacked and its directory matched again.
 *
 * Side: parent; archives are read in jailed children.
 */
#ifndef IMAGES_REGISTRY_SOURCE_H
#define IMAGES_REGISTRY_SOURCE_H

#include "images/base/manifest.h"
#include "images/base/progress.h"
#include "images/store/lock.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

/* The input of a source; borrowed. */
struct source_input {
    const char *text;  /* of --from; NULL for an unpacked archive */
    int fd;            /* the file or directory; -1: the text is not a path */
    bool is_directory;
};

/* Where to make it: absolute paths of empty directories on one file system. Borrowed. */
struct source_site {
    const char *store;   /* keeps downloads */
    const char *rootfs;  /* becomes the root file system */
    const char *scratch; /* for temporary files */
    struct progress *progress;
};

/*
 * Facts about an image besides its files; owned: source_release_provenance() frees. Empty is {0}.
 */
struct provenance {
    struct configuration configuration; /* of an image in layers */
    struct lock lock;
    char *source; /* for people */
};

void source_release_provenance(struct provenance *provenance);

struct image_source {
    const char *help; /* its lines in --help */
    bool (*matches)(const struct source_input *input);
    /* Refuses a text that cannot be such a source, with -EINVAL; NULL: no early check. */
    int (*check)(const char *text, struct fault *fault);
    /*
     * 0; -EBADMSG for damaged or hostile content; -EFBIG over the maxima of member.h; other errno.
     */
    int (*make)(const struct source_input *input, const struct source_site *site,
                struct provenance *provenance, struct fault *fault);
    bool is_rootfs; /* the directory is the root file system itself */
};

/* NULL-terminated, in the order of matching. */
extern const struct image_source *const source_list[];

/* The kind of the input; each input has one. */
const struct image_source *source_find(const struct source_input *input);

/* Whether the directory looks like a root file system. */
bool source_is_rootfs(int directory_fd);

/* Whether the text of --from can name a source. 0 or -EINVAL; paths are opened by source_make(). */
int source_check(const char *text, struct fault *fault);

/* What the record of an image made from this text of --from names as its source. Owned; NULL: no memory. */
char *source_name(const char *text);

/*
 * Makes the image from the source given in --from, and fills in the provenance. Returns like
 * image_source.make.
 */
int source_make(const char *text, const struct source_site *site, struct provenance *provenance,
                struct fault *fault);

#endif
