#include "images/store.h"
#include "mcp/command.h"
#include "mcp/log.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MEGABYTE UINT64_C(1000000)
#define LIST_JSON_MAX (16 * MEBIBYTE)

struct images_options {
    bool json;
};

static int apply_json(void *data, const struct option *option, const char *value,
                      struct fault *fault)
{
    (void)option;
    (void)value;
    (void)fault;
    struct images_options *options = data;
    options->json = true;
    return 0;
}

static const struct option own_options[] = {
    {"--json", NULL, "list: as one JSON array", apply_json, NULL},
    {0},
};

static void print_table(const struct image *images, size_t count, const char *store)
{
    if (count == 0) {
        printf("There are no images in %s. `code-sandbox-mcp fetch python node` fetches the two "
               "that snippets run on.\n",
               store);
        return;
    }
    printf("%-16s %9s  %-20s  %s\n", "NAME", "SIZE", "CREATED", "CONTENTS");
    for (size_t i = 0; i < count; i++) {
        const char *contents = images[i].summary[0] != '\0' ? images[i].summary : images[i].source;
        printf("%-16s %5" PRIu64 " MB  %-20s  %s\n", images[i].name,
               (images[i].size_bytes + MEGABYTE - 1) / MEGABYTE, images[i].created, contents);
    }
}

static int print_json(const struct image *images, size_t count)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LIST_JSON_MAX);
    struct json_writer *writer = NULL;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return r;
    json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(writer);
        json_text_member(writer, "name", images[i].name);
        json_text_member(writer, "summary", images[i].summary);
        json_text_member(writer, "source", images[i].source);
        json_text_member(writer, "created", images[i].created);
        json_text_member(writer, "rootfs", images[i].rootfs);
        json_number_member(writer, "size_bytes", (int64_t)images[i].size_bytes);
        json_number_member(writer, "file_count", (int64_t)images[i].file_count);
        json_end_object(writer);
    }
    json_end_array(writer);
    r = json_writer_close(writer);
    if (r == 0)
        printf("%.*s\n", (int)text.length, text.data);
    return r;
}

static int list_images(const char *store, bool json, struct fault *fault)
{
    struct image *images = NULL;
    size_t count = 0;
    int r = image_list(store, &images, &count, fault);
    if (r < 0)
        return r;
    if (json)
        r = print_json(images, count);
    else
        print_table(images, count, store);
    image_list_free(images, count);
    return r < 0 ? fault_set(fault, -r, "listing the images: %m") : 0;
}

/* Goes on after one that cannot be removed; the status is of all. */
static int remove_images(const char *store, int count, char **names)
{
    int status = EXIT_DONE;
    for (int i = 0; i < count; i++) {
        struct fault fault = {0};
        if (image_remove(store, names[i], &fault) == 0) {
            printf("removed %s\n", names[i]);
        } else {
            log_note("%s", fault.text);
            status = EXIT_FAILED;
        }
    }
    return status;
}

static int images(const struct command *command, int argc, char **argv)
{
    struct images_options options = {0};
    int operands = 0;
    int status = EXIT_DONE;
    void *const data[] = {&options};
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    struct fault fault = {0};
    bool list = operands == 0 || (operands == 1 && strcmp(argv[0], "list") == 0);
    bool remove = operands >= 2 && strcmp(argv[0], "remove") == 0;
    if (!list && !remove) {
        fault_set(&fault, EINVAL, "say `images list`, or `images remove NAME...`");
        return command_refuse(command, &fault);
    }
    OWNED_MEMORY char *store = NULL;
    int r = store_path(&store, &fault);
    if (r == 0 && list)
        r = list_images(store, options.json, &fault);
    else if (r == 0)
        return remove_images(store, operands - 1, argv + 1);
    if (r < 0)
        log_note("%s", fault.text);
    return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static const struct option *const images_options[] = {own_options, NULL};

const struct command command_images = {
    .name = "images",
    .usage = "images [list [--json] | remove NAME...]",
    .summary = "list the images that are there, or remove some",
    .help = "Lists the images that have been fetched, or removes them. They are kept in\n"
            "$XDG_DATA_HOME/code-sandbox-mcp/images, else in\n"
            "$HOME/.local/share/code-sandbox-mcp/images.\n",
    .options = images_options,
    .run = images,
};
