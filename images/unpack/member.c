#include "images/unpack/member.h"

#include "images/unpack/whiteout.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/base/utf8.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINKS_MAX 40 /* followed in one name, like the kernel: path_resolution(7) */

const char *member_name_for_people(const char *name, char buffer[256])
{
    snprintf(buffer, 256, "%s", name);
    utf8_make_plain(buffer, false);
    return buffer;
}

static int refuse(struct fault *fault, const char *name, const char *why)
{
    char shown[256];
    return fault_set(fault, EBADMSG, "the archive is refused: its member \"%s\" %s",
                     member_name_for_people(name, shown), why);
}

static int refuse_link(struct fault *fault, const char *name, const char *link, const char *why)
{
    char shown[256], target[256];
    return fault_set(
        fault, EBADMSG, "the archive is refused: its member \"%s\", a link to \"%s\", %s",
        member_name_for_people(name, shown), member_name_for_people(link, target), why);
}

/* Reports a failure caused by the host, most likely a full disk. */
static int failed(struct fault *fault, int error, const char *what, const char *name)
{
    char shown[256];
    return fault_set(fault, error, "cannot %s %s in the image: %m%s", what,
                     member_name_for_people(name, shown),
                     error == ENOSPC || error == EDQUOT
                         ? "; make room, or set XDG_DATA_HOME to a place that has some"
                         : "");
}

/* Takes the next part of a path, skipping "" and ".". NULL: none. */
static const char *part_next(const char **path, size_t *ret_size)
{
    for (;;) {
        const char *part = *path + strspn(*path, "/");
        *ret_size = strcspn(part, "/");
        *path = part + *ret_size;
        if (*ret_size == 0)
            return NULL;
        if (*ret_size != 1 || part[0] != '.')
            return part;
    }
}

/* Returns the new length, or 0 if there is no room. */
static size_t part_append(char plain[PATH_MAX], size_t length, const char *part, size_t size)
{
    if (length + size + 2 > PATH_MAX)
        return 0;
    if (length > 0)
        plain[length++] = '/';
    memcpy(plain + length, part, size);
    plain[length + size] = '\0';
    return length + size;
}

int member_name_normalize(const char *name, char ret_plain[PATH_MAX], struct fault *fault)
{
    size_t length = 0, depth = 0, size = 0;
    const char *rest = name;
    ret_plain[0] = '\0';
    if (name[0] == '/')
        return refuse(fault, name, "has an absolute name");
    for (const char *part; (part = part_next(&rest, &size)) != NULL;) {
        if (size == 2 && part[0] == '.' && part[1] == '.')
            return refuse(fault, name, "leads out of the root file system");
        if (++depth > TREE_DEPTH_MAX)
            return refuse(fault, name, "is deeper than 64 directories");
        length = size <= NAME_MAX ? part_append(ret_plain, length, part, size) : 0;
        if (length == 0)
            return refuse(fault, name, "has too long a name");
    }
    return 0;
}

/*
 * Resolves the target of a link in the directory `parent`. 0, -ENAMETOOLONG, or -ELOOP: too deep.
 */
static int link_path(const char *parent, const char *target, char ret_plain[PATH_MAX])
{
    const char *const paths[] = {target[0] == '/' ? "" : parent, target};
    size_t length = 0, depth = 0, size = 0;
    ret_plain[0] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        const char *rest = paths[i];
        for (const char *part; (part = part_next(&rest, &size)) != NULL;) {
            if (++depth > TREE_DEPTH_MAX)
                return -ELOOP;
            length = part_append(ret_plain, length, part, size);
            if (length == 0)
                return -ENAMETOOLONG;
        }
    }
    return 0;
}

void member_writer_open(struct member_writer *writer, struct tree_usage *usage, enum tree_kind kind)
{
    writer->usage = usage;
    writer->kind = kind;
    writer->names = (struct hash_set){0};
    writer->parent_fd = -1;
    writer->parent_inode = 0;
    writer->parent[0] = '\0';
}

void member_writer_close(struct member_writer *writer)
{
    fd_close(&writer->parent_fd);
    hash_set_clear(&writer->names);
}

/* Opens a directory of the tree by its name, "" being the top. A descriptor or a negative errno. */
static int directory_resolve(const char *name, uint64_t resolve)
{
    return open_resolved(AT_FDCWD, name[0] != '\0' ? name : ".", O_PATH | O_DIRECTORY | O_CLOEXEC,
                         resolve);
}

/* Checks the depth of a directory after following links. 0 or -ELOOP. */
static int depth_check(int directory_fd)
{
    struct stat top, status;
    OWNED_FD int fd = fcntl(directory_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0 || stat(".", &top) < 0)
        return -errno;
    for (int depth = 0; depth <= TREE_DEPTH_MAX; depth++) {
        if (fstat(fd, &status) < 0)
            return -errno;
        if (status.st_ino == top.st_ino && status.st_dev == top.st_dev)
            return 0;
        int above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (above < 0)
            return -errno;
        fd_close(&fd);
        fd = above;
    }
    return -ELOOP;
}

/* Opens a directory of the tree; through symbolic links, which stay inside it, only in layers. */
static int directory_open(const struct member_writer *writer, const char *name)
{
    int plain_fd = directory_resolve(name, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    /* ELOOP: a symbolic link. EXDEV: a "..", from a link. */
    if ((plain_fd != -ELOOP && plain_fd != -EXDEV) || writer->kind != TREE_LAYERS)
        return plain_fd;
    OWNED_FD int fd = directory_resolve(name, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    int r = fd < 0 ? fd : depth_check(fd);
    return r < 0 ? r : fd_take(&fd);
}

static int file_make_directory(const struct member_writer *writer, char *name, int *links);

/*
 * Handles an existing entry in place of a directory: for a layer's dangling link, makes the
 * directory that is its target. 0, or a negative errno.
 */
static int link_target_provide(const struct member_writer *writer, const char *name, int *links)
{
    char target[PATH_MAX], path[PATH_MAX];
    if (writer->kind != TREE_LAYERS)
        return 0;
    const char *slash = strrchr(name, '/');
    OWNED_MEMORY char *parent = strndup(name, slash != NULL ? (size_t)(slash - name) : 0);
    OWNED_FD int parent_fd = parent != NULL ? directory_open(writer, parent) : -ENOMEM;
    if (parent_fd < 0)
        return fd_take(&parent_fd);
    ssize_t length =
        readlinkat(parent_fd, slash != NULL ? slash + 1 : name, target, sizeof(target) - 1);
    if (length <= 0)
        return 0; /* not a link */
    if (++*links > LINKS_MAX)
        return -ELOOP;
    target[length] = '\0';
    int r = link_path(parent, target, path);
    if (r < 0)
        return r;
    OWNED_FD int fd = file_make_directory(writer, path, links);
    return fd < 0 ? fd_take(&fd) : 0;
}

/*
 * Opens a directory, making missing parts. `links` counts the links followed. A descriptor, or a
 * negative errno.
 */
static int file_make_directory(const struct member_writer *writer, char *name, int *links)
{
    int fd = directory_open(writer, name);
    if (fd != -ENOENT || name[0] == '\0')
        return fd;
    char *slash = strrchr(name, '/');
    if (slash != NULL)
        *slash = '\0';
    OWNED_FD int parent_fd =
        slash != NULL ? file_make_directory(writer, name, links) : directory_open(writer, "");
    if (slash != NULL)
        *slash = '/';
    if (parent_fd < 0)
        return fd_take(&parent_fd);
    if (mkdirat(parent_fd, slash != NULL ? slash + 1 : name, 0755) < 0) {
        int r = errno == EEXIST ? link_target_provide(writer, name, links) : -errno;
        if (r < 0)
            return r;
    }
    return directory_open(writer, name);
}

static const char *name_split(char *name)
{
    char *slash = strrchr(name, '/');
    if (slash == NULL)
        return name;
    *slash = '\0';
    return slash + 1;
}

/*
 * Opens or makes the directory of a member. It stays open, since members of one directory usually
 * follow each other. Splits `name` in place; ret_base points to the last part.
 */
static int parent_find(struct member_writer *writer, char *name, const char **ret_base)
{
    const char *base = name_split(name);
    char top[] = "";
    char *parent = base == name ? top : name;
    int links = 0;
    *ret_base = base;
    if (writer->parent_fd >= 0 && strcmp(parent, writer->parent) == 0)
        return 0;
    fd_close(&writer->parent_fd);
    OWNED_FD int fd = file_make_directory(writer, parent, &links);
    if (fd < 0)
        return fd_take(&fd);
    struct stat status = {0};
    if (writer->kind == TREE_LAYERS && fstat(fd, &status) < 0)
        return -errno;
    writer->parent_inode = status.st_ino;
    writer->parent_fd = fd_take(&fd);
    memcpy(writer->parent, parent, strlen(parent) + 1);
    return 0;
}

static mode_t safe_mode(mode_t type, mode_t permissions)
{
    if (type == S_IFDIR)
        return 0755;
    permissions &= 0755;
    return permissions | 0444 | ((permissions & 0111) != 0 ? 0111 : 0);
}

/* Whether a link here leads to a directory inside the tree. */
static bool leads_to_directory(int parent_fd, const char *base)
{
    struct stat status = {0};
    return fstatat(parent_fd, base, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

/* Removes an existing entry to make room for a member; a directory only in layers. */
static int place_clear(const struct member_writer *writer, const char *base,
                       const struct member *member, struct fault *fault)
{
    if (unlinkat(writer->parent_fd, base, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno == EISDIR && writer->kind != TREE_LAYERS)
        return refuse(fault, member->name, "takes the place of a directory");
    int r = errno == EISDIR ? tree_remove(writer->parent_fd, base) : -errno;
    return r < 0 ? failed(fault, -r, "replace", member->name) : 0;
}

static int add_directory(const struct member_writer *writer, const char *base,
                         const struct member *member, struct fault *fault)
{
    mode_t mode = safe_mode(S_IFDIR, member->permissions);
    if (mkdirat(writer->parent_fd, base, mode) == 0)
        return 0;
    if (errno != EEXIST)
        return failed(fault, errno, "make the directory", member->name);
    struct stat status = {0};
    if (fstatat(writer->parent_fd, base, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(status.st_mode))
        return 0;
    if (writer->kind == TREE_PACKAGES && leads_to_directory(writer->parent_fd, base))
        return 0;
    if (writer->kind == TREE_LAYERS) {
        int r = place_clear(writer, base, member, fault);
        if (r < 0 || mkdirat(writer->parent_fd, base, mode) == 0)
            return r;
        return failed(fault, errno, "make the directory", member->name);
    }
    return refuse(fault, member->name, "is a directory in the place of another member");
}

static int add_file(const struct member_writer *writer, const char *base,
                    const struct member *member, int *ret_fd, struct fault *fault)
{
    OWNED_FD int fd =
        openat(writer->parent_fd, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, safe_mode(S_IFREG, member->permissions)) < 0)
        return failed(fault, errno, "create", member->name);
    *ret_fd = fd_take(&fd);
    return 0;
}

static int add_symbolic_link(const struct member_writer *writer, const char *base,
                             const struct member *member, struct fault *fault)
{
    if (member->link == NULL || member->link[0] == '\0')
        return refuse(fault, member->name, "is a symbolic link to nothing");
    if (symlinkat(member->link, writer->parent_fd, base) < 0)
        return failed(fault, errno, "make the symbolic link", member->name);
    return 0;
}

/* The name without leading slashes: in a layer an absolute name starts at the top of the tree. */
static const char *name_in_tree(const struct member_writer *writer, const char *name)
{
    return writer->kind == TREE_LAYERS ? name + strspn(name, "/") : name;
}

static int hard_link_fault(int error, const struct member *member, struct fault *fault)
{
    if (error == ENOSPC || error == EDQUOT || error == EMLINK)
        return failed(fault, error, "make the hard link", member->name);
    return refuse_link(fault, member->name, member->link,
                       "links to something that is no earlier member");
}

static int add_hard_link(const struct member_writer *writer, const char *base,
                         const struct member *member, struct fault *fault)
{
    char target[PATH_MAX] = "";
    const char *link = member->link != NULL ? name_in_tree(writer, member->link) : "";
    if (member_name_normalize(link, target, NULL) < 0 || target[0] == '\0')
        return refuse_link(fault, member->name, member->link != NULL ? member->link : "",
                           "links to no place in the root file system");
    const char *last = name_split(target);
    OWNED_FD int target_fd = directory_open(writer, last == target ? "" : target);
    struct stat status, former;
    if (target_fd < 0)
        return hard_link_fault(-target_fd, member, fault);
    if (fstatat(target_fd, last, &status, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(status.st_mode))
        return hard_link_fault(errno, member, fault);
    /* The existing file may be the target of the link. */
    if (fstatat(writer->parent_fd, base, &former, AT_SYMLINK_NOFOLLOW) == 0 &&
        former.st_ino == status.st_ino && former.st_dev == status.st_dev)
        return 0;
    int r = place_clear(writer, base, member, fault);
    if (r == 0 && linkat(target_fd, last, writer->parent_fd, base, 0) < 0)
        r = hard_link_fault(errno, member, fault);
    return r;
}

/* Counts the member against the maxima. */
static int usage_add(struct tree_usage *usage, const struct member *member, struct fault *fault)
{
    if (atomic_fetch_add(&usage->members, 1) + 1 > TREE_MEMBERS_MAX)
        return fault_set(fault, EFBIG, "the archive is refused: it has more than %d members",
                         TREE_MEMBERS_MAX);
    if (member->hard_link || member->type != S_IFREG)
        return 0;
    char shown[256];
    if (member->size > TREE_BYTES_MAX ||
        atomic_fetch_add(&usage->bytes, member->size) + member->size > TREE_BYTES_MAX)
        return fault_set(fault, EFBIG,
                         "the archive is refused: with its member \"%s\" it unpacks to more than "
                         "%d GiB",
                         member_name_for_people(member->name, shown), (int)(TREE_BYTES_MAX >> 30));
    return 0;
}

static int parent_fault(const struct member_writer *writer, int error, const struct member *member,
                        struct fault *fault)
{
    if (error == ELOOP && writer->kind == TREE_LAYERS)
        return refuse(fault, member->name,
                      "goes through symbolic links in a circle, or deeper than 64 directories");
    if (error == ELOOP)
        return refuse(fault, member->name, "goes through a symbolic link");
    if (error == ENOTDIR)
        return refuse(fault, member->name, "goes through something that is no directory");
    return failed(fault, error, "make the directory of", member->name);
}

/*
 * Removes the entries of lower layers named by the whiteout. In an absent directory there are none.
 */
static int add_whiteout(struct member_writer *writer, char *name, const struct whiteout *whiteout,
                        const struct member *member, struct fault *fault)
{
    if (whiteout->kind == WHITEOUT_BAD)
        return refuse(fault, member->name, "is a whiteout of no name");
    if (whiteout->kind == WHITEOUT_IGNORED)
        return 0;
    const char *base = name_split(name);
    OWNED_FD int path_fd = directory_open(writer, base == name ? "" : name);
    if (path_fd == -ENOENT || path_fd == -ENOTDIR)
        return 0;
    if (path_fd < 0)
        return parent_fault(writer, -path_fd, member, fault);
    /* This directory may be removed, too. */
    fd_close(&writer->parent_fd);
    uint64_t left = WHITEOUT_LOOKS_MAX - writer->usage->looks;
    const struct whiteout_scope scope = {&writer->names, &left};
    int r = whiteout->kind == WHITEOUT_NAME ? whiteout_remove(path_fd, whiteout->name, &scope)
                                            : whiteout_empty(path_fd, &scope);
    writer->usage->looks = WHITEOUT_LOOKS_MAX - left;
    if (r == -E2BIG)
        return refuse(fault, member->name,
                      "is one of many whiteouts that go through the same files again and again");
    return r < 0 ? failed(fault, -r, "remove the files below the whiteout", member->name) : 0;
}

/* Makes a member in its directory. */
static int add_here(const struct member_writer *writer, const char *base,
                    const struct member *member, int *ret_fd, struct fault *fault)
{
    if (!member->hard_link && member->type == S_IFDIR)
        return add_directory(writer, base, member, fault);
    if (member->hard_link)
        return add_hard_link(writer, base, member, fault);
    int r = place_clear(writer, base, member, fault);
    if (r < 0)
        return r;
    if (member->type == S_IFLNK)
        return add_symbolic_link(writer, base, member, fault);
    return member->type == S_IFREG ? add_file(writer, base, member, ret_fd, fault) : 0;
}

int member_writer_add(struct member_writer *writer, const struct member *member, int *ret_fd,
                      struct fault *fault)
{
    *ret_fd = -1;
    char name[PATH_MAX] = "";
    int r = member_name_normalize(name_in_tree(writer, member->name), name, fault);
    if (r == 0)
        r = usage_add(writer->usage, member, fault);
    bool known = member->hard_link || member->type == S_IFREG || member->type == S_IFDIR ||
                 member->type == S_IFLNK;
    const bool layer = writer->kind == TREE_LAYERS;
    if (r < 0 || name[0] == '\0' || (!known && !layer))
        return r;
    const struct whiteout whiteout = whiteout_read(name);
    if (layer && whiteout.kind != WHITEOUT_NONE)
        return add_whiteout(writer, name, &whiteout, member, fault);
    const char *base = NULL;
    r = parent_find(writer, name, &base);
    if (r < 0)
        return parent_fault(writer, -r, member, fault);
    r = add_here(writer, base, member, ret_fd, fault);
    if (r == 0 && layer && known && hash_set_add(&writer->names, writer->parent_inode, base) < 0)
        r = fault_set(fault, ENOMEM, "no memory for the names in a layer");
    if (r < 0)
        fd_close(ret_fd);
    return r;
}
