/*
 * What apt, dpkg's status file, pip and npm say, read.  Pure functions on text, which may come
 * from an image and is not trusted.  Side: both.
 */
#ifndef IMAGES_BUILD_INSTALLER_OUTPUT_H
#define IMAGES_BUILD_INSTALLER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a line NAME='VALUE' of `apt-config shell`, owned; NULL when it is not there. */
char *apt_value(const char *text, const char *name);

/* Counts the lines "'URI' FILE SIZE HASH" of `apt-get --print-uris` and adds up their sizes. */
void apt_uris_sum(const char *text, size_t *ret_count, uint64_t *ret_bytes);

#define VERSION_SIZE 64 /* longer ones are cut */

/* The "version" of a package.json. False: there is none; version is as it was. */
bool npm_record_version(const char *json, size_t length, char version[VERSION_SIZE]);

/* The version in the name of a directory "NAME-VERSION.dist-info", as pip makes them. As above. */
bool distribution_version(const char *path, char version[VERSION_SIZE]);

#define ANSWER_LINE_SIZE 256 /* longer ones are cut */

/* Why pip or npm failed, in one line, by what they wrote to stderr. Returns `line`. */
const char *pip_failure(const char *text, char line[ANSWER_LINE_SIZE]);
const char *npm_failure(const char *text, char line[ANSWER_LINE_SIZE]);

/*
 * The upstream part of a package's version in dpkg's status: "1:2.2.4+ds-1" is "2.2.4". `status`
 * and `package` may be NULL. False: it is not there; version is as it was.
 */
bool status_version(const char *status, const char *package, char version[VERSION_SIZE]);

#endif
