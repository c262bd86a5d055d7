/*
 * Prints the settings as one JSON array, for manual pages and completions. Part of the build; not installed.
 */
#include "interpreter/settings/configuration.h"
#include "interpreter/settings/setting_table.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <stdio.h>

#define LIST_MAX (64 * KIBIBYTE)

static void write_choices(struct json_writer *writer, const char *const *choices)
{
    json_key(writer, "choices");
    json_begin_array(writer);
    for (; choices != NULL && *choices != NULL; choices++)
        json_text(writer, *choices);
    json_end_array(writer);
}

/* NULL, as a setting without a variable, becomes null. */
static void write_option(struct json_writer *writer, const struct option *option)
{
    const struct setting *setting = option->setting;
    json_begin_object(writer);
    json_text_member(writer, "option", option->name);
    json_text_member(writer, "variable", setting != NULL ? setting->variable : NULL);
    json_text_member(writer, "key", setting != NULL ? setting->key : NULL);
    json_text_member(writer, "form", setting != NULL ? configuration_form(setting) : NULL);
    json_text_member(writer, "meaning", setting != NULL ? setting->meaning : NULL);
    write_choices(writer, setting != NULL ? setting->choices : NULL);
    json_end_object(writer);
}

int main(void)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LIST_MAX);
    struct json_writer *writer = NULL;
    if (json_writer_open(&text, &writer) < 0)
        return 1;
    json_begin_array(writer);
    for (const struct option *const *table = setting_tables; *table != NULL; table++)
        for (const struct option *option = *table; option->name != NULL; option++)
            write_option(writer, option);
    json_end_array(writer);
    if (json_writer_close(writer) < 0)
        return 1;
    printf("%.*s\n", (int)text.length, text.data);
    return 0;
}
