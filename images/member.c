#include "images/member.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

const char *name_for_people(const char *name, char buffer[256])
{
    size_t length = 0;
    for (; *name != '\0' && length < 255; name++) {
        bool hidden = (unsigned char)*name < 0x20 || *name == 0x7f;
        buffer[length++] = *name;
        if (hidden)
            buffer[length - 1] = '?';
    }
    buffer[length] = '\0';
    return buffer;
}

static int refuse(struct fault *fault, const char *name, const char *why)
{
    char shown[256];
    return fault_set(fault, EBADMSG, "the archive is refused: its member \"%s\" %s",
                     name_for_people(name, shown), why);
}

static int refuse_link(struct fault *fault, const char *name, const char *link, const char *why)
{
    char shown[256], target[256];
    return fault_set(fault, EBADMSG,
                     "the archive is refused: its member \"%s\", a link to \"%s\", %s",
                     name_for_people(name, shown), name_for_people(link, target), why);
}

/* A step failed on a member for a reason of the host: a full disk, above all. */
static int failed(struct fault *fault, int error, const char *what, const char *name)
{
    char shown[256];
    return fault_set(fault, error, "cannot %s %s in the image: %m%s", what,
                     name_for_people(name, shown),
                     error == ENOSPC || error == EDQUOT
                         ? "; make room, or set XDG_DATA_HOME to a place that has some"
                         : "");
}

int member_name_normalize(const char *name, char ret_plain[PATH_MAX], struct fault *fault)
{
    size_t length = 0, depth = 0;
    if (name[0] == '/')
        return refuse(fault, name, "has an absolute name");
    for (const char *part = name; *part != '\0';) {
        size_t size = strcspn(part, "/");
        if (size == 2 && part[0] == '.' && part[1] == '.')
            return refuse(fault, name, "leads out of the root file system");
        bool counts = size > 0 && !(size == 1 && part[0] == '.');
        if (counts) {
            if (++depth > TREE_DEPTH_MAX)
                return refuse(fault, name, "is deeper than 64 directories");
            if (size > NAME_MAX || length + size + 2 > PATH_MAX)
                return refuse(fault, name, "has a name that is too long");
            if (length > 0)
                ret_plain[length++] = '/';
            memcpy(ret_plain + length, part, size);
            length += size;
        }
        part += size + (part[size] == '/');
    }
    ret_plain[length] = '\0';
    return 0;
}

void tree_writer_open(struct tree_writer *writer, struct tree_usage *usage, bool merges)
{
    writer->usage = usage;
    writer->merges = merges;
    writer->parent_fd = -1;
    writer->parent[0] = '\0';
}

void tree_writer_close(struct tree_writer *writer)
{
    fd_close(&writer->parent_fd);
}

/* Opens a directory of the tree by a plain name, "" being the top, through no symbolic link. */
static int directory_open(const char *name)
{
    const struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    long fd = syscall(SYS_openat2, AT_FDCWD, name[0] != '\0' ? name : ".", &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

/* Opens it, making what is missing of it. A descriptor, or a negative errno. */
static int directory_provide(char *name)
{
    int fd = directory_open(name);
    if (fd != -ENOENT || name[0] == '\0')
        return fd;
    char *slash = strrchr(name, '/');
    if (slash != NULL)
        *slash = '\0';
    OWNED_FD int parent_fd = slash != NULL ? directory_provide(name) : directory_open("");
    if (slash != NULL)
        *slash = '/';
    if (parent_fd < 0)
        return fd_take(&parent_fd);
    if (mkdirat(parent_fd, slash != NULL ? slash + 1 : name, 0755) < 0 && errno != EEXIST)
        return -errno;
    return directory_open(name);
}

/*
 * The directory of a member: kept open, since members of one directory mostly follow each other.
 * Splits `name` in place; the last part goes to ret_base.
 */
static int parent_find(struct tree_writer *writer, char *name, const char **ret_base)
{
    char *slash = strrchr(name, '/');
    const char *parent = "";
    if (slash != NULL) {
        *slash = '\0';
        parent = name;
    }
    *ret_base = slash != NULL ? slash + 1 : name;
    if (writer->parent_fd >= 0 && strcmp(parent, writer->parent) == 0)
        return 0;
    fd_close(&writer->parent_fd);
    int fd = slash != NULL ? directory_provide(name) : directory_open("");
    if (fd < 0)
        return fd;
    writer->parent_fd = fd;
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

/* Whether a link at this place of the tree leads to a directory of it. */
static bool leads_to_directory(int parent_fd, const char *base)
{
    struct stat status = {0};
    return fstatat(parent_fd, base, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

static int add_directory(const struct tree_writer *writer, const char *base,
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
    if (writer->merges && leads_to_directory(writer->parent_fd, base))
        return 0;
    return refuse(fault, member->name, "is a directory in the place of another member");
}

/* Makes the place free for a member that is no directory. */
static int place_clear(const struct tree_writer *writer, const char *base,
                       const struct member *member, struct fault *fault)
{
    if (unlinkat(writer->parent_fd, base, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno == EISDIR)
        return refuse(fault, member->name, "takes the place of a directory");
    return failed(fault, errno, "replace", member->name);
}

static int add_file(const struct tree_writer *writer, const char *base, const struct member *member,
                    int *ret_fd, struct fault *fault)
{
    OWNED_FD int fd =
        openat(writer->parent_fd, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, safe_mode(S_IFREG, member->permissions)) < 0)
        return failed(fault, errno, "create", member->name);
    *ret_fd = fd_take(&fd);
    return 0;
}

static int add_symbolic_link(const struct tree_writer *writer, const char *base,
                             const struct member *member, struct fault *fault)
{
    if (member->link == NULL || member->link[0] == '\0')
        return refuse(fault, member->name, "is a symbolic link to nothing");
    if (symlinkat(member->link, writer->parent_fd, base) < 0)
        return failed(fault, errno, "make the symbolic link", member->name);
    return 0;
}

static int add_hard_link(const struct tree_writer *writer, const char *base,
                         const struct member *member, struct fault *fault)
{
    char target[PATH_MAX] = "";
    if (member->link == NULL || member_name_normalize(member->link, target, NULL) < 0 ||
        target[0] == '\0')
        return refuse_link(fault, member->name, member->link != NULL ? member->link : "",
                           "links to no place in the root file system");
    char *slash = strrchr(target, '/');
    if (slash != NULL)
        *slash = '\0';
    OWNED_FD int target_fd = directory_open(slash != NULL ? target : "");
    if (target_fd < 0 ||
        linkat(target_fd, slash != NULL ? slash + 1 : target, writer->parent_fd, base, 0) < 0) {
        int error = target_fd < 0 ? -target_fd : errno;
        if (error == ENOSPC || error == EDQUOT || error == EMLINK)
            return failed(fault, error, "make the hard link", member->name);
        return refuse_link(fault, member->name, member->link, "links to what is no earlier member");
    }
    return 0;
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
                         name_for_people(member->name, shown), (int)(TREE_BYTES_MAX >> 30));
    return 0;
}

static int parent_fault(int error, const struct member *member, struct fault *fault)
{
    if (error == ELOOP)
        return refuse(fault, member->name, "goes through a symbolic link");
    if (error == ENOTDIR)
        return refuse(fault, member->name, "goes through what is no directory");
    return failed(fault, error, "make the directory of", member->name);
}

int tree_writer_add(struct tree_writer *writer, const struct member *member, int *ret_fd,
                    struct fault *fault)
{
    *ret_fd = -1;
    char name[PATH_MAX] = "";
    int r = member_name_normalize(member->name, name, fault);
    if (r == 0)
        r = usage_add(writer->usage, member, fault);
    bool known = member->hard_link || member->type == S_IFREG || member->type == S_IFDIR ||
                 member->type == S_IFLNK;
    if (r < 0 || name[0] == '\0' || !known)
        return r;
    const char *base = NULL;
    r = parent_find(writer, name, &base);
    if (r < 0)
        return parent_fault(-r, member, fault);
    if (!member->hard_link && member->type == S_IFDIR)
        return add_directory(writer, base, member, fault);
    r = place_clear(writer, base, member, fault);
    if (r < 0)
        return r;
    if (member->hard_link)
        return add_hard_link(writer, base, member, fault);
    return member->type == S_IFLNK ? add_symbolic_link(writer, base, member, fault)
                                   : add_file(writer, base, member, ret_fd, fault);
}
