/*
 * What a WWW-Authenticate header asks for.
 *
 * A pure reader of what a registry sent: untrusted. Side: parent.
 * Source: RFC 9110, 11.2 and 11.6.1; distribution, "Token Authentication Specification".
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

/* Texts that were not given are "". */
struct challenge {
    enum challenge_scheme scheme;
    char realm[CHALLENGE_TEXT_MAX];
    char service[CHALLENGE_TEXT_MAX];
    char scope[CHALLENGE_TEXT_MAX];
    char error[CHALLENGE_TEXT_MAX];
};

/*
 * Reads the challenges of one header's value and picks the best one: Bearer, else Basic, else the
 * first. 0; -EINVAL when the value is malformed, has no challenge, or more than
 * CHALLENGES_MAX, or a text that is too long.
 */
int challenge_parse(const char *value, struct challenge *ret_challenge);

#endif
