/*
 * Jailed children: all that touches the bytes of an archive or the files of an image. Their jail is that
 * of sandbox/jail, made by another plan.
 *
 * Side: parent.
 */
#ifndef IMAGES_UNPACK_JAILED_H
#define IMAGES_UNPACK_JAILED_H

#include "images/base/subprocess.h"
#include "sandbox/jail/image_plan.h"

/* Starts one; subprocess_wait_all() tells its end. 0, or a negative errno: also when it cannot be made. */
int jailed_start(const struct image_jail *jail, struct subprocess *child, struct fault *fault);

/* After subprocess_wait_all(): a child that ended badly without a word is a fault too. */
int jailed_check(const struct subprocess *child, struct fault *fault);

/* Starts one and waits for its end, which is checked. */
int jailed_run(const struct image_jail *jail, const struct subprocess_observer *observer,
               struct fault *fault);

/* Whether this host lets us make such a jail: known before anything is downloaded. 0 or a fault. */
int jailed_probe(const char *root, struct fault *fault);

/*
 * Runs a program of the image to its end; body and data of `jail` are not used. 0; 1 when the image has
 * no such program; -EPROTO with its last words when it fails; -EINTR; or another negative errno.
 */
int jailed_program(const struct image_jail *jail, const struct image_program *program,
                   struct fault *fault);

#endif
