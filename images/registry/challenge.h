/*
 * Parses the challenges of a WWW-Authenticate header.
 *
 * A pure parser of untrusted text from a registry. Side: parent. Source: RFC 9110, 11.2 and 11.6.1;
 * distribution, "Token Authentication Specification".
 */
#ifndef IMAGES_REGISTRY_CHALLENGE_H
#define IMAGES_REGISTRY_CHALLENGE_H

#include <stddef.h>

#define CHALLENGE_TEXT_MAX 2048
#define CHALLENGES_MAX 8

enum challenge_scheme {
    CHALLENGE_OTHER, /* one that we cannot answer */
    CHALLENGE_BASIC,
    CHALLENGE_BEARER,
};

/* Absent texts are "". */
struct challenge {
    enum challenge_scheme scheme;
    char realm[CHALLENGE_TEXT_MAX];
    char service[CHALLENGE_TEXT_MAX];
    char scope[CHALLENGE_TEXT_MAX];
    char error[CHALLENGE_TEXT_MAX];
};

/*
 * Reads the challenges of one header's value and picks the best one: Bearer, else Basic, else the
 * first. 0; -EINVAL if the value is malformed, has no challenge or more than CHALLENGES_MAX, or a
 * text is too long.
 */
int challenge_parse(const char *value, struct challenge *ret_challenge);

#endif
