#include "cli/doctor_workers.h"

#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/terminal.h"
#include "interpreter/base/log.h"
#include "interpreter/workers/fleet_process.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"
#include "sandbox/base/utf8.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LISTED_MAX (16 * MEBIBYTE)
#define LINE_MAX_BYTES (64 * KIBIBYTE)

/* A language, and who can run it. */
struct offer {
    const struct language *language;
    const char *image;
    const char *environment; /* borrowed from the list; NULL: the image is not here */
    size_t workers; /* with the same image */
    enum verdict verdict;
    struct buffer message;
};

struct workers_report {
    const struct settings *settings;
    const struct json_value *workers; /* an array */
    struct offer offers[LANGUAGES_MAX];
    size_t offer_count;
    int64_t places;
    bool can_run;
};

static const char *text_of(const struct json_value *object, const char *name)
{
    const struct json_value *text = json_member(object, name);
    return text != NULL && text->type == JSON_STRING ? text->text : "";
}

static int64_t places_of(const struct json_value *worker)
{
    int64_t places = 0;
    return json_integer(json_member(worker, "places"), &places) == 0 && places > 0 ? places : 0;
}

static const struct json_value *items_of(const struct json_value *object, const char *name)
{
    const struct json_value *array = json_member(object, name);
    return array != NULL && array->type == JSON_ARRAY ? array->first : NULL;
}

/* The entry of a language among images; NULL: there is none. */
static const struct json_value *find_environment(const struct json_value *owner,
                                                 const char *language)
{
    for (const struct json_value *item = items_of(owner, "environments"); item != NULL;
         item = item->next)
        if (json_is(json_member(item, "language"), language))
            return item;
    return NULL;
}

/* What workers have in place of the image that is here. */
static void tell_difference(const struct offer *offer, const struct json_value *worker,
                            struct buffer *text)
{
    const struct json_value *other = find_environment(worker, offer->language->name);
    if (other == NULL)
        buffer_format(text, "; %.64s has no image", text_of(worker, "name"));
    else
        buffer_format(text, "; %.64s has %.64s (image %.64s)", text_of(worker, "name"),
                      text_of(other, "environment"), text_of(other, "image"));
}

static void tell_remedy(const struct offer *offer, struct buffer *text)
{
    buffer_format(text,
                  ". Copy its lock.json to the workers, and there run `code-sandbox-mcp fetch %s "
                  "--locked lock.json`",
                  offer->image);
}

static void examine(struct workers_report *report, struct offer *offer)
{
    struct buffer *text = &offer->message;
    OWNED(buffer_release) struct buffer differences = BUFFER(LINE_MAX_BYTES);
    const struct json_value *worker = report->workers->first;
    for (; offer->environment != NULL && worker != NULL; worker = worker->next) {
        const struct json_value *theirs = find_environment(worker, offer->language->name);
        if (json_is(json_member(theirs, "environment"), offer->environment))
            offer->workers++;
        else
            tell_difference(offer, worker, &differences);
    }
    *text = BUFFER(2 * LINE_MAX_BYTES);
    if (offer->environment == NULL) {
        buffer_format(text, "the image %s is not here, so no worker can be found for it",
                      offer->image);
        return;
    }
    buffer_format(text, "on %zu of %zu workers: image %s (%s)", offer->workers,
                  report->workers->count, offer->image, offer->environment);
    buffer_append(text, differences.data, differences.length);
    bool is_everywhere = offer->workers == report->workers->count;
    if (!is_everywhere)
        tell_remedy(offer, text);
    report->can_run = report->can_run || offer->workers > 0;
    offer->verdict = offer->workers == 0 ? VERDICT_NO : is_everywhere ? VERDICT_OK : VERDICT_WEAK;
}

static void make_report(struct workers_report *report, const struct settings *settings,
                        const struct json_value *list)
{
    *report =
        (struct workers_report){.settings = settings, .workers = json_member(list, "workers")};
    for (const struct json_value *worker = report->workers->first; worker != NULL;
         worker = worker->next)
        if (__builtin_add_overflow(report->places, places_of(worker), &report->places))
            report->places = INT64_MAX;
    for (size_t i = 0; i < language_count; i++) {
        if (!settings_offer(settings, languages[i]))
            continue;
        const struct json_value *here = find_environment(list, languages[i]->name);
        struct offer *offer = &report->offers[report->offer_count++];
        *offer = (struct offer){
            .language = languages[i],
            .image = settings_image(settings, languages[i]),
            .environment = here != NULL ? text_of(here, "environment") : NULL,
            .verdict = VERDICT_NO,
        };
        examine(report, offer);
    }
}

static void report_release(struct workers_report *report)
{
    for (size_t i = 0; i < report->offer_count; i++)
        buffer_release(&report->offers[i].message);
}

static const char *pool_of(const struct settings *settings)
{
    return settings->fleet.pool != NULL ? settings->fleet.pool : "default";
}

/* Names come from workers: not for a terminal as they are. */
static void print_line(const enum verdict *verdict, const char *what, struct buffer *text)
{
    OWNED_MEMORY char *plain = strdup(what);
    char *line = buffer_string(text);
    if (line == NULL || plain == NULL)
        return;
    utf8_make_plain(line, false);
    utf8_make_plain(plain, false);
    if (verdict != NULL)
        terminal_print_finding(*verdict, plain, line);
    else
        printf("      %-11s %s\n", plain, line);
}

static void print_worker(const struct json_value *worker)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_MAX_BYTES);
    buffer_format(&text, "%.64s, places %" PRId64 ":", text_of(worker, "name"), places_of(worker));
    for (const struct json_value *item = items_of(worker, "environments"); item != NULL;
         item = item->next)
        buffer_format(&text, " %.64s (image %.64s)", text_of(item, "environment"),
                      text_of(item, "image"));
    print_line(NULL, "worker", &text);
}

static void print_report(struct workers_report *report)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_MAX_BYTES);
    buffer_format(&text, "%s: workers %zu, places %" PRId64, pool_of(report->settings),
                  report->workers->count, report->places);
    enum verdict verdict = report->workers->count > 0 ? VERDICT_OK : VERDICT_NO;
    print_line(&verdict, "pool", &text);
    for (const struct json_value *worker = report->workers->first; worker != NULL;
         worker = worker->next)
        print_worker(worker);
    for (size_t i = 0; i < report->offer_count; i++)
        print_line(&report->offers[i].verdict, report->offers[i].language->name,
                   &report->offers[i].message);
    puts(report->can_run ? "\nWorkers can run snippets." : "\nNo worker can run snippets.");
}

static void write_offer(struct json_writer *writer, const struct offer *offer)
{
    json_begin_object(writer);
    json_text_member(writer, "name", offer->language->name);
    json_text_member(writer, "image", offer->image);
    json_text_member(writer, "environment", offer->environment);
    json_number_member(writer, "workers", (int64_t)offer->workers);
    json_boolean_member(writer, "ok", offer->verdict == VERDICT_OK);
    json_key(writer, "message");
    json_string(writer, offer->message.data, offer->message.length);
    json_end_object(writer);
}

static int print_json(const struct workers_report *report)
{
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LISTED_MAX);
    struct json_writer *writer = NULL;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_text_member(writer, "version", PROJECT_VERSION);
    json_text_member(writer, "configuration", report->settings->configuration_read);
    json_boolean_member(writer, "ok", report->can_run);
    json_text_member(writer, "pool", pool_of(report->settings));
    json_number_member(writer, "places", report->places);
    json_key(writer, "workers");
    json_copy(writer, report->workers);
    json_key(writer, "languages");
    json_begin_array(writer);
    for (size_t i = 0; i < report->offer_count; i++)
        write_offer(writer, &report->offers[i]);
    json_end_array(writer);
    json_end_object(writer);
    r = json_writer_close(writer);
    if (r == 0)
        printf("%.*s\n", (int)text.length, text.data);
    return r;
}

/* What code-sandbox-mcp-fleet says before it ends. */
static int ask(const struct settings *settings, struct json **ret_json, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LISTED_MAX);
    struct fleet_process process = FLEET_PROCESS_NONE;
    int r = fleet_process_start(&process, FLEET_LIST, &settings->fleet, settings, 0, fault);
    if (r < 0)
        return r;
    r = text_file_read_all(process.input_fd, &text);
    fleet_process_end(&process);
    if (r < 0)
        return fault_set(fault, -r, "listening to code-sandbox-mcp-fleet: %m");
    r = json_parse(text.data != NULL ? text.data : "", text.length, ret_json, fault);
    const struct json_value *root = r == 0 ? json_root(*ret_json) : NULL;
    const struct json_value *workers = json_member(root, "workers");
    if (r == 0 && (workers == NULL || workers->type != JSON_ARRAY))
        r = fault_set(fault, EIO, "%s", text_of(root, "failed"));
    return r;
}

static int tell_fault(const struct settings *settings, const struct fault *fault, bool json)
{
    OWNED(buffer_release) struct buffer text = BUFFER(8 * FAULT_TEXT_MAX);
    struct json_writer *writer = NULL;
    log_note("%s", fault->text);
    if (!json || json_writer_open(&text, &writer) < 0)
        return EXIT_FAILED;
    json_begin_object(writer);
    json_text_member(writer, "version", PROJECT_VERSION);
    json_boolean_member(writer, "ok", false);
    json_text_member(writer, "pool", pool_of(settings));
    json_text_member(writer, "error", fault->text);
    json_end_object(writer);
    if (json_writer_close(writer) == 0)
        printf("%.*s\n", (int)text.length, text.data);
    return EXIT_FAILED;
}

int doctor_workers(const struct settings *settings, bool json)
{
    OWNED(json_release) struct json *list = NULL;
    OWNED(report_release) struct workers_report report = {0};
    struct fault fault = {0};
    if (ask(settings, &list, &fault) < 0)
        return tell_fault(settings, &fault, json);
    make_report(&report, settings, json_root(list));
    if (!json)
        print_report(&report);
    else if (print_json(&report) < 0)
        log_note("no memory for the report");
    return report.can_run ? EXIT_DONE : EXIT_FAILED;
}
