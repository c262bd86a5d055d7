/*
 * A parcel holds the code and the input files of a run, in the sealed memory of plan->code_fd. The code
 * starts at offset 0. A record for each file follows: struct parcel_file, the NUL-terminated name, the
 * bytes. The parent's message WORD_CODE gives the length of the code and the number of files.
 *
 * A name, as that of the code, is a path below the work directory; with a slash at its beginning, below the home
 * directory. With one at its end, it is a directory.
 *
 * Side: both. The parent writes it (sandbox/jail/parcel.h), the child reads it.
 */
#ifndef SANDBOX_JAIL_CHILD_PARCEL_FORMAT_H
#define SANDBOX_JAIL_CHILD_PARCEL_FORMAT_H

#include <limits.h>
#include <stdint.h>

#define PARCEL_NAME_SIZE_MAX PATH_MAX

struct parcel_file {
    uint64_t length;    /* of the bytes */
    uint32_t name_size; /* with the NUL; <= PARCEL_NAME_SIZE_MAX */
    uint32_t is_executable; /* 0 or 1 */
};

#endif
