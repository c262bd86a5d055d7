#include "images/build/verification.h"
#include "images/store/image_use.h"
#include "sandbox/base/json.h"
#include "sandbox/base/options.h"
#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PROGRAM "code-sandbox-mcp images verify"
#define EXIT_USAGE 2
#define REPORT_MAX (256 << 20) /* bytes */

static const struct option options[] = {
    {"--json", NULL, "as one JSON document", option_set_flag},
    {0},
};

static void help_print(void)
{
    puts(
        "Usage: " PROGRAM " [--json] [NAME...]\n"
        "\n"
        "Compares images with the list made with them: each file's type, mode, size, time and\n"
        "SHA-256. Without names, compares all images. Changed, added and missing files are listed.\n"
        "The exit status is 1 if there are any, or if an image cannot be compared.\n"
        "\n"
        "Options:");
    options_print(options, stdout);
    options_print_common(stdout);
}

/* The result for one image; its layers are in the verification. */
struct verify_verdict {
    char *name;
    size_t *layers; /* numbers in the verification */
    size_t layer_count;
    size_t difference_count, entry_count, unlisted_count;
    struct fault fault; /* why the image cannot be compared; or "" */
};

struct verdicts {
    struct verify_verdict *items;
    size_t count;
};

static void verdicts_release(struct verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->count; i++) {
        free(verdicts->items[i].name);
        free(verdicts->items[i].layers);
    }
    free(verdicts->items);
}

static bool verdict_is_good(const struct verify_verdict *verdict)
{
    return verdict->fault.text[0] == '\0' && verdict->unlisted_count == 0 &&
           verdict->difference_count == 0;
}

static void used_release(struct used_image **used)
{
    image_use_end(*used);
}

static int layers_verify(struct verification *verification, const struct used_image *used,
                         struct verify_verdict *verdict)
{
    const struct image *image = &used->image;
    if (image->layer_count == 0)
        return fault_set(&verdict->fault, ENOTSUP,
                         "it is of an older version, which knew no layers; make it again with: "
                         "code-sandbox-mcp fetch --force %s",
                         verdict->name);
    verdict->layers = calloc(image->layer_count, sizeof(*verdict->layers));
    if (verdict->layers == NULL)
        return fault_set(&verdict->fault, ENOMEM, "no memory for the result");
    for (size_t i = 0; i < image->layer_count; i++) {
        size_t number;
        int r = verification_add(verification, image->layers[i].id, used->layer_fds[i], &number,
                                 &verdict->fault);
        if (r < 0)
            return r;
        const struct verified_layer *layer = &verification->layers[number];
        verdict->layers[verdict->layer_count++] = number;
        verdict->entry_count += layer->entry_count;
        verdict->difference_count += layer->difference_count;
        verdict->unlisted_count += !layer->has_list;
    }
    return 0;
}

static int image_verify(struct verification *verification, const char *store, const char *name,
                        struct verdicts *verdicts)
{
    struct verify_verdict *grown =
        reallocarray(verdicts->items, verdicts->count + 1, sizeof(*verdicts->items));
    if (grown == NULL)
        return -ENOMEM;
    verdicts->items = grown;
    struct verify_verdict *verdict = &grown[verdicts->count];
    *verdict = (struct verify_verdict){.name = strdup(name)};
    if (verdict->name == NULL)
        return -ENOMEM;
    verdicts->count++;
    struct used_images list = {0};
    OWNED(used_release) struct used_image *used = NULL;
    if (image_use(&list, store, name, &used, &verdict->fault) == 0)
        layers_verify(verification, used, verdict);
    return 0;
}

static void print_layer(const struct verified_layer *layer, const char *name)
{
    for (size_t i = 0; i < layer->difference_count; i++) {
        const struct found_difference *difference = &layer->differences[i];
        printf("%s: %-7s  /%s%s%s%s\n", name, difference->what, difference->path,
               difference->how[0] != '\0' ? " (" : "", difference->how,
               difference->how[0] != '\0' ? ")" : "");
    }
    if (!layer->has_list)
        printf("%s: layer %s has no list of its files: an older version made it\n", name,
               layer->id);
}

static void print_report(const struct verification *verification, const struct verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct verify_verdict *verdict = &verdicts->items[i];
        for (size_t j = 0; j < verdict->layer_count; j++)
            print_layer(&verification->layers[verdict->layers[j]], verdict->name);
        if (verdict->fault.text[0] != '\0')
            printf("%s: %s\n", verdict->name, verdict->fault.text);
        else if (verdict->difference_count > 0)
            printf("%s: %zu of %zu files are not as they were made\n", verdict->name,
                   verdict->difference_count, verdict->entry_count);
        else if (verdict->unlisted_count == 0)
            printf("%s: all of its %zu files are as they were made\n", verdict->name,
                   verdict->entry_count);
    }
}

static void write_layer(struct json_writer *writer, const struct verified_layer *layer)
{
    json_begin_object(writer);
    json_text_member(writer, "id", layer->id);
    json_boolean_member(writer, "has_list", layer->has_list);
    json_number_member(writer, "files", (int64_t)layer->entry_count);
    json_key(writer, "differences");
    json_begin_array(writer);
    for (size_t i = 0; i < layer->difference_count; i++) {
        json_begin_object(writer);
        json_text_member(writer, "path", layer->differences[i].path);
        json_text_member(writer, "what", layer->differences[i].what);
        if (layer->differences[i].how[0] != '\0')
            json_text_member(writer, "how", layer->differences[i].how);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

static int print_json(const struct verification *verification, const struct verdicts *verdicts)
{
    OWNED(buffer_release) struct buffer text = BUFFER(REPORT_MAX);
    struct json_writer *writer;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_key(writer, "images");
    json_begin_array(writer);
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct verify_verdict *verdict = &verdicts->items[i];
        json_begin_object(writer);
        json_text_member(writer, "name", verdict->name);
        json_boolean_member(writer, "ok", verdict_is_good(verdict));
        if (verdict->fault.text[0] != '\0')
            json_text_member(writer, "error", verdict->fault.text);
        json_key(writer, "layers");
        json_begin_array(writer);
        for (size_t j = 0; j < verdict->layer_count; j++)
            json_text(writer, verification->layers[verdict->layers[j]].id);
        json_end_array(writer);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_key(writer, "layers");
    json_begin_array(writer);
    for (size_t i = 0; i < verification->layer_count; i++)
        write_layer(writer, &verification->layers[i]);
    json_end_array(writer);
    json_end_object(writer);
    r = json_writer_close(writer);
    if (r == 0)
        printf("%.*s\n", (int)text.length, text.data);
    return r;
}

/* The named images, or all images. */
static int images_verify(struct verification *verification, char **names, struct verdicts *verdicts,
                         struct fault *fault)
{
    OWNED_MEMORY char *store = NULL;
    struct image *images = NULL;
    size_t count = 0;
    int r = store_path(&store, fault);
    if (r == 0 && names[0] == NULL)
        r = image_list(store, &images, &count, fault);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = image_verify(verification, store, images[i].name, verdicts);
    for (; r == 0 && *names != NULL; names++)
        r = image_verify(verification, store, *names, verdicts);
    image_list_free(images, count);
    return r == -ENOMEM ? fault_set(fault, ENOMEM, "no memory for the result") : r;
}

static int verify(char **names, bool json)
{
    OWNED(verification_release) struct verification verification = {0};
    OWNED(verdicts_release) struct verdicts verdicts = {0};
    struct fault fault = {0};
    int r = images_verify(&verification, names, &verdicts, &fault);
    if (r == 0 && json)
        r = print_json(&verification, &verdicts);
    else if (r == 0)
        print_report(&verification, &verdicts);
    if (r < 0) {
        fprintf(stderr, PROGRAM ": %s\n",
                fault.text[0] != '\0' ? fault.text : "no memory for the report");
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < verdicts.count; i++)
        if (!verdict_is_good(&verdicts.items[i]))
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

int verify_main(int argc, char **argv, int (*prepare)(void))
{
    bool json = false;
    const struct option_table tables[] = {{options, &json}, {0}};
    struct fault fault = {0};
    int count = 0;
    int r = options_read(tables, argc - 1, argv + 1, &count, &fault);
    if (r < 0) {
        fprintf(stderr, PROGRAM ": %s\n", fault.text);
        return EXIT_USAGE;
    }
    if (r == OPTIONS_HELP)
        help_print();
    if (r == OPTIONS_VERSION)
        puts("code-sandbox-mcp " PROJECT_VERSION);
    if (r > 0)
        return EXIT_SUCCESS;
    argv[1 + count] = NULL;
    int status = prepare();
    return status != 0 ? status : verify(argv + 1, json);
}
