/*
 * Jailed children: only they read the bytes of an archive or touch the files of an image. Their
 * jail is that of sandbox/jail, with a plan of image_plan.h.
 *
 * Side: parent.
 */
#ifndef IMAGES_UNPACK_JAILED_H
#define IMAGES_UNPACK_JAILED_H

#include "images/base/subprocess.h"
#include "sandbox/jail/image_plan.h"

/*
 * Starts a child; subprocess_wait_all() waits for its end. 0, or a negative errno, also if the jail
 * cannot be made.
 */
int jailed_start(const struct image_jail *jail, struct subprocess *child, struct fault *fault);

/* Call it after subprocess_wait_all(): a child that failed without a report is a fault, too. */
int jailed_check(const struct subprocess *child, struct fault *fault);

/* Starts a child, waits for its end and checks it. */
int jailed_run(const struct image_jail *jail, const struct subprocess_observer *observer,
               struct fault *fault);

/* Checks that this host allows such a jail, before anything is downloaded. 0 or a fault. */
int jailed_probe(const char *root, struct fault *fault);

/*
 * Runs a program of the image to its end; ignores body and data of `jail`. 0; 1: the image has no
 * such program; -EPROTO with the end of its output if it fails; -EINTR; -ENOTRECOVERABLE: the tree
 * cannot become an image any more, whatever else happened; or another negative errno.
 */
int jailed_program(const struct image_jail *jail, const struct image_program *program,
                   struct fault *fault);

#endif
