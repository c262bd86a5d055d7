#include "cli/command.h"
#include "cli/image_process.h"
#include "cli/terminal.h"
#include "images/store/catalog.h"
#include "images/store/image_record.h"
#include "images/store/store.h"
#include "interpreter/base/log.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MEGABYTE UINT64_C(1000000)
#define DATE_LENGTH 10 /* "2026-01-31" */
#define LIST_JSON_MAX (16 * MEBIBYTE)

struct images_options {
    bool json, is_long;
};

static const struct option own_options[] = {
    {"--json", NULL, "list, history, du: as one JSON document", option_set_flag,
     .offset = offsetof(struct images_options, json)},
    {"--long", NULL, "list: name all libraries of an image", option_set_flag,
     .offset = offsetof(struct images_options, is_long)},
    {0},
};

static uint64_t megabytes(uint64_t bytes)
{
    return (bytes + MEGABYTE - 1) / MEGABYTE;
}

static void print_table(const struct image *images, size_t count, const char *store, bool is_long)
{
    if (count == 0) {
        printf(
            "There are no images in %s. Fetch the usual one with: code-sandbox-mcp fetch " AGENT_IMAGE
            "\n",
            store);
        return;
    }
    printf("%-16s %9s  %-10s  %s\n", "NAME", "SIZE", "CREATED", "CONTENTS");
    for (size_t i = 0; i < count; i++) {
        const char *contents = images[i].summary[0] != '\0' ? images[i].summary : images[i].source;
        char brief[FAULT_TEXT_MAX];
        terminal_shorten(contents, brief, sizeof(brief));
        printf("%-16s %6" PRIu64 " MB  %.*s  %s\n", images[i].name, megabytes(images[i].size_bytes),
               DATE_LENGTH, images[i].created, is_long ? contents : brief);
    }
}

/* "rootfs" where there is one directory; "layers", bottom to top, where there are several. */
static void write_directories(struct json_writer *writer, const struct image *image)
{
    if (image->layer_names == NULL) {
        json_text_member(writer, "rootfs", image->rootfs);
        return;
    }
    json_key(writer, "layers");
    json_begin_array(writer);
    for (char **name = image->layer_names; *name != NULL; name++) {
        OWNED_MEMORY char *path = NULL;
        if (asprintf(&path, "%s/%s", image->rootfs, *name) < 0)
            path = NULL;
        json_text(writer, path != NULL ? path : *name);
    }
    json_end_array(writer);
}

/* Images in their order; borrowed. */
struct named_images {
    const struct image *images;
    size_t count;
};

/* Prints what `write` writes. */
static int print_document(void (*write)(struct json_writer *writer, const void *data),
                          const void *data, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LIST_JSON_MAX);
    struct json_writer *writer = NULL;
    int r = json_writer_open(&text, &writer);
    if (r == 0) {
        write(writer, data);
        r = json_writer_close(writer);
    }
    if (r < 0)
        return fault_set(fault, -r, "composing the document: %m");
    printf("%.*s\n", (int)text.length, text.data);
    return 0;
}

static void write_list(struct json_writer *writer, const void *data)
{
    const struct named_images *array = data;
    json_begin_array(writer);
    for (size_t i = 0; i < array->count; i++) {
        const struct image *image = &array->images[i];
        json_begin_object(writer);
        json_text_member(writer, "name", image->name);
        json_text_member(writer, "summary", image->summary);
        json_text_member(writer, "source", image->source);
        json_text_member(writer, "created", image->created);
        write_directories(writer, image);
        json_number_member(writer, "size_bytes", (int64_t)image->size_bytes);
        json_number_member(writer, "file_count", (int64_t)image->file_count);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static int list_images(const char *store, const struct images_options *options, struct fault *fault)
{
    struct image *images = NULL;
    size_t count = 0;
    int r = image_list(store, &images, &count, fault);
    if (r < 0)
        return r;
    const struct named_images array = {images, count};
    if (options->json)
        r = print_document(write_list, &array, fault);
    else
        print_table(images, count, store, options->is_long);
    image_list_free(images, count);
    return r;
}

/* Goes on after one that cannot be removed; the status is of all. */
static int remove_images(const char *store, int count, char **names)
{
    int status = EXIT_DONE;
    for (int i = 0; i < count; i++) {
        struct fault fault = {0};
        int r = image_remove(store, names[i], &fault);
        if (r >= 0) {
            printf("removed %s%s\n", names[i],
                   r > 0
                       ? "; a run still uses some of its layers: `images prune` removes them later"
                       : "");
        } else {
            log_note("%s", fault.text);
            status = EXIT_FAILED;
        }
    }
    return status;
}

static int prune_images(const char *store, struct fault *fault)
{
    struct pruned pruned = {0};
    int r = image_prune(store, &pruned, fault);
    if (r < 0)
        return r;
    printf("removed %zu unused layer%s, %" PRIu64 " MB\n", pruned.layers,
           pruned.layers == 1 ? "" : "s", megabytes(pruned.bytes));
    if (pruned.held > 0)
        printf("%zu more are in use by runs or other commands: prune again later\n", pruned.held);
    return 0;
}

static void write_history(struct json_writer *writer, const void *data)
{
    const struct image *image = data;
    json_begin_object(writer);
    json_text_member(writer, "name", image->name);
    image_record_write_layers(writer, image);
    json_end_object(writer);
}

static void print_history(const struct image *image)
{
    printf("%-16s  %9s  %-20s  %s\n", "LAYER", "SIZE", "CREATED", "MADE BY");
    for (size_t i = 0; i < image->layer_count; i++) {
        const struct image_layer *layer = &image->layers[i];
        printf("%-16s  %6" PRIu64 " MB  %-20s  %s\n", layer->id, megabytes(layer->size_bytes),
               layer->created, layer->origin);
    }
    if (image->layer_count == 0)
        printf("%-16s  %6" PRIu64 " MB  %-20s  %s\n", "-", megabytes(image->size_bytes),
               image->created, image->source);
}

/* The layers of one image, the first at the bottom. */
static int show_history(const char *store, const char *name, bool json, struct fault *fault)
{
    OWNED(image_release) struct image image = {0};
    int r = image_open(store, name, &image, fault);
    if (r == 0 && json)
        return print_document(write_history, &image, fault);
    if (r == 0)
        print_history(&image);
    return r;
}

static bool has_layer(const struct image *image, const char *id)
{
    for (size_t i = 0; i < image->layer_count; i++)
        if (strcmp(image->layers[i].id, id) == 0)
            return true;
    return false;
}

/* What an image takes without the layers that it shares with one of the first `end` images. */
static uint64_t bytes_beside(const struct named_images *use, size_t number, size_t end)
{
    const struct image *image = &use->images[number];
    uint64_t bytes = image->layer_count == 0 ? image->size_bytes : 0;
    for (size_t i = 0; i < image->layer_count; i++) {
        bool is_shared = false;
        for (size_t j = 0; j < end; j++)
            is_shared =
                is_shared || (j != number && has_layer(&use->images[j], image->layers[i].id));
        bytes += is_shared ? 0 : image->layers[i].size_bytes;
    }
    return bytes;
}

/* What an image takes beside those before it. */
static uint64_t bytes_added(const struct named_images *use, size_t number)
{
    return bytes_beside(use, number, number);
}

/* What its removal frees: layers that no other image has. */
static uint64_t bytes_freed(const struct named_images *use, size_t number)
{
    return bytes_beside(use, number, use->count);
}

static void write_disk_use(struct json_writer *writer, const void *data)
{
    const struct named_images *use = data;
    uint64_t total = 0;
    json_begin_object(writer);
    json_key(writer, "images");
    json_begin_array(writer);
    for (size_t i = 0; i < use->count; i++) {
        total += bytes_added(use, i);
        json_begin_object(writer);
        json_text_member(writer, "name", use->images[i].name);
        json_number_member(writer, "layers", (int64_t)use->images[i].layer_count);
        json_number_member(writer, "size_bytes", (int64_t)use->images[i].size_bytes);
        json_number_member(writer, "added_bytes", (int64_t)bytes_added(use, i));
        json_number_member(writer, "freed_bytes", (int64_t)bytes_freed(use, i));
        json_end_object(writer);
    }
    json_end_array(writer);
    json_number_member(writer, "together_bytes", (int64_t)total);
    json_end_object(writer);
}

static void print_disk_use(const struct named_images *use)
{
    uint64_t total = 0;
    printf("%-16s %6s  %9s  %9s  %9s\n", "NAME", "LAYERS", "SIZE", "ADDITION", "FREED");
    for (size_t i = 0; i < use->count; i++) {
        const struct image *image = &use->images[i];
        uint64_t added = bytes_added(use, i);
        total += added;
        printf("%-16s %6zu  %6" PRIu64 " MB  %6" PRIu64 " MB  %6" PRIu64 " MB\n", image->name,
               image->layer_count, megabytes(image->size_bytes), megabytes(added),
               megabytes(bytes_freed(use, i)));
    }
    printf("%-16s %6s  %9s  %6" PRIu64 " MB\n", "together", "", "", megabytes(total));
}

/* What each image takes, alone and beside those above it in the table, and what its removal frees. */
static int show_disk_use(const char *store, bool json, struct fault *fault)
{
    struct image *images = NULL;
    size_t count = 0;
    int r = image_list(store, &images, &count, fault);
    const struct named_images use = {images, count};
    if (r == 0 && json)
        r = print_document(write_disk_use, &use, fault);
    else if (r == 0)
        print_disk_use(&use);
    image_list_free(images, count);
    return r;
}

static const char *const words[] = {"list", "add", "history", "du", "verify", "remove", "prune"};

/* "ls" and "rm" are as in other programs. */
static const char *full_word(const char *word)
{
    return strcmp(word, "ls") == 0 ? "list" : strcmp(word, "rm") == 0 ? "remove" : word;
}

static void refuse_word(const char *word, int operands, struct fault *fault)
{
    struct spelling spelling = spelling_of(word);
    int length = command_shown_length(word);
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (strcmp(words[i], word) == 0) {
            fault_set(fault, EINVAL, "`images %s` takes %s", word,
                      operands > 1 ? "no further name" : "the name of an image");
            return;
        }
        spelling_offer(&spelling, words[i]);
    }
    if (spelling.nearest != NULL)
        fault_set(fault, EINVAL, "there is no `images %.*s`: did you mean `images %s`?", length,
                  word, spelling.nearest);
    else
        fault_set(fault, EINVAL,
                  "there is no `images %.*s`: use list, add, history, du, verify, remove or prune",
                  length, word);
}

static int images(const struct command *command, int argc, char **argv)
{
    /* Their options are the image program's. */
    if (argc > 0 && (strcmp(argv[0], "add") == 0 || strcmp(argv[0], "verify") == 0))
        return image_program_execute(argv[0], argc - 1, argv + 1);
    struct images_options options = {0};
    int operands = 0;
    int status = EXIT_DONE;
    void *const data[] = {&options};
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    struct fault fault = {0};
    const char *word = operands > 0 ? full_word(argv[0]) : "list";
    bool list = strcmp(word, "list") == 0 && operands <= 1;
    bool prune = strcmp(word, "prune") == 0 && operands == 1;
    bool disk_use = strcmp(word, "du") == 0 && operands == 1;
    bool history = strcmp(word, "history") == 0 && operands == 2;
    bool remove = strcmp(word, "remove") == 0 && operands >= 2;
    if (!list && !prune && !disk_use && !history && !remove) {
        refuse_word(word, operands, &fault);
        return command_refuse(command, &fault);
    }
    OWNED_MEMORY char *store = NULL;
    int r = store_path(&store, &fault);
    if (r == 0 && list)
        r = list_images(store, &options, &fault);
    else if (r == 0 && prune)
        r = prune_images(store, &fault);
    else if (r == 0 && disk_use)
        r = show_disk_use(store, options.json, &fault);
    else if (r == 0 && history)
        r = show_history(store, argv[1], options.json, &fault);
    else if (r == 0)
        return remove_images(store, operands - 1, argv + 1);
    if (r < 0)
        log_note("%s", fault.text);
    return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static const struct option *const images_options[] = {own_options, NULL};

const struct command command_images = {
    .name = "images",
    .usage =
        "images [list [--json] | add NAME ... | history NAME | du | verify [NAME...] |\n       remove NAME... | prune]",
    .summary = "list images, add libraries to them, remove them",
    .help =
        "list       list the fetched images\n"
        "add        add libraries or tools to an image: see `images add --help`\n"
        "history    list the layers of an image, lowest first\n"
        "du         show the disk space of each image: its layers, those that no image above it\n"
        "           has, and those that its removal frees\n"
        "verify     check that images are unchanged: see `images verify --help`\n"
        "remove     remove images, and layers that no other image has\n"
        "prune      remove unused layers and the leftovers of killed commands\n"
        "\n"
        "Images are kept in $XDG_DATA_HOME/code-sandbox-mcp, by default\n"
        "~/.local/share/code-sandbox-mcp.\n",
    .options = images_options,
    .run = images,
};
