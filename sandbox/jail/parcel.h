/*
 * The parcel of a run (sandbox/jail/child/parcel_format.h), as the parent makes it.
 *
 * Without input files, the parcel is just the code.
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_PARCEL_H
#define SANDBOX_JAIL_PARCEL_H

#include "sandbox/jail/run_spec.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct parcel {
    char *bytes; /* owned; NULL after parcel_release() */
    size_t length;
    size_t code_length;
    uint32_t file_count;
};

/* The length of the parcel that parcel_make() makes. */
size_t parcel_size(const struct run_spec *spec);

/* Copies the code and the input files; run_inputs_check() must have passed. 0 or -ENOMEM. */
int parcel_make(const struct run_spec *spec, struct parcel *ret_parcel);

/* Frees the bytes. The numbers stay valid for the memory that holds the copy. */
void parcel_release(struct parcel *parcel);

/* Where the bytes of a file begin and end in the memory of a parcel; the next record begins at `end`. */
struct parcel_place {
    off_t begin, end;
};

/*
 * Reads the record of a file at `offset`, the first one being at code_length; `ret_name` has
 * PARCEL_NAME_SIZE_MAX bytes. 0; -EIO there is none; another negative errno: read(2).
 */
int parcel_read_file(int fd, off_t offset, char *ret_name, struct parcel_place *ret_place);

/* The name of the file of that number, from the bytes; "" if there is none. Borrowed. */
const char *parcel_name(const struct parcel *parcel, size_t number);

#endif
