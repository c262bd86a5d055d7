/* sandbox://environments: the images of the languages. */
#include "images/store/catalog.h"
#include "images/store/store.h"
#include "mcp/resources/resource.h"
#include "sandbox/base/owned.h"

#include <errno.h>

#define ENVIRONMENTS_URI "sandbox://environments"
#define ENVIRONMENTS_MAX 65536

/*
 * image and installed_libraries are the members of the Python server's resource; the others tell
 * how to fetch it.
 */
static void write_environment(struct json_writer *writer, const struct settings *settings,
                              const struct language *language, const char *store)
{
    const char *name = settings_image(settings, language);
    const struct recipe *recipe = recipe_find(name);
    OWNED(image_release) struct image image = {0};
    struct fault fault = {0};
    int r = image_open(store, name, &image, &fault);
    json_key(writer, language->name);
    json_begin_object(writer);
    json_text_member(writer, "image", name);
    json_text_member(
        writer, "installed_libraries",
        r == 0 ? image.summary
               : (recipe != NULL ? recipe->summary : "unknown until the image is fetched"));
    json_boolean_member(writer, "available", r == 0);
    if (r < 0)
        json_text_member(writer, "reason", fault.text);
    if (r == -ENOENT && recipe != NULL) {
        OWNED(buffer_release) struct buffer command = BUFFER(1024);
        buffer_format(&command, "code-sandbox-mcp fetch %s", name);
        json_key(writer, "fetch");
        json_string(writer, command.data, command.length);
    }
    json_end_object(writer);
}

static int compose_environments(const struct settings *settings, struct buffer *text,
                                struct fault *fault)
{
    OWNED_MEMORY char *store = NULL;
    int r = store_path(&store, fault);
    if (r < 0)
        return r;
    struct json_writer *writer = NULL;
    r = json_writer_open(text, &writer);
    if (r < 0)
        return fault_set(fault, -r, "describing the environments: %m");
    json_begin_object(writer);
    for (size_t i = 0; i < language_count; i++)
        if (settings_offer(settings, languages[i]))
            write_environment(writer, settings, languages[i], store);
    json_end_object(writer);
    r = json_writer_close(writer);
    return r < 0 ? fault_set(fault, -r, "describing the environments: %m") : 0;
}

static bool read_environments(struct context *context, const struct json_value *uri,
                              const struct reply *reply)
{
    if (!json_is(uri, ENVIRONMENTS_URI))
        return false;
    struct fault fault = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(ENVIRONMENTS_MAX);
    OWNED(buffer_release) struct buffer quoted = BUFFER(6 * ENVIRONMENTS_MAX);
    int r = compose_environments(context->settings, &text, &fault);
    if (r == 0 && resource_quote(&text, &quoted) < 0)
        r = fault_set(&fault, ENOMEM, "describing the environments: %m");
    const struct resource_contents contents = {
        .uri = uri, .type = "application/json", .bytes = &text, .quoted = &quoted};
    if (r < 0)
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR, "%s", fault.text);
    else
        resource_answer_contents(reply, &contents);
    return true;
}

const struct resource resource_environments = {
    .uri = ENVIRONMENTS_URI,
    .name = "environments",
    .title = "Sandbox environments",
    .description = "The image of each language, its libraries, and whether it has been fetched",
    .type = "application/json",
    .read = read_environments,
};
