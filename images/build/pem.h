/*
 * Certificates of a file in PEM form, without anything else in it.
 *
 * Side: parent. Source: RFC 7468.
 */
#ifndef IMAGES_BUILD_PEM_H
#define IMAGES_BUILD_PEM_H

#include "sandbox/base/buffer.h"

#include <stdbool.h>

/*
 * Appends the whole blocks of certificates, and those of keys if wanted; comments, damaged blocks and all others are
 * left out. The number of certificates, or -ENOBUFS or -ENOMEM. `text` may hold any bytes.
 */
int pem_select(const struct buffer *text, bool with_keys, struct buffer *selected);

#endif
