#include "interpreter/certificates.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/io.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/run_paths.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COPY RUN_HOME "/" CERTIFICATES_NAME
#define BUNDLE_OF_DEBIAN "etc/ssl/certs/ca-certificates.crt"
#define BUNDLE_OF_FEDORA "etc/pki/tls/certs/ca-bundle.crt"
#define VARIABLES(path)                                                                            \
    {                                                                                              \
        "SSL_CERT_FILE=" path,  "REQUESTS_CA_BUNDLE=" path, "NODE_EXTRA_CA_CERTS=" path,           \
        "CURL_CA_BUNDLE=" path, "GIT_SSL_CAINFO=" path,                                            \
    }

static const char *const variables_of_copy[CERTIFICATES_VARIABLES] = VARIABLES(COPY);

/* Ubuntu and Alpine have Debian's. */
static const struct bundle {
    const char *path; /* in the image */
    const char *variables[CERTIFICATES_VARIABLES];
} bundles[] = {
    {BUNDLE_OF_DEBIAN, VARIABLES("/" BUNDLE_OF_DEBIAN)},
    {BUNDLE_OF_FEDORA, VARIABLES("/" BUNDLE_OF_FEDORA)},
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
    return io_append(fd, (uint64_t)about.st_size, all);
}

static int append_of_tree(const char *tree, struct buffer *all, const struct bundle **ret_bundle)
{
    OWNED_FD int fd = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = fd >= 0 ? -ENOENT : -errno;
    for (size_t i = 0; r == -ENOENT && i < ARRAY_LENGTH(bundles); i++) {
        r = append_bundle(fd, bundles[i].path, all);
        if (r == 0)
            *ret_bundle = &bundles[i];
    }
    return r;
}

/* From the uppermost layer that has them. -ENOENT: none has. */
static int append_of_image(const struct image *image, struct buffer *all,
                           const struct bundle **ret_bundle)
{
    if (image->layer_names == NULL)
        return append_of_tree(image->rootfs, all, ret_bundle);
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
        r = append_of_tree(tree, all, ret_bundle);
    }
    return r;
}

/* One certificate in PEM form, or a text of many. */
struct pem {
    const char *text;
    size_t length;
};

static bool take_certificate(struct pem *rest, struct pem *ret_one)
{
    static const char begin_line[] = "-----BEGIN CERTIFICATE-----";
    static const char end_line[] = "-----END CERTIFICATE-----";
    const char *begin =
        rest->length > 0 ? memmem(rest->text, rest->length, begin_line, strlen(begin_line)) : NULL;
    if (begin == NULL)
        return false;
    size_t length = rest->length - (size_t)(begin - rest->text);
    const char *end = memmem(begin, length, end_line, strlen(end_line));
    if (end == NULL)
        return false;
    *ret_one = (struct pem){begin, (size_t)(end - begin) + strlen(end_line)};
    *rest = (struct pem){begin + ret_one->length, length - ret_one->length};
    return true;
}

static int compare(const void *one, const void *other)
{
    const struct pem *a = one;
    const struct pem *b = other;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return memcmp(a->text, b->text, a->length);
}

/* The certificates of a text, sorted. NULL: no memory. */
static struct pem *sort_certificates(struct pem text, size_t *ret_count)
{
    struct pem rest = text;
    struct pem one;
    size_t count = 0;
    while (take_certificate(&rest, &one))
        count++;
    struct pem *sorted = calloc(count + 1, sizeof(*sorted));
    for (size_t i = 0; sorted != NULL && i < count; i++)
        take_certificate(&text, &sorted[i]);
    if (sorted != NULL)
        qsort(sorted, count, sizeof(*sorted), compare);
    *ret_count = count;
    return sorted;
}

/* Appends the certificates of `own` that are not in `all` yet. Their number, or a negative errno. */
static int append_missing(const struct buffer *own, struct buffer *all)
{
    OWNED(buffer_release) struct buffer missing = BUFFER(all->maximum);
    struct pem rest = {own->data, own->length};
    size_t known_count;
    OWNED_MEMORY struct pem *known =
        sort_certificates((struct pem){all->data, all->length}, &known_count);
    int count = 0;
    int r = known != NULL ? 0 : -ENOMEM;
    for (struct pem one; r == 0 && take_certificate(&rest, &one);) {
        if (bsearch(&one, known, known_count, sizeof(one), compare) != NULL)
            continue;
        count++;
        r = buffer_append(&missing, "\n", 1);
        if (r == 0)
            r = buffer_append(&missing, one.text, one.length);
    }
    if (r == 0 && count > 0)
        r = buffer_append(all, missing.data, missing.length);
    if (r == 0 && count > 0)
        r = buffer_append(all, "\n", 1);
    return r < 0 ? r : count;
}

int certificates_update(struct certificates *certificates, const struct used_image *used,
                        const struct buffer *own, struct fault *fault)
{
    OWNED(buffer_release) struct buffer all = BUFFER(4 * CERTIFICATES_MAX);
    const struct bundle *bundle = NULL;
    if (image_use_is_same_record(&certificates->record, &used->record))
        return 0;
    int r = append_of_image(&used->image, &all, &bundle);
    if (r == 0 || r == -ENOENT)
        r = append_missing(own, &all);
    if (r < 0)
        return fault_set(fault, -r, "putting the certificates of image %s together: %m",
                         used->image.name);
    certificates_release(certificates);
    certificates->record = used->record;
    if (r == 0 && bundle != NULL) {
        certificates->variables = bundle->variables;
        return 0;
    }
    certificates->variables = variables_of_copy;
    certificates->all = all;
    all = BUFFER(0);
    return 0;
}

void certificates_release(struct certificates *certificates)
{
    buffer_release(&certificates->all);
    *certificates = CERTIFICATES_NONE;
}
