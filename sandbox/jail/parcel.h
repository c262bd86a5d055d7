/*
 * The parcel of a run (sandbox/jail/child/parcel.h), as the parent makes it.
 *
 * A run without input files has a parcel that is its code and nothing else.
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

/* Copies the code and the input files, which run_inputs_check() has approved. 0 or -ENOMEM. */
int parcel_make(const struct run_spec *spec, struct parcel *ret_parcel);

/* Frees the bytes. The numbers stay: they describe the memory that the bytes were copied to. */
void parcel_release(struct parcel *parcel);

/* A file in the memory of a parcel: its bytes, and where the record behind it begins. */
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
