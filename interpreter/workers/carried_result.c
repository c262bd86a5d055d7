#include "interpreter/workers/carried_result.h"

#include "interpreter/base/bounds.h"
#include "interpreter/folders/carried_changes.h"
#include "interpreter/rules/findings_text.h"
#include "interpreter/workers/carried_left.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/io.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4)
#define FILE_OVERHEAD (2 * RUN_FILE_PATH_SIZE) /* of one in the list, but its bytes */
#define CODE_HIGHEST 255
#define DECODING_ROOM 4 /* base64_decode() rounds up */
#define TOLD_MAX (2 * LINE_IN_MAX) /* written anew, a text may be longer */

/* The most that a worker may say: more than any run has, and so little that sums of many do not overflow. */
#define TIME_MOST (RUN_WALL_MAX_MS * NANOSECONDS_PER_MILLISECOND * 4)
#define PROCESSORS_MOST 4096
#define BYTES_MOST (INT64_C(1) << 50)
#define COUNT_MOST (INT64_C(1) << 40)

/* Members of struct run_result that are numbers of 64 bits, and not in the record. */
struct number_member {
    const char *name;
    size_t offset;
    int64_t most;
};

#define LIMIT_NUMBER(member, most) {#member, offsetof(struct run_result, limits.member), most}

static const struct number_member numbers[] = {
    {"queued_ns", offsetof(struct run_result, queued_ns), TIME_MOST},
    LIMIT_NUMBER(wall_ms, RUN_WALL_MAX_MS),
    LIMIT_NUMBER(memory_bytes, BYTES_MOST),
    LIMIT_NUMBER(disk_bytes, BYTES_MOST),
    LIMIT_NUMBER(inodes, COUNT_MOST),
    LIMIT_NUMBER(processes, COUNT_MOST),
    LIMIT_NUMBER(descriptors, COUNT_MOST),
    LIMIT_NUMBER(output_kept, BYTES_MOST),
    LIMIT_NUMBER(output_total, BYTES_MOST),
};

static void write_bytes(struct json_writer *writer, const char *name, const char *bytes,
                        size_t length)
{
    json_key(writer, name);
    json_base64(writer, bytes, length);
}

static void write_capture(struct json_writer *writer, const char *name,
                          const struct capture *capture)
{
    json_key(writer, name);
    json_begin_object(writer);
    write_bytes(writer, "head", capture->head.data, capture->head.length);
    write_bytes(writer, "tail", capture->tail.data, capture->tail.length);
    json_number_member(writer, "total", (int64_t)capture->total);
    json_number_member(writer, "cut", (int64_t)capture->cut);
    json_end_object(writer);
}

static bool write_file(struct json_writer *writer, const struct run_file *file, size_t *room)
{
    size_t needed = BASE64_SIZE((size_t)file->size) + FILE_OVERHEAD;
    OWNED(buffer_release) struct buffer bytes = BUFFER(file->size);
    if (file->size > *room || needed > *room || io_append(file->fd, file->size, &bytes) < 0)
        return false;
    *room -= needed;
    json_begin_object(writer);
    json_text_member(writer, "path", file->path);
    write_bytes(writer, "bytes", bytes.data, bytes.length);
    json_end_object(writer);
    return true;
}

static void write_files(struct json_writer *writer, const char *name, const struct run_files *files,
                        size_t *room)
{
    size_t more = files->more;
    json_key(writer, name);
    json_begin_object(writer);
    json_key(writer, "list");
    json_begin_array(writer);
    for (size_t i = 0; i < files->count; i++)
        more += !write_file(writer, &files->list[i], room);
    json_end_array(writer);
    json_number_member(writer, "more", (int64_t)more);
    json_boolean_member(writer, "at_least", files->more_at_least);
    json_end_object(writer);
}

static void write_network(struct json_writer *writer, const struct network_record *record)
{
    uint8_t bytes[RECORD_BYTES_MAX];
    if (record == NULL)
        return;
    write_bytes(writer, "network", (const char *)bytes, record_write(record, bytes));
}

/* By name: their numbers differ between versions. */
static void write_limits(struct json_writer *writer, unsigned reached)
{
    json_key(writer, "limits_reached");
    json_begin_array(writer);
    for (unsigned i = 0; i < LIMIT_COUNT; i++)
        if (reached & 1U << i)
            json_text(writer, outcome_limit_name((enum limit_index)i));
    json_end_array(writer);
}

static void write_told(struct json_writer *writer, const struct carried_result *carried,
                       size_t *room)
{
    size_t findings = carried->findings != NULL ? findings_text_room(carried->findings) : 0;
    *room -= findings < *room ? findings : *room;
    if (carried->patches != NULL && carried->patches->count > 0) {
        json_key(writer, "changes");
        carried_changes_write(writer, carried->patches, room);
    }
    if (carried->findings != NULL) {
        json_key(writer, "check");
        findings_text_carry(writer, carried->findings, carried->check_ns);
    }
}

static void write_compile(struct json_writer *writer, const struct run_compile *compile)
{
    if (compile == NULL)
        return;
    json_key(writer, "compile");
    json_begin_object(writer);
    json_text_member(writer, "outcome", outcome_name(compile->outcome));
    json_number_member(writer, "exit_code", compile->exit_code);
    json_number_member(writer, "signal", compile->signal);
    json_number_member(writer, "duration_ns", compile->duration_ns);
    json_boolean_member(writer, "kept", compile->was_kept);
    write_capture(writer, "stdout", &compile->out);
    write_capture(writer, "stderr", &compile->err);
    json_end_object(writer);
}

void carried_result_write(struct json_writer *writer, const struct carried_result *carried,
                          size_t room)
{
    const struct run_result *result = carried->result;
    const struct enforcement *enforced = &result->enforced;
    json_begin_object(writer);
    json_number_member(writer, "folders_lost",
                       carried->patches != NULL ? (int64_t)carried->patches->lost : 0);
    write_told(writer, carried, &room);
    if (!carried->wants_files)
        room = 0;
#define NUMBER(name, member, ...) json_number_member(writer, #member, result->member);
#define CHOICE(name, type, name_of, ...) json_text_member(writer, #name, name_of(result->name));
#include "interpreter/base/result.def"
    json_number_member(writer, "exit_code", result->exit_code);
    json_number_member(writer, "signal", result->signal);
    write_capture(writer, "stdout", &result->out);
    write_capture(writer, "stderr", &result->err);
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        int64_t number;
        memcpy(&number, (const char *)result + numbers[i].offset, sizeof(number));
        json_number_member(writer, numbers[i].name, number);
    }
    json_number_member(writer, "millicpus", result->limits.millicpus);
    write_limits(writer, result->limits_reached);
    json_text_member(writer, "isolation", result->isolation);
    json_text_member(writer, "memory_by", enforced_by_name(enforced->memory));
    json_text_member(writer, "processes_by", enforced_by_name(enforced->processes));
    json_text_member(writer, "cpu_by", enforced_by_name(enforced->cpu));
    write_files(writer, "figures", &result->figures, &room);
    write_files(writer, "files", &result->files, &room);
    json_boolean_member(writer, "files_lost", result->files_lost);
    carried_left_write(writer, &result->left_out);
    write_network(writer, result->network);
    write_compile(writer, result->compile);
    json_end_object(writer);
}

static int refuse(struct fault *fault, const char *name)
{
    return fault_set(fault, EBADMSG, "the result of a worker has no good \"%s\"", name);
}

static int read_number(const struct json_value *object, const char *name, int64_t high,
                       int64_t *ret_number, struct fault *fault)
{
    int64_t number;
    if (json_integer(json_member(object, name), &number) < 0 || number < 0 || number > high)
        return refuse(fault, name);
    *ret_number = number;
    return 0;
}

/* The one of `count` names that the member has. */
static int read_choice(const struct json_value *object, const char *name,
                       const char *(*name_of)(unsigned choice), unsigned count,
                       unsigned *ret_choice, struct fault *fault)
{
    const struct json_value *value = json_member(object, name);
    for (unsigned i = 0; i < count; i++) {
        const char *known = name_of(i);
        if (known == NULL || !json_is(value, known))
            continue;
        *ret_choice = i;
        return 0;
    }
    return refuse(fault, name);
}

#define CHOICE(name, type, name_of, ...)                                                           \
    static const char *name##_of(unsigned choice)                                                  \
    {                                                                                              \
        return name_of((type)choice);                                                              \
    }
#include "interpreter/base/result.def"

static const char *enforcer_of(unsigned choice)
{
    return enforced_by_name((enum enforced_by)choice);
}

#define ISOLATIONS_OF_TIER (LANDLOCK_SCOPES + 1)

static const char *isolation_of(unsigned choice)
{
    return isolation_name(choice / ISOLATIONS_OF_TIER, (int)(choice % ISOLATIONS_OF_TIER));
}

static int read_enforcer(const struct json_value *value, const char *name,
                         enum enforced_by *ret_enforcer, struct fault *fault)
{
    unsigned choice = 0;
    int r = read_choice(value, name, enforcer_of, ENFORCED_BY_POLLING + 1, &choice, fault);
    *ret_enforcer = (enum enforced_by)choice;
    return r;
}

/* The rows of the record that are a NUMBER or a CHOICE. */
static int read_rows(const struct json_value *value, struct run_result *result, struct fault *fault)
{
    int r = 0;
#define NUMBER(name, member, unit, most, ...)                                                      \
    if (r == 0)                                                                                    \
        r = read_number(value, #member, most, &result->member, fault);
#define CHOICE(name, type, name_of, count, ...)                                                    \
    if (r == 0) {                                                                                  \
        unsigned choice = 0;                                                                       \
        r = read_choice(value, #name, name##_of, count, &choice, fault);                           \
        result->name = (type)choice;                                                               \
    }
#include "interpreter/base/result.def"
    return r;
}

static int read_choices(const struct json_value *value, struct run_result *result,
                        struct fault *fault)
{
    struct enforcement *enforced = &result->enforced;
    unsigned isolation = 0;
    int r = read_choice(value, "isolation", isolation_of, TIER_COUNT * ISOLATIONS_OF_TIER,
                        &isolation, fault);
    result->isolation = isolation_of(isolation);
    if (r == 0)
        r = read_enforcer(value, "memory_by", &enforced->memory, fault);
    if (r == 0)
        r = read_enforcer(value, "processes_by", &enforced->processes, fault);
    return r < 0 ? r : read_enforcer(value, "cpu_by", &enforced->cpu, fault);
}

static int read_limits(const struct json_value *value, struct run_result *result,
                       struct fault *fault)
{
    const struct json_value *reached = json_member(value, "limits_reached");
    if (reached == NULL || reached->type != JSON_ARRAY)
        return refuse(fault, "limits_reached");
    for (const struct json_value *limit = reached->first; limit != NULL; limit = limit->next) {
        unsigned i = 0;
        while (i < LIMIT_COUNT && !json_is(limit, outcome_limit_name((enum limit_index)i)))
            i++;
        if (i == LIMIT_COUNT)
            return refuse(fault, "limits_reached");
        result->limits_reached |= 1U << i;
    }
    return 0;
}

static int read_numbers(const struct json_value *value, struct run_result *result,
                        struct fault *fault)
{
    int64_t millicpus = 0, code = 0, number = 0;
    int r = read_limits(value, result, fault);
    if (r == 0)
        r = read_number(value, "millicpus", RUN_MILLICPUS_MAX, &millicpus, fault);
    if (r == 0 && result->outcome == OUTCOME_EXITED)
        r = read_number(value, "exit_code", CODE_HIGHEST, &code, fault);
    if (r == 0)
        r = read_number(value, "signal", CODE_HIGHEST, &number, fault);
    result->limits.millicpus = (uint32_t)millicpus;
    result->exit_code = result->outcome == OUTCOME_EXITED ? (int)code : -1;
    result->signal = (int)number;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(numbers); i++) {
        r = read_number(value, numbers[i].name, numbers[i].most, &number, fault);
        memcpy((char *)result + numbers[i].offset, &number, sizeof(number));
    }
    return r;
}

static int read_bytes(const struct json_value *object, const char *name, struct buffer *ret_bytes,
                      struct fault *fault)
{
    size_t wrong;
    const struct json_value *text = json_member(object, name);
    if (text == NULL || text->type != JSON_STRING)
        return refuse(fault, name);
    *ret_bytes = BUFFER(text->length + DECODING_ROOM);
    int r = base64_decode(ret_bytes, text->text, text->length, &wrong);
    return r == -EINVAL ? refuse(fault, name)
           : r < 0      ? fault_set(fault, -r, "reading the result of a worker: %m")
                        : 0;
}

static int read_capture(const struct json_value *value, const char *name, struct capture *capture,
                        struct fault *fault)
{
    const struct json_value *object = json_member(value, name);
    int64_t total = 0, cut = 0;
    int r = read_bytes(object, "head", &capture->head, fault);
    if (r == 0)
        r = read_bytes(object, "tail", &capture->tail, fault);
    if (r == 0)
        r = read_number(object, "total", BYTES_MOST, &total, fault);
    if (r == 0)
        r = read_number(object, "cut", BYTES_MOST, &cut, fault);
    size_t kept = capture->head.length + capture->tail.length;
    if (r == 0 && (total < cut || (uint64_t)(total - cut) != kept))
        r = refuse(fault, "total");
    capture->total = (uint64_t)total;
    capture->cut = (uint64_t)cut;
    return r;
}

static int make_file(const struct buffer *bytes, int *ret_fd)
{
    OWNED_FD int fd = memfd_create("file", MFD_CLOEXEC);
    int r = fd < 0 ? -errno : io_write_at(fd, bytes->data, bytes->length, 0);
    *ret_fd = r == 0 ? fd_take(&fd) : -1;
    return r;
}

static int read_entry(const struct json_value *entry, struct run_file *ret_file,
                      struct fault *fault)
{
    const struct json_value *path = json_member(entry, "path");
    OWNED(buffer_release) struct buffer bytes = {0};
    struct run_file file = {.fd = -1};
    if (!carried_left_is_path(path))
        return refuse(fault, "path");
    int r = read_bytes(entry, "bytes", &bytes, fault);
    if (r < 0)
        return r;
    r = make_file(&bytes, &file.fd);
    file.path = strdup(path->text);
    file.size = bytes.length;
    if (r == 0 && file.path == NULL)
        r = -ENOMEM;
    if (r == 0) {
        *ret_file = file;
        return 0;
    }
    free(file.path);
    fd_close(&file.fd);
    return fault_set(fault, -r, "keeping a file of a worker: %m");
}

static int read_files(const struct json_value *value, const char *name, size_t most,
                      struct run_files *files, struct fault *fault)
{
    const struct json_value *object = json_member(value, name);
    const struct json_value *list = json_member(object, "list");
    const struct json_value *at_least = json_member(object, "at_least");
    int64_t more = 0;
    if (list == NULL || list->type != JSON_ARRAY || list->count > most || at_least == NULL ||
        at_least->type != JSON_BOOLEAN)
        return refuse(fault, name);
    int r = read_number(object, "more", INT32_MAX, &more, fault);
    files->more = (size_t)more;
    files->more_at_least = at_least->boolean;
    for (const struct json_value *entry = list->first; r == 0 && entry != NULL;
         entry = entry->next) {
        r = read_entry(entry, &files->list[files->count], fault);
        files->count += r == 0;
    }
    return r;
}

static int read_network(const struct json_value *value, struct run_result *result,
                        struct fault *fault)
{
    OWNED(buffer_release) struct buffer bytes = {0};
    if (json_member(value, "network") == NULL)
        return 0;
    int r = read_bytes(value, "network", &bytes, fault);
    if (r < 0)
        return r;
    result->network = calloc(1, sizeof(*result->network));
    if (result->network == NULL)
        return fault_set(fault, ENOMEM, "reading the result of a worker: %m");
    return record_read((const uint8_t *)bytes.data, bytes.length, result->network)
               ? 0
               : refuse(fault, "network");
}

/* As it was written, for those who know what it says. */
static int read_told(const struct json_value *value, const char *name, struct buffer *text)
{
    const struct json_value *told = json_member(value, name);
    struct json_writer *writer = NULL;
    if (told == NULL)
        return 0;
    *text = BUFFER(TOLD_MAX);
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_copy(writer, told);
    return json_writer_close(writer);
}

static int read_all_told(const struct json_value *value, struct run_result *result,
                         struct fault *fault)
{
    int64_t lost = 0;
    int r = json_member(value, "folders_lost") == NULL /* of a worker that cannot tell */
                ? 0
                : read_number(value, "folders_lost", FOLDERS_MAX, &lost, fault);
    result->folders.lost = (size_t)lost;
    if (r < 0)
        return r;
    r = read_told(value, "changes", &result->told_changes);
    if (r == 0)
        r = read_told(value, "check", &result->told_findings);
    return r < 0 ? fault_set(fault, -r, "reading the result of a worker: %m") : 0;
}

static int read_compile_into(const struct json_value *value, struct run_compile *compile,
                             struct fault *fault)
{
    const struct json_value *kept = json_member(value, "kept");
    unsigned outcome = 0;
    int64_t code = 0, number = 0;
    int r = read_choice(value, "outcome", outcome_of, OUTCOME_COUNT, &outcome, fault);
    compile->outcome = (enum run_outcome)outcome;
    if (r == 0 && compile->outcome == OUTCOME_EXITED)
        r = read_number(value, "exit_code", CODE_HIGHEST, &code, fault);
    if (r == 0)
        r = read_number(value, "signal", CODE_HIGHEST, &number, fault);
    if (r == 0)
        r = read_number(value, "duration_ns", TIME_MOST, &compile->duration_ns, fault);
    if (r == 0 && (kept == NULL || kept->type != JSON_BOOLEAN))
        r = refuse(fault, "kept");
    if (r == 0)
        r = read_capture(value, "stdout", &compile->out, fault);
    if (r == 0)
        r = read_capture(value, "stderr", &compile->err, fault);
    compile->exit_code = compile->outcome == OUTCOME_EXITED ? (int)code : -1;
    compile->signal = (int)number;
    compile->was_kept = kept != NULL && kept->boolean;
    return r;
}

static int read_compile(const struct json_value *value, struct run_result *result,
                        struct fault *fault)
{
    const struct json_value *compile = json_member(value, "compile");
    if (compile == NULL)
        return result->outcome == OUTCOME_COMPILE_FAILED ? refuse(fault, "compile") : 0;
    if (compile->type != JSON_OBJECT)
        return refuse(fault, "compile");
    result->compile = calloc(1, sizeof(*result->compile));
    return result->compile != NULL ? read_compile_into(compile, result->compile, fault)
                                   : fault_set(fault, ENOMEM, "reading the result of a worker: %m");
}

int carried_result_read(const struct json_value *value, struct run_result *ret_result,
                        struct fault *fault)
{
    OWNED(run_result_release) struct run_result result = {0};
    const struct json_value *lost = json_member(value, "files_lost");
    if (lost == NULL || lost->type != JSON_BOOLEAN)
        return refuse(fault, "files_lost");
    int r = read_rows(value, &result, fault);
    if (r == 0)
        r = read_choices(value, &result, fault);
    if (r == 0)
        r = read_numbers(value, &result, fault);
    if (r == 0)
        r = read_capture(value, "stdout", &result.out, fault);
    if (r == 0)
        r = read_capture(value, "stderr", &result.err, fault);
    if (r == 0)
        r = read_files(value, "figures", RUN_FIGURES_MAX, &result.figures, fault);
    if (r == 0)
        r = read_files(value, "files", RUN_FILES_MAX, &result.files, fault);
    if (r == 0) {
        r = carried_left_read(value, &result.left_out);
        if (r < 0)
            refuse(fault, "left");
    }
    if (r == 0)
        r = read_network(value, &result, fault);
    if (r == 0)
        r = read_compile(value, &result, fault);
    if (r == 0)
        r = read_all_told(value, &result, fault);
    if (r < 0)
        return r;
    result.files_lost = lost->boolean;
    run_result_take(&result, ret_result);
    return 0;
}
