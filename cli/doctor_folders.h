/*
 * What doctor says about folders of the host.
 *
 * Side: parent.
 */
#ifndef CLI_DOCTOR_FOLDERS_H
#define CLI_DOCTOR_FOLDERS_H

#include "cli/doctor.h"
#include "sandbox/base/json.h"

/* Prints one line for the modes and one for each folder; `print` prints a line of doctor. */
void doctor_folders_print(const struct examination *examination,
                          void (*print)(enum verdict verdict, const char *what, const char *text));

/* Writes an object with the modes and the folders. */
void doctor_folders_write(struct json_writer *writer, const struct examination *examination);

#endif
