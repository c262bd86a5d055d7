#include "images/base/manifest.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define SHOWN_MAX 96 /* of a document's text shown in a message: ASCII */
#define OFFERS_MAX 512

struct platform manifest_platform(void)
{
    static const struct {
        const char *machine;
        struct platform platform;
    } known[] = {
        {"x86_64", {"linux", "amd64", NULL}},
        {"aarch64", {"linux", "arm64", "v8"}},
    };
    struct utsname names;
    for (size_t i = 0; uname(&names) == 0 && i < ARRAY_LENGTH(known); i++)
        if (strcmp(names.machine, known[i].machine) == 0)
            return known[i].platform;
    return (struct platform){"linux", "this machine", NULL};
}

/* A text of the document, made safe for a terminal; "nothing" if there is none. */
static const char *shown(const struct json_value *value, char buffer[SHOWN_MAX])
{
    const char *text = value != NULL && value->type == JSON_STRING ? value->text : "nothing";
    size_t length = 0;
    for (; length < SHOWN_MAX - 1 && text[length] != '\0'; length++) {
        buffer[length] = text[length];
        if ((unsigned char)text[length] < 0x20 || (unsigned char)text[length] >= 0x7f)
            buffer[length] = '?';
    }
    buffer[length] = '\0';
    return buffer;
}

static bool is_any_of(const struct json_value *value, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        if (json_is(value, *texts))
            return true;
    return false;
}

static bool is_index_type(const struct json_value *type)
{
    static const char *const known[] = {"application/vnd.oci.image.index.v1+json",
                                        "application/vnd.docker.distribution.manifest.list.v2+json",
                                        NULL};
    return is_any_of(type, known);
}

static bool is_manifest_type(const struct json_value *type)
{
    static const char *const known[] = {"application/vnd.oci.image.manifest.v1+json",
                                        "application/vnd.docker.distribution.manifest.v2+json",
                                        NULL};
    return is_any_of(type, known);
}

static bool is_configuration_type(const struct json_value *type)
{
    static const char *const known[] = {"application/vnd.oci.image.config.v1+json",
                                        "application/vnd.docker.container.image.v1+json", NULL};
    return is_any_of(type, known);
}

/* Does not include foreign layers, which are fetched from a URL and may not be redistributed. */
static bool is_layer_type(const struct json_value *type)
{
    static const char *const known[] = {"application/vnd.oci.image.layer.v1.tar",
                                        "application/vnd.oci.image.layer.v1.tar+gzip",
                                        "application/vnd.oci.image.layer.v1.tar+zstd",
                                        "application/vnd.docker.image.rootfs.diff.tar",
                                        "application/vnd.docker.image.rootfs.diff.tar.gzip",
                                        "application/vnd.docker.image.rootfs.diff.tar.zstd",
                                        NULL};
    return is_any_of(type, known);
}

static int descriptor_read(const struct json_value *value, const char *what, uint64_t size_max,
                           struct descriptor *ret_descriptor, struct fault *fault)
{
    char text[SHOWN_MAX];
    const struct json_value *digest = json_member(value, "digest");
    struct descriptor descriptor = {0};
    if (digest == NULL || digest->type != JSON_STRING)
        return fault_set(fault, EINVAL, "the %s has no digest", what);
    if (digest_parse(digest->text, digest->length, &descriptor.digest) < 0)
        return fault_set(fault, ENOTSUP,
                         "the digest of the %s is \"%s\", which is neither a sha256 nor a sha512",
                         what, shown(digest, text));
    int64_t size = 0;
    if (json_integer(json_member(value, "size"), &size) < 0 || size < 0)
        return fault_set(fault, EINVAL, "the %s has no size", what);
    if ((uint64_t)size > size_max)
        return fault_set(fault, EINVAL, "the %s is refused: it has %lld bytes, more than %llu",
                         what, (long long)size, (unsigned long long)size_max);
    descriptor.size = (uint64_t)size;
    *ret_descriptor = descriptor;
    return 0;
}

/* 2: exact match; 1: the same processor in a variant that may work; 0: no match. */
static int platform_match(const struct json_value *platform, const struct platform *wanted)
{
    if (!json_is(json_member(platform, "os"), wanted->os) ||
        !json_is(json_member(platform, "architecture"), wanted->architecture))
        return 0;
    const struct json_value *variant = json_member(platform, "variant");
    if (variant == NULL || json_is(variant, ""))
        return wanted->variant == NULL ? 2 : 1;
    return wanted->variant == NULL ? 1 : json_is(variant, wanted->variant) ? 2 : 0;
}

/* "linux/arm64/v8, linux/386", for a message. */
static void platforms_list(const struct json_value *manifests, char offers[OFFERS_MAX])
{
    size_t length = 0;
    offers[0] = '\0';
    const struct json_value *entry = manifests->first;
    for (; entry != NULL && length + 3 * SHOWN_MAX < OFFERS_MAX; entry = entry->next) {
        const struct json_value *platform = json_member(entry, "platform");
        const struct json_value *os = json_member(platform, "os");
        const struct json_value *variant = json_member(platform, "variant");
        char name[SHOWN_MAX], processor[SHOWN_MAX], kind[SHOWN_MAX];
        if (os == NULL || json_is(os, "unknown"))
            continue; /* build attestations, not an image */
        length += (size_t)snprintf(
            offers + length, OFFERS_MAX - length, "%s%s/%s%s%s", length > 0 ? ", " : "",
            shown(os, name), shown(json_member(platform, "architecture"), processor),
            variant != NULL ? "/" : "", variant != NULL ? shown(variant, kind) : "");
    }
}

static int index_read(const struct json_value *manifests, const struct platform *platform,
                      struct document *document, struct fault *fault)
{
    if (manifests->type != JSON_ARRAY || manifests->count > INDEX_ENTRIES_MAX)
        return fault_set(fault, EINVAL, "its index is damaged, or has more than %d entries",
                         INDEX_ENTRIES_MAX);
    const struct json_value *best = NULL;
    int best_match = 0;
    for (const struct json_value *entry = manifests->first; entry != NULL; entry = entry->next) {
        const struct json_value *type = json_member(entry, "mediaType");
        if (!is_manifest_type(type) && !is_index_type(type))
            continue;
        const struct json_value *offered = json_member(entry, "platform");
        /* The single entry of a local layout has no platform. */
        int match =
            offered == NULL && manifests->count == 1 ? 1 : platform_match(offered, platform);
        if (match > best_match) {
            best = entry;
            best_match = match;
        }
    }
    if (best == NULL) {
        char offers[OFFERS_MAX];
        platforms_list(manifests, offers);
        return fault_set(fault, ENOENT, "it has no image for %s/%s%s%s", platform->os,
                         platform->architecture, offers[0] != '\0' ? "; there is: " : "", offers);
    }
    document->kind = DOCUMENT_INDEX;
    return descriptor_read(best, "manifest", MANIFEST_MAX, &document->chosen, fault);
}

static int layer_read(const struct json_value *layer, struct document *document,
                      struct fault *fault)
{
    char text[SHOWN_MAX];
    const struct json_value *type = json_member(layer, "mediaType");
    if (!is_layer_type(type))
        return fault_set(fault, ENOTSUP, "it has a layer of the type \"%s\", which is not known",
                         shown(type, text));
    return descriptor_read(layer, "layer", LAYER_BYTES_MAX,
                           &document->layers[document->layer_count++], fault);
}

static int manifest_read(const struct json_value *manifest, struct document *document,
                         struct fault *fault)
{
    char text[SHOWN_MAX];
    const struct json_value *configuration = json_member(manifest, "config");
    const struct json_value *layers = json_member(manifest, "layers");
    const struct json_value *type = json_member(configuration, "mediaType");
    document->kind = DOCUMENT_MANIFEST;
    if (!is_configuration_type(type))
        return fault_set(fault, ENOTSUP,
                         "it is no container image: its configuration is of the type \"%s\"",
                         shown(type, text));
    if (layers == NULL || layers->type != JSON_ARRAY || layers->count > LAYERS_MAX)
        return fault_set(fault, EINVAL, "its manifest has no layers, or more than %d", LAYERS_MAX);
    int r = descriptor_read(configuration, "configuration", IMAGE_CONFIGURATION_MAX,
                            &document->configuration, fault);
    uint64_t bytes = 0;
    for (const struct json_value *layer = layers->first; r == 0 && layer != NULL;
         layer = layer->next) {
        r = layer_read(layer, document, fault);
        if (r == 0)
            bytes += document->layers[document->layer_count - 1].size;
    }
    if (r == 0 && bytes > LAYER_BYTES_MAX)
        return fault_set(fault, EINVAL, "the image is refused: its layers have more than %d GiB",
                         (int)(LAYER_BYTES_MAX >> 30));
    return r;
}

int manifest_read_document(const char *json, size_t length, const struct platform *platform,
                           struct document *ret_document, struct fault *fault)
{
    OWNED(json_release) struct json *parsed = NULL;
    int r = json_parse(json, length, &parsed, fault);
    if (r < 0) {
        fault_prefix(fault, "its manifest is damaged");
        return r == -ENOMEM ? r : -EINVAL;
    }
    const struct json_value *root = json_root(parsed);
    const struct json_value *type = json_member(root, "mediaType");
    const struct json_value *manifests = json_member(root, "manifests");
    const struct json_value *layers = json_member(root, "layers");
    int64_t version = 0;
    char text[SHOWN_MAX];
    if (json_integer(json_member(root, "schemaVersion"), &version) == 0 && version != 2)
        return fault_set(fault, ENOTSUP,
                         "its manifest is of schema version %lld; only 2 is known: push the image "
                         "again with a newer tool",
                         (long long)version);
    if (type != NULL && !is_index_type(type) && !is_manifest_type(type))
        return fault_set(fault, ENOTSUP, "it is of the type \"%s\", which is not known",
                         shown(type, text));
    /* CVE-2021-41190: refuse a document that could be read as either kind. */
    if ((manifests != NULL) == (layers != NULL) ||
        (type != NULL && is_index_type(type) != (manifests != NULL)))
        return fault_set(fault, EINVAL, "its manifest is neither an index nor a list of layers");
    OWNED_MEMORY struct document *document = calloc(1, sizeof(*document));
    if (document == NULL)
        return fault_set(fault, ENOMEM, "no memory for a manifest");
    r = manifests != NULL ? index_read(manifests, platform, document, fault)
                          : manifest_read(root, document, fault);
    if (r == 0)
        *ret_document = *document;
    return r;
}

bool manifest_wants_variable(const char *pair)
{
    /* LD_LIBRARY_PATH is kept: some images need it to find their libraries. */
    static const char *const own[] = {"HOME",     "USER", "LOGNAME", "PWD",     "OLDPWD", "SHELL",
                                      "HOSTNAME", "TERM", "TMPDIR",  "TMP",     "TEMP",   "SHLVL",
                                      "MAIL",     "IFS",  "ENV",     "BASH_ENV"};
    size_t length = strcspn(pair, "=");
    if (length == 0 || pair[length] != '=' || (pair[0] >= '0' && pair[0] <= '9') ||
        strspn(pair, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != length)
        return false;
    for (const char *byte = pair + length; *byte != '\0'; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
            return false;
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++)
        if (strlen(own[i]) == length && memcmp(pair, own[i], length) == 0)
            return false;
    return strncmp(pair, "LD_", 3) != 0 || strncmp(pair, "LD_LIBRARY_PATH=", 16) == 0;
}

static int diff_ids_read(const struct json_value *rootfs, struct configuration *configuration,
                         struct fault *fault)
{
    const struct json_value *ids = json_member(rootfs, "diff_ids");
    if (ids == NULL || ids->type != JSON_ARRAY || ids->count > LAYERS_MAX)
        return fault_set(fault, EINVAL,
                         "its configuration does not list the layers, or more than %d", LAYERS_MAX);
    for (const struct json_value *id = ids->first; id != NULL; id = id->next)
        if (id->type != JSON_STRING ||
            digest_parse(id->text, id->length,
                         &configuration->diff_ids[configuration->diff_id_count++]) < 0)
            return fault_set(
                fault, ENOTSUP,
                "its configuration names a layer by something that is neither a sha256 nor a "
                "sha512");
    return 0;
}

static int environment_read(const struct json_value *variables, struct configuration *configuration,
                            struct fault *fault)
{
    size_t count = variables != NULL && variables->type == JSON_ARRAY ? variables->count : 0;
    size_t length = 0;
    for (const struct json_value *one = count > 0 ? variables->first : NULL; one; one = one->next)
        length += one->type == JSON_STRING ? one->length : 0;
    if (count > VARIABLES_MAX || length > VARIABLES_LENGTH_MAX)
        return fault_set(fault, EINVAL, "its configuration has more than %d variables or %d KiB",
                         VARIABLES_MAX, VARIABLES_LENGTH_MAX >> 10);
    configuration->environment = calloc(count + 1, sizeof(char *));
    if (configuration->environment == NULL)
        return fault_set(fault, ENOMEM, "no memory for the environment of an image");
    char **next = configuration->environment;
    const struct json_value *variable = count > 0 ? variables->first : NULL;
    for (; variable != NULL; variable = variable->next) {
        if (variable->type != JSON_STRING || strlen(variable->text) != variable->length ||
            !manifest_wants_variable(variable->text))
            continue;
        *next = strdup(variable->text);
        if (*next == NULL)
            return fault_set(fault, ENOMEM, "no memory for the environment of an image");
        next++;
    }
    return 0;
}

static int platform_check(const struct json_value *root, const struct platform *platform,
                          struct fault *fault)
{
    const struct json_value *os = json_member(root, "os");
    const struct json_value *processor = json_member(root, "architecture");
    char name[SHOWN_MAX], kind[SHOWN_MAX];
    if ((os == NULL || json_is(os, platform->os)) &&
        (processor == NULL || json_is(processor, platform->architecture)))
        return 0;
    return fault_set(fault, ENOEXEC, "it is for %s/%s, and this machine is %s/%s", shown(os, name),
                     shown(processor, kind), platform->os, platform->architecture);
}

int manifest_read_configuration(const char *json, size_t length, const struct platform *platform,
                                struct configuration *ret_configuration, struct fault *fault)
{
    OWNED(json_release) struct json *parsed = NULL;
    int r = json_parse(json, length, &parsed, fault);
    if (r < 0) {
        fault_prefix(fault, "its configuration is damaged");
        return r == -ENOMEM ? r : -EINVAL;
    }
    const struct json_value *root = json_root(parsed);
    OWNED(manifest_release_configuration) struct configuration configuration = {0};
    if (root->type != JSON_OBJECT)
        return fault_set(fault, EINVAL, "its configuration is damaged: it is no object");
    r = platform_check(root, platform, fault);
    if (r == 0)
        r = diff_ids_read(json_member(root, "rootfs"), &configuration, fault);
    if (r == 0)
        r = environment_read(json_member(json_member(root, "config"), "Env"), &configuration,
                             fault);
    if (r < 0)
        return r;
    *ret_configuration = configuration;
    configuration.environment = NULL;
    return 0;
}

void manifest_release_configuration(struct configuration *configuration)
{
    for (char **pair = configuration->environment; pair != NULL && *pair != NULL; pair++)
        free(*pair);
    free(configuration->environment);
    configuration->environment = NULL;
}
