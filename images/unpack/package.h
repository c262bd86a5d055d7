/*
 * Decides which members of a Debian package go into an image, and where. Pure functions on
 * normalised member names (member.h). Side: any.
 */
#ifndef IMAGES_UNPACK_PACKAGE_H
#define IMAGES_UNPACK_PACKAGE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether the member is wanted: not manuals, translations, desktop data and Python's test modules;
 * of usr/share/doc only the licences.
 */
bool package_member_wanted(const char *name, mode_t type);

/*
 * Moves names in /bin, /lib and the like, which are links to /usr (usrmerge), below /usr; other
 * names stay unchanged. false if too long. A bare "lib" is moved only if it is a directory:
 * base-files ships the links themselves.
 */
bool package_member_place(const char *name, bool is_directory, char ret_place[PATH_MAX]);

/* Holds the control data of each package until the image is finished: NNNN.control and
 * NNNN.postinst, in the order of the packages. */
#define SETUP_DIRECTORY ".code-sandbox-setup"

/* The links of usrmerge, to be made before any package: NULL-terminated "bin", "lib", ... */
extern const char *const package_merged_directories[];

#endif
