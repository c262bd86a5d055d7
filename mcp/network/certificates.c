#include "mcp/network/certificates.h"

#include "mcp/base/bounds.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/run_paths.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of Debian, Ubuntu and Alpine, in that order; of Fedora. */
static const char *const bundles[] = {"etc/ssl/certs/ca-certificates.crt",
                                      "etc/pki/tls/certs/ca-bundle.crt"};

#define PATH RUN_HOME "/" CERTIFICATES_NAME

const char *const certificates_variables[CERTIFICATES_VARIABLES] = {
    "SSL_CERT_FILE=" PATH,  "REQUESTS_CA_BUNDLE=" PATH, "NODE_EXTRA_CA_CERTS=" PATH,
    "CURL_CA_BUNDLE=" PATH, "GIT_SSL_CAINFO=" PATH,
};

/* The image is not trusted: links stay inside it, and only a regular file of some size is read. */
static int append_bundle(int tree_fd, const char *path, struct buffer *all)
{
    struct stat about;
    OWNED_FD int fd =
        open_resolved(tree_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, RESOLVE_IN_ROOT);
    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size == 0 ||
        (uint64_t)about.st_size > CERTIFICATES_MAX)
        return -ENOENT;
    int r = buffer_reserve(all, (size_t)about.st_size);
    ssize_t length = r == 0 ? pread(fd, all->data + all->length, (size_t)about.st_size, 0) : -1;
    if (length > 0)
        all->length += (size_t)length;
    return r;
}

static int append_of_tree(const char *tree, struct buffer *all)
{
    OWNED_FD int fd = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = fd >= 0 ? -ENOENT : -errno;
    for (size_t i = 0; r == -ENOENT && i < ARRAY_LENGTH(bundles); i++)
        r = append_bundle(fd, bundles[i], all);
    return r;
}

/* From the uppermost layer that has them. -ENOENT: none has. */
static int append_of_image(const struct image *image, struct buffer *all)
{
    if (image->layer_names == NULL)
        return append_of_tree(image->rootfs, all);
    size_t count = 0;
    while (image->layer_names[count] != NULL)
        count++;
    int r = -ENOENT;
    for (size_t i = count; r == -ENOENT && i > 0; i--) {
        OWNED_MEMORY char *tree = NULL;
        if (asprintf(&tree, "%s/%s", image->rootfs, image->layer_names[i - 1]) < 0) {
            tree = NULL;
            return -ENOMEM;
        }
        r = append_of_tree(tree, all);
    }
    return r;
}

int certificates_combine(const struct image *image, const struct buffer *own, struct buffer *all,
                         struct fault *fault)
{
    int r = append_of_image(image, all);
    if (r == -ENOENT)
        r = 0;
    /* A bundle of the system is often the same as that of the image. */
    if (r == 0 && memmem(all->data, all->length, own->data, own->length) == NULL) {
        r = buffer_append(all, "\n", 1);
        if (r == 0)
            r = buffer_append(all, own->data, own->length);
    }
    return r < 0 ? fault_set(fault, -r, "putting the certificates of image %s together: %m",
                             image->name)
                 : 0;
}
