/*
 * What doctor says of the variables that snippets get: names only.
 *
 * Side: parent.
 */
#ifndef CLI_DOCTOR_ENVIRONMENT_H
#define CLI_DOCTOR_ENVIRONMENT_H

#include "cli/doctor.h"
#include "sandbox/base/json.h"

void doctor_environment_print(const struct settings *settings,
                              void (*print_finding)(enum verdict verdict, const char *what,
                                                    const char *text));

/* Writes the value of a member. */
void doctor_environment_write(struct json_writer *writer, const struct settings *settings);

#endif
