/*
 * Writes the members of an archive into the tree at the working directory, by rules of our own:
 *
 * - names are relative, without ".."; no member is written through a symbolic link, except in
 *   layers, where links are followed inside the tree and absolute names start at its top;
 * - only directories, regular files, symbolic and hard links are made; devices, FIFOs and sockets
 *   are skipped;
 * - no owners, no setuid or setgid, no ACLs, attributes or flags; everyone may read, and execute if
 *   anyone may; only the owner may write;
 * - bytes, members and depth have a maximum.
 *
 * The tree is already the root of the process (jailed.h): these rules are a second wall, and they
 * give the clear error message.
 *
 * Side: jailed child.  Source: openat2(2), tar(5); OCI image-spec, layer.md.
 */
#ifndef IMAGES_UNPACK_MEMBER_H
#define IMAGES_UNPACK_MEMBER_H

#include "images/unpack/hash_set.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/tree.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define TREE_BYTES_MAX (UINT64_C(16) << 30)
#define TREE_MEMBERS_MAX 500000
#define WHITEOUT_LOOKS_MAX (4 * TREE_MEMBERS_MAX) /* entries, in all layers together */

/* The size of the tree so far; shared by all processes that write it. */
struct tree_usage {
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t members;
    uint64_t looks; /* of whiteouts, at entries; only one process makes them */
};

struct member {
    const char *name;     /* from the archive: untrusted */
    const char *link;     /* target of a symbolic or hard link, else NULL: untrusted */
    bool hard_link;       /* link names another member */
    mode_t type;          /* S_IFREG, ...; not used for hard links */
    mode_t permissions;   /* 07777 */
    uint64_t size;        /* of a regular file */
    struct timespec time; /* modification time; tv_sec 0: unknown */
};

/* The kind of archives unpacked into one tree. */
enum tree_kind {
    TREE_WHOLE,    /* one, with everything */
    TREE_PACKAGES, /* several independent ones: a directory may already exist as a link */
    TREE_LAYERS, /* each may replace entries of those before it, and remove them by whiteouts */
};

struct member_writer {
    struct tree_usage *usage; /* borrowed */
    enum tree_kind kind;
    struct hash_set names; /* owned: what this layer has made so far */
    int parent_fd; /* the directory of the last member */
    ino_t parent_inode; /* of TREE_LAYERS */
    char parent[PATH_MAX]; /* and its name */
};

/* One writer writes one archive of TREE_LAYERS, any number of the others. */
void member_writer_open(struct member_writer *writer, struct tree_usage *usage,
                        enum tree_kind kind);
void member_writer_close(struct member_writer *writer);

/*
 * Makes one member. 0, and for a regular file its descriptor to write `size` bytes to, owned by the
 * caller, else -1; -EBADMSG for a member that breaks the rules; -EFBIG over a maximum; or another
 * negative errno.
 */
int member_writer_add(struct member_writer *writer, const struct member *member, int *ret_fd,
                      struct fault *fault);

/*
 * Normalises the name of a member: no "./", no double or trailing slashes; "" for the root itself.
 * 0; -EBADMSG: an absolute name, a "..", or a name too long or deep.
 */
int member_name_normalize(const char *name, char ret_plain[PATH_MAX], struct fault *fault);

/* The name made safe for a message: bytes unfit for a terminal become '?'. */
const char *member_name_for_people(const char *name, char buffer[256]);

#endif
