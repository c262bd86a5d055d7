/*
 * Parses the output of apt, pip and npm, and dpkg's status file. Pure functions on text, which may
 * come from an image and is untrusted. Side: both.
 */
#ifndef IMAGES_BUILD_INSTALLER_OUTPUT_H
#define IMAGES_BUILD_INSTALLER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a line NAME='VALUE' of `apt-config shell`, owned; NULL if absent. */
char *apt_value(const char *text, const char *name);

/* Counts the lines "'URI' FILE SIZE HASH" of `apt-get --print-uris` and adds up their sizes. */
void apt_uris_sum(const char *text, size_t *ret_count, uint64_t *ret_bytes);

/* Adds up the lines "Installed-Size: KIBIBYTES" of `apt-cache show`. In bytes. */
uint64_t apt_installed_sum(const char *text);

#define VERSION_SIZE 64 /* longer ones are cut */

/* The "version" of a package.json. False: none; `version` is unchanged. */
bool npm_record_version(const char *json, size_t length, char version[VERSION_SIZE]);

/* The version in the name of a directory "NAME-VERSION.dist-info", as pip makes them. As above. */
bool distribution_version(const char *path, char version[VERSION_SIZE]);

#define ANSWER_LINE_SIZE 256 /* longer ones are cut */

/* The reason why pip or npm failed, in one line, from its stderr. Returns `line`. */
const char *pip_failure(const char *text, char line[ANSWER_LINE_SIZE]);
const char *npm_failure(const char *text, char line[ANSWER_LINE_SIZE]);

/*
 * The upstream part of a package's version in dpkg's status: "1:2.2.4+ds-1" is "2.2.4". `status`
 * and `package` may be NULL. False: absent; `version` is unchanged.
 */
bool status_version(const char *status, const char *package, char version[VERSION_SIZE]);

#endif
