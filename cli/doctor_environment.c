#include "cli/doctor_environment.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"

#include <sys/stat.h>

#define REPORT_MAX (64 * KIBIBYTE)

/* Why other users may see values of --env; NULL: they cannot, as far as this program knows. */
static const char *warn_of_command_line(const struct settings *settings)
{
    return settings->environment.is_on_command_line
               ? "--env shows its values to every user of this computer, in the list of processes: "
                 "put secrets into a file for --env-file"
               : NULL;
}

static const char *warn_of_configuration(const struct settings *settings)
{
    struct stat status;
    bool is_open = settings->environment.is_in_configuration &&
                   settings->configuration_read != NULL &&
                   stat(settings->configuration_read, &status) == 0 &&
                   (status.st_mode & (S_IRGRP | S_IROTH)) != 0;
    return is_open
               ? "other users can read the values of \"env\" in the configuration file: run chmod "
                 "600 on it, or put secrets into a file for --env-file"
               : NULL;
}

static bool is_given(const struct variable *variable)
{
    return variable->text[variable->name_length] == '=';
}

/* Names only. */
static void print_variables(const struct environment *environment,
                            void (*print_finding)(enum verdict verdict, const char *what,
                                                  const char *text))
{
    OWNED(buffer_release) struct buffer text = BUFFER(REPORT_MAX);
    for (size_t i = 0; i < environment->count; i++) {
        const struct variable *variable = &environment->variables[i];
        if (!is_given(variable))
            continue;
        const struct language *language = variable->language;
        buffer_format(&text, "%s%s%s%.*s (%s)", text.length > 0 ? ", " : "",
                      language != NULL ? language->name : "", language != NULL ? ":" : "",
                      (int)variable->name_length, variable->text,
                      environment_source_name(variable->source));
    }
    const char *names = buffer_string(&text);
    if (names != NULL && names[0] != '\0')
        print_finding(VERDICT_OK, "environment", names);
}

void doctor_environment_print(const struct settings *settings,
                              void (*print_finding)(enum verdict verdict, const char *what,
                                                    const char *text))
{
    const char *const warnings[] = {warn_of_command_line(settings),
                                    warn_of_configuration(settings)};
    print_variables(&settings->environment, print_finding);
    for (size_t i = 0; i < ARRAY_LENGTH(warnings); i++) {
        if (warnings[i] != NULL)
            print_finding(VERDICT_WEAK, "environment", warnings[i]);
    }
}

/* Names only. */
void doctor_environment_write(struct json_writer *writer, const struct settings *settings)
{
    const char *const warnings[] = {warn_of_command_line(settings),
                                    warn_of_configuration(settings)};
    json_begin_object(writer);
    json_key(writer, "variables");
    json_begin_array(writer);
    for (size_t i = 0; i < settings->environment.count; i++) {
        const struct variable *variable = &settings->environment.variables[i];
        if (!is_given(variable))
            continue;
        json_begin_object(writer);
        json_key(writer, "name");
        json_string(writer, variable->text, variable->name_length);
        json_text_member(writer, "language",
                         variable->language != NULL ? variable->language->name : NULL);
        json_text_member(writer, "source", environment_source_name(variable->source));
        json_end_object(writer);
    }
    json_end_array(writer);
    json_key(writer, "warnings");
    json_begin_array(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(warnings); i++) {
        if (warnings[i] != NULL)
            json_text(writer, warnings[i]);
    }
    json_end_array(writer);
    json_end_object(writer);
}
