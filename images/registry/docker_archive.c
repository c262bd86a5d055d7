#include "images/registry/docker_archive.h"

#include "images/base/manifest.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <limits.h>
#include <string.h>

void docker_archive_release(struct docker_archive *archive)
{
    for (size_t i = 0; i < archive->layer_count; i++)
        free(archive->layers[i]);
    free(archive->layers);
    free(archive->configuration);
    *archive = (struct docker_archive){0};
}

/* A relative path below the archive's top, copied; NULL with a fault. */
static char *path_read(const struct json_value *value, struct fault *fault)
{
    bool is_text = value != NULL && value->type == JSON_STRING && value->length > 0 &&
                   value->length < PATH_MAX && strlen(value->text) == value->length;
    bool inside = is_text && value->text[0] != '/';
    for (const char *part = inside ? value->text : NULL; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        inside = inside && strncmp(part, "../", 3) != 0 && strcmp(part, "..") != 0;
    }
    char *path = inside ? strdup(value->text) : NULL;
    if (path == NULL)
        fault_set(fault, EINVAL, "its manifest.json is damaged: a path is missing or leads out");
    return path;
}

static int image_read(const struct json_value *image, struct docker_archive *archive,
                      struct fault *fault)
{
    const struct json_value *layers = json_member(image, "Layers");
    archive->configuration = path_read(json_member(image, "Config"), fault);
    if (archive->configuration == NULL)
        return -EINVAL;
    if (layers == NULL || layers->type != JSON_ARRAY || layers->count > LAYERS_MAX)
        return fault_set(fault, EINVAL, "its manifest.json lists no layers, or more than %d",
                         LAYERS_MAX);
    archive->layers = calloc(layers->count + 1, sizeof(char *));
    if (archive->layers == NULL)
        return fault_set(fault, ENOMEM, "no memory for the list of layers");
    for (const struct json_value *layer = layers->first; layer != NULL; layer = layer->next) {
        char *path = path_read(layer, fault);
        if (path == NULL)
            return -EINVAL;
        archive->layers[archive->layer_count++] = path;
    }
    return 0;
}

int docker_archive_read(const char *json, size_t length, struct docker_archive *ret_archive,
                        struct fault *fault)
{
    OWNED(json_release) struct json *parsed = NULL;
    int r = json_parse(json, length, &parsed, fault);
    if (r < 0) {
        fault_prefix(fault, "its manifest.json is damaged");
        return r == -ENOMEM ? r : -EINVAL;
    }
    const struct json_value *root = json_root(parsed);
    if (root->type != JSON_ARRAY || root->count == 0)
        return fault_set(fault, EINVAL, "its manifest.json names no image");
    if (root->count > 1)
        return fault_set(fault, EINVAL, "it holds %zu images; save just one", root->count);
    OWNED(docker_archive_release) struct docker_archive archive = {0};
    r = image_read(root->first, &archive, fault);
    if (r < 0)
        return r;
    *ret_archive = archive;
    archive = (struct docker_archive){0};
    return 0;
}
