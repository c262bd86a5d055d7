/*
 * Compares layers with the lists of files made together with them (contents.h).
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_VERIFICATION_H
#define IMAGES_BUILD_VERIFICATION_H

#include "images/store/store.h"

#include <stdbool.h>

struct found_difference {
    char *path; /* owned, as in the list */
    const char *what;
    char how[64];
};

/* The result for one layer. */
struct verified_layer {
    char id[LAYER_ID_SIZE];
    bool has_list; /* layers of older versions have none */
    size_t entry_count;
    struct found_difference *differences; /* owned */
    size_t difference_count;
};

/* Layers compared so far: images share layers. Empty is {0}. */
struct verification {
    struct verified_layer *layers; /* owned */
    size_t layer_count;
};

void verification_release(struct verification *verification);

/*
 * Compares a layer, held by `layer_fd`, unless already done. `ret_number` is its index in `layers`.
 * 0 with or without differences; a negative errno if the layer cannot be compared.
 */
int verification_add(struct verification *verification, const char *id, int layer_fd,
                     size_t *ret_number, struct fault *fault);

/*
 * The command `verify`: argv[0] is the program. Returns the exit status; `prepare` initialises the
 * process.
 */
int verify_main(int argc, char **argv, int (*prepare)(void));

#endif
