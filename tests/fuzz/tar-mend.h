/*
 * Checksums in tar headers: libFuzzer does not guess them, and without them hardly a byte is read.
 */
#ifndef TESTS_FUZZ_TAR_MEND_H
#define TESTS_FUZZ_TAR_MEND_H

#include <stddef.h>
#include <stdint.h>

/* A copy of the bytes, owned, in which every header that can be walked to has its right checksum. */
uint8_t *tar_mend(const uint8_t *data, size_t size);

#endif
