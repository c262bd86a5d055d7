/*
 * The program that fetches images and adds to them: executed in the place of this one.
 *
 * Side: parent.
 */
#ifndef CLI_IMAGE_PROCESS_H
#define CLI_IMAGE_PROCESS_H

#include "sandbox/host_probe.h"

/*
 * Tries the host. Where it needs a weaker tier, and the operator allows that (SANDBOX_WEAKER: there are no settings here),
 * the program makes images in jails of that tier. 0, or a negative errno: nothing could be tried.
 */
int image_program_try_host(struct host_finding *ret_host);

/* Goes on as its command `word` with these arguments. Returns the exit status only of a failure. */
int image_program_execute(const char *word, int argc, char **argv);

#endif
