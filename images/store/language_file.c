#include "images/store/language_file.h"

#include "images/languages/language-files.h" /* of the build */
#include "images/store/image.h"
#include "images/store/xdg.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"
#include "sandbox/base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX 4096
#define TITLE_MAX 64
#define NAME_MAX_LENGTH 20
#define OWN_FOLDER "/code-sandbox-mcp/languages"
#define CLASS_WORD "{class}"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define NAME_LETTERS LETTERS "0123456789+-"
#define FILE_LETTERS LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_."

static const struct language_file *loaded[LANGUAGE_FILES_MAX + 1];
static size_t loaded_count;

/* As it is made: the document has all texts. */
struct language_reading {
    struct language_file file; /* first: the rest stays as long */
    struct json *json;
    const char *what; /* for faults */
};

enum key_kind { KEY_TEXT, KEY_WORDS, KEY_SECONDS };

static const char *check_name(const char *text);
static const char *check_alias(const char *text);
static const char *check_file(const char *text);
static const char *check_extension(const char *text);
static const char *check_image(const char *text);
static const char *check_title(const char *text);
static const char *check_variable(const char *text);

struct key {
    const char *name;
    enum key_kind kind;
    bool is_required;
    size_t offset;
    const char *(*check)(const char *text); /* what is wrong with a text; NULL: nothing. Or NULL */
};

#define AT(member) offsetof(struct language_file, member)

static const struct key keys[] = {
    {"name", KEY_TEXT, true, AT(name), check_name},
    {"title", KEY_TEXT, true, AT(title), check_title},
    {"image", KEY_TEXT, true, AT(image), check_image},
    {"file", KEY_TEXT, true, AT(file), check_file},
    {"compile", KEY_WORDS, false, AT(compile), NULL},
    {"compile_seconds", KEY_SECONDS, false, AT(compile_seconds), NULL},
    {"run", KEY_WORDS, true, AT(run), NULL},
    {"env", KEY_WORDS, false, AT(environment), check_variable},
    {"aliases", KEY_WORDS, false, AT(aliases), check_alias},
    {"http_names", KEY_WORDS, false, AT(http_names), NULL},
    {"extensions", KEY_WORDS, false, AT(extensions), check_extension},
    {"packages", KEY_WORDS, false, AT(packages), NULL},
    {"prepare", KEY_WORDS, false, AT(prepare), NULL},
    {"reference", KEY_TEXT, false, AT(reference), NULL},
    {"hello", KEY_TEXT, true, AT(hello), NULL},
    {"prints", KEY_TEXT, true, AT(prints), NULL},
};

static const char *check_name(const char *text)
{
    bool is_right = strchr(LETTERS, text[0]) != NULL &&
                    strspn(text, NAME_LETTERS) == strlen(text) && strlen(text) <= NAME_MAX_LENGTH;
    return is_right ? NULL : "must be a lower-case letter, then up to 19 of those, digits, + and -";
}

/* "c#" can be no name of an image, but people say it. */
static const char *check_alias(const char *text)
{
    bool is_right = strchr(LETTERS, text[0]) != NULL &&
                    strspn(text, NAME_LETTERS "#") == strlen(text) &&
                    strlen(text) <= NAME_MAX_LENGTH;
    return is_right ? NULL
                    : "must be a lower-case letter, then up to 19 of those, digits, +, - and #";
}

/* Models and terminals get it as it is. */
static const char *check_title(const char *text)
{
    bool is_right = strlen(text) <= TITLE_MAX;
    for (; *text != '\0'; text++)
        is_right &= (unsigned char)*text >= ' ' && *text != 0x7f;
    return is_right ? NULL : "must be one line of up to 64 bytes";
}

/* Or of a class, which has its own letters. */
static const char *check_file(const char *text)
{
    const char *rest = text;
    if (strncmp(text, CLASS_WORD, strlen(CLASS_WORD)) == 0)
        rest += strlen(CLASS_WORD);
    bool is_right = text[0] != '.' && strspn(rest, FILE_LETTERS) == strlen(rest);
    return is_right ? NULL : "must be the name of a file, without a folder: \"main.rb\"";
}

static const char *check_variable(const char *text)
{
    size_t length = strspn(text, LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    bool is_right = length > 0 && text[length] == '=' && strchr("0123456789", text[0]) == NULL;
    return is_right ? NULL : "must be a list of NAME=VALUE";
}

static const char *check_extension(const char *text)
{
    bool is_right =
        text[0] == '.' && text[1] != '\0' && strspn(text + 1, FILE_LETTERS) == strlen(text + 1);
    return is_right ? NULL : "must begin with a dot: \".rb\"";
}

static const char *check_image(const char *text)
{
    return image_name_check(text, NULL) == 0 ? NULL : "must be the name of an image: \"ruby\"";
}

static int refuse(const struct language_reading *reading, const struct key *key, const char *why,
                  struct fault *fault)
{
    return fault_set(fault, EINVAL, "%s: \"%s\" %s", reading->what, key->name, why);
}

static int check_text(const struct language_reading *reading, const struct key *key,
                      const struct json_value *value, struct fault *fault)
{
    bool is_list = key->kind == KEY_WORDS;
    if (value->type != JSON_STRING)
        return refuse(reading, key, is_list ? "must be a list of strings" : "must be a string",
                      fault);
    if (value->length == 0 || value->length > TEXT_MAX || strlen(value->text) != value->length)
        return refuse(reading, key,
                      is_list ? "has a string that is empty, has a NUL or is longer than 4096 bytes"
                              : "is empty, has a NUL or is longer than 4096 bytes",
                      fault);
    const char *wrong = key->check != NULL ? key->check(value->text) : NULL;
    return wrong != NULL ? refuse(reading, key, wrong, fault) : 0;
}

static int read_words(struct language_reading *reading, const struct key *key,
                      const struct json_value *array, const char ***ret_words, struct fault *fault)
{
    size_t count = array != NULL ? array->count : 0;
    if (array != NULL && (array->type != JSON_ARRAY || count > LANGUAGE_WORDS_MAX))
        return refuse(reading, key, "must be a list of strings, 64 at most", fault);
    if (key->is_required && count == 0)
        return refuse(reading, key, "must be a list of one string or more", fault);
    OWNED_MEMORY const char **words = calloc(count + 1, sizeof(*words));
    if (words == NULL)
        return fault_set(fault, ENOMEM, "%s: %m", reading->what);
    size_t filled = 0;
    for (const struct json_value *it = array != NULL ? array->first : NULL; it != NULL;
         it = it->next) {
        int r = check_text(reading, key, it, fault);
        if (r < 0)
            return r;
        words[filled++] = it->text;
    }
    *ret_words = pointer_take(&words);
    return 0;
}

static int read_seconds(struct language_reading *reading, const struct key *key,
                        const struct json_value *value, struct fault *fault)
{
    int64_t *seconds = (int64_t *)((char *)&reading->file + key->offset);
    *seconds = LANGUAGE_COMPILE_SECONDS;
    if (value != NULL && (json_integer(value, seconds) < 0 || *seconds < 1 ||
                          *seconds > LANGUAGE_COMPILE_SECONDS_MAX))
        return refuse(reading, key, "must be a whole number from 1 to 600", fault);
    return 0;
}

static int read_key(struct language_reading *reading, const struct key *key,
                    const struct json_value *value, struct fault *fault)
{
    char *member = (char *)&reading->file + key->offset;
    if (key->kind == KEY_SECONDS)
        return read_seconds(reading, key, value, fault);
    if (key->kind == KEY_WORDS)
        return read_words(reading, key, value, (const char ***)member, fault);
    if (value == NULL)
        return key->is_required ? refuse(reading, key, "is missing", fault) : 0;
    int r = check_text(reading, key, value, fault);
    if (r == 0)
        *(const char **)member = value->text;
    return r;
}

static int refuse_unknown(const struct language_reading *reading, const struct json_value *object,
                          struct fault *fault)
{
    for (const struct json_value *member = object->first; member != NULL; member = member->next) {
        bool is_known = false;
        struct spelling spelling = spelling_of(member->key);
        for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
            is_known |= json_key_is(member, keys[i].name);
            spelling_offer(&spelling, keys[i].name);
        }
        if (!is_known)
            return fault_set(fault, EINVAL, "%s: there is no key \"%.64s\"%s%s%s", reading->what,
                             member->key, spelling.nearest != NULL ? ": did you mean \"" : "",
                             spelling.nearest != NULL ? spelling.nearest : "",
                             spelling.nearest != NULL ? "\"?" : "");
    }
    return 0;
}

static bool list_has(const char *const *words, const char *word)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

/* What the members have to do with each other. */
static int check_whole(const struct language_reading *reading, struct fault *fault)
{
    const struct language_file *file = &reading->file;
    bool is_compiled = file->compile[0] != NULL;
    return list_has(is_compiled ? file->compile : file->run, file->file)
               ? 0
               : fault_set(fault, EINVAL,
                           "%s: \"%s\" has no word that is \"%s\", the file of the program",
                           reading->what, is_compiled ? "compile" : "run", file->file);
}

static int read_object(struct language_reading *reading, const struct json_value *object,
                       struct fault *fault)
{
    if (object->type != JSON_OBJECT)
        return fault_set(fault, EINVAL, "%s: must be an object: {\"name\": ...}", reading->what);
    int r = refuse_unknown(reading, object, fault);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(keys); i++)
        r = read_key(reading, &keys[i], json_member(object, keys[i].name), fault);
    return r == 0 ? check_whole(reading, fault) : r;
}

static void reading_free(struct language_reading *reading)
{
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
        if (keys[i].kind == KEY_WORDS)
            free(*(char **)((char *)&reading->file + keys[i].offset));
    free((char *)reading->file.origin);
    json_free(reading->json);
    free(reading);
}

static void reading_release(struct language_reading **reading)
{
    if (*reading != NULL)
        reading_free(*reading);
}

bool language_file_is_called(const struct language_file *file, const char *name)
{
    return strcmp(file->name, name) == 0 || list_has(file->aliases, name);
}

/* Of /run_code: a language without names for it has its own there. */
static bool is_called_there(const struct language_file *file, const char *name)
{
    return file->http_names[0] != NULL ? list_has(file->http_names, name)
                                       : strcmp(file->name, name) == 0;
}

/* A name of a file that another has, too; NULL: there is none. */
static const char *find_clash(const struct language_file *file, const struct language_file *other)
{
    if (language_file_is_called(other, file->name) || is_called_there(other, file->name))
        return file->name;
    for (size_t i = 0; file->aliases[i] != NULL; i++)
        if (language_file_is_called(other, file->aliases[i]))
            return file->aliases[i];
    for (size_t i = 0; file->http_names[i] != NULL; i++)
        if (is_called_there(other, file->http_names[i]))
            return file->http_names[i];
    return NULL;
}

/* A name means one language. */
static const char *find_extension(const struct language_file *file,
                                  const struct language_file *other)
{
    size_t i = 0;
    while (file->extensions[i] != NULL && !list_has(other->extensions, file->extensions[i]))
        i++;
    return file->extensions[i];
}

static int check_names(const struct language_reading *reading, struct fault *fault)
{
    const struct language_file *file = &reading->file;
    for (size_t i = 0; i < loaded_count; i++) {
        if (strcmp(loaded[i]->name, file->name) == 0)
            continue; /* it takes its place */
        const char *clash = find_clash(file, loaded[i]);
        if (clash != NULL)
            return fault_set(fault, EEXIST, "%s: \"%s\" is a name of %s: choose another",
                             reading->what, clash, loaded[i]->title);
        clash = find_extension(file, loaded[i]);
        if (clash != NULL)
            return fault_set(fault, EEXIST, "%s: \"%s\" is an extension of %s: choose another",
                             reading->what, clash, loaded[i]->title);
    }
    return 0;
}

static int parse(const char *text, size_t length, const char *what,
                 struct language_reading **ret_reading, struct fault *fault)
{
    OWNED(reading_release) struct language_reading *reading = calloc(1, sizeof(*reading));
    if (reading == NULL)
        return fault_set(fault, ENOMEM, "%s: %m", what);
    reading->what = what;
    int r = json_parse(text, length, &reading->json, fault);
    if (r == 0)
        r = json_check_unique(json_root(reading->json), fault);
    if (r < 0) {
        fault_prefix(fault, "%s", what);
        return r;
    }
    r = read_object(reading, json_root(reading->json), fault);
    if (r == 0)
        r = check_names(reading, fault);
    if (r == 0)
        *ret_reading = pointer_take(&reading);
    return r;
}

/* In the place of one that is built in: two of the person's are one too many. */
static int replace(size_t place, struct language_reading *reading, struct fault *fault)
{
    const struct language_file *old = loaded[place];
    if (old->origin != NULL) {
        int r = fault_set(fault, EEXIST, "%s: \"name\": %s has the language %s already",
                          reading->what, old->origin, old->name);
        reading_free(reading);
        return r;
    }
    reading_free((struct language_reading *)old);
    loaded[place] = &reading->file;
    return 0;
}

/* Takes it over. */
static int add(struct language_reading *reading, struct fault *fault)
{
    for (size_t i = 0; i < loaded_count; i++)
        if (strcmp(loaded[i]->name, reading->file.name) == 0)
            return replace(i, reading, fault);
    if (loaded_count == LANGUAGE_FILES_MAX) {
        int r = fault_set(fault, E2BIG, "%s: there are more than %d languages", reading->what,
                          LANGUAGE_FILES_MAX);
        reading_free(reading);
        return r;
    }
    loaded[loaded_count++] = &reading->file;
    return 0;
}

static int load_built_in(struct fault *fault)
{
    for (size_t i = 0; i < ARRAY_LENGTH(built_in_languages); i++) {
        struct language_reading *reading;
        int r = parse(built_in_languages[i].text, strlen(built_in_languages[i].text),
                      built_in_languages[i].name, &reading, fault);
        if (r == 0)
            r = add(reading, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_own(const char *path, struct language_reading **ret_reading, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LANGUAGE_FILE_BYTES_MAX);
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) < 0)
        return fault_set(fault, errno, "cannot open the language file %s: %m", path);
    if (!S_ISREG(about.st_mode) || about.st_size > LANGUAGE_FILE_BYTES_MAX)
        return fault_set(fault, EINVAL, "the language file %s is %s", path,
                         S_ISREG(about.st_mode) ? "longer than 64 KiB" : "no regular file");
    int r = text_file_read_all(fd, &text);
    if (r < 0)
        return fault_set(fault, -r, "cannot read the language file %s: %m", path);
    r = parse(text.data, text.length, path, ret_reading, fault);
    if (r < 0)
        return r;
    (*ret_reading)->file.origin = strdup(path);
    if ((*ret_reading)->file.origin != NULL)
        return 0;
    reading_free(*ret_reading);
    *ret_reading = NULL;
    return fault_set(fault, ENOMEM, "%s: %m", path);
}

static int add_own(const char *folder, const char *name, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    struct language_reading *reading;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return fault_set(fault, ENOMEM, "reading %s: %m", folder);
    int r = read_own(path, &reading, fault);
    return r == 0 ? add(reading, fault) : r;
}

static int is_language_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 &&
           strcmp(entry->d_name + length - 5, ".json") == 0;
}

static int load_own(struct fault *fault)
{
    OWNED_MEMORY char *configuration = NULL, *folder = NULL;
    int r = xdg_directory("XDG_CONFIG_HOME", ".config", &configuration);
    if (r == -ENOENT)
        return 0;
    if (r < 0 || asprintf(&folder, "%s" OWN_FOLDER, configuration) < 0)
        return fault_set(fault, ENOMEM, "looking for language files: %m");
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_language_file, alphasort);
    if (count < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : fault_set(fault, errno, "cannot read the language files in %s: %m", folder);
    for (int i = 0; i < count; i++) {
        if (r == 0)
            r = add_own(folder, entries[i]->d_name, fault);
        free(entries[i]);
    }
    free(entries);
    return r;
}

int language_files_load(struct fault *fault)
{
    int r = load_built_in(fault);
    return r == 0 ? load_own(fault) : r;
}

int language_file_try(const char *path,
                      int (*check)(const struct language_file *file, struct fault *fault),
                      struct fault *fault)
{
    OWNED(reading_release) struct language_reading *reading = NULL;
    int r = read_own(path, &reading, fault);
    return r == 0 ? check(&reading->file, fault) : r;
}

const struct language_file *const *language_files(void)
{
    return loaded;
}
