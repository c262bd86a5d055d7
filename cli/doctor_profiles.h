/*
 * Files that an administrator installs, so that sandboxes can be made: profiles of AppArmor and seccomp.
 *
 * Side: parent. Source: apparmor.d(5); Docker's "Seccomp security profiles"; Kubernetes' SecurityContext.
 */
#ifndef CLI_DOCTOR_PROFILES_H
#define CLI_DOCTOR_PROFILES_H

#include "sandbox/base/fault.h"

#include <stdbool.h>

/* Whether there is one of that name: "apparmor", "docker" or "kubernetes". */
bool doctor_profiles_have(const char *name);

/* Prints it for this program as it is installed. 0, or a negative errno with its fault. */
int doctor_profiles_print(const char *name, struct fault *fault);

#endif
