#include "mcp/extension/files.h"

#include "interpreter/base/bounds.h"
#include "mcp/extension/exec_output.h"
#include "mcp/extension/parameters.h"
#include "mcp/extension/session_request.h"
#include "sandbox/base/owned.h"
#include "sandbox/session_file.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#define MODE_MAX 0777
#define NAMES_SHARE_MAX (LINE_OUT_MAX * 3 / 4) /* of a list, in an answer */

/* What a request asks for. */
struct wanted {
    struct file_spec spec;
    struct parameter_data path, to, bytes; /* which it borrows from */
};

static void wanted_release(struct wanted *wanted)
{
    parameter_data_release(&wanted->path);
    parameter_data_release(&wanted->to);
    parameter_data_release(&wanted->bytes);
}

/* A method: what it takes, and what it answers. */
struct file_method {
    const char *name;
    enum file_operation operation;
    const struct parameter *rows; /* ROWS_OF_FILE first */
    size_t row_count;
    int (*read)(const struct json_value *const *values, struct wanted *wanted,
                struct fault *fault); /* further rows; or NULL */
    void (*write)(struct json_writer *writer, const struct file_result *result); /* or NULL */
};

struct file_call {
    struct session_request request;
    const struct file_method *method;
    struct session_file *file; /* NULL: it is done */
};

enum { SESSION, PATH, PATH_BASE64, COMMON_ROWS };
#define ROWS_OF_FILE                                                                               \
    [SESSION] = {"session", PARAMETER_TEXT, true}, [PATH] = {"path", PARAMETER_DATA, false},       \
    [PATH_BASE64] = {"path_base64", PARAMETER_BASE64, false}

/* Results. */

static const char *type_of(mode_t mode)
{
    return S_ISREG(mode)    ? "file"
           : S_ISDIR(mode)  ? "directory"
           : S_ISLNK(mode)  ? "link"
           : S_ISFIFO(mode) ? "fifo"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

static void write_entry(struct json_writer *writer, const struct file_entry *entry)
{
    json_text_member(writer, "type", type_of(entry->mode));
    json_number_member(writer, "size", (int64_t)entry->size);
    json_number_member(writer, "mode", entry->mode & 07777);
    json_key(writer, "mtime");
    json_double(writer, (double)entry->modified_s + (double)entry->modified_ns / 1e9);
}

static void write_stat(struct json_writer *writer, const struct file_result *result)
{
    write_entry(writer, &result->entry);
}

static void write_read(struct json_writer *writer, const struct file_result *result)
{
    json_key(writer, "base64");
    json_base64(writer, result->bytes, result->length);
    json_number_member(writer, "size", (int64_t)result->entry.size);
    json_boolean_member(writer, "eof", result->is_end);
}

static void write_list(struct json_writer *writer, const struct file_result *result)
{
    size_t room = NAMES_SHARE_MAX;
    size_t count = 0;
    json_key(writer, "entries");
    json_begin_array(writer);
    for (; count < result->entry_count; count++) {
        const struct file_entry *entry = &result->entries[count];
        size_t most = 6 * strlen(entry->name) + 128;
        if (most > room)
            break;
        room -= most;
        json_begin_object(writer);
        exec_output_write(writer, "name", entry->name, strlen(entry->name));
        write_entry(writer, entry);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_boolean_member(writer, "more", result->has_more || count < result->entry_count);
}

/* Of a pair of rows, of which one is needed. */
static int read_path(const struct parameter *rows, const struct json_value *const *values,
                     struct parameter_data *path, struct fault *fault)
{
    int r = parameters_data(rows, values, PATH_MAX - 1, path, fault);
    if (r < 0)
        return r;
    if (path->length > 0 && strlen(path->bytes) == path->length)
        return 0;
    fault_identify(fault, "invalid_parameter");
    return fault_set(fault, EINVAL,
                     path->is_given ? "the parameter \"%s\" is empty, or has a NUL in it"
                                    : "the parameter \"%s\" is missing",
                     rows[0].name);
}

/* What is particular to a method. */

static const struct parameter path_rows[] = {ROWS_OF_FILE};

enum { READ_OFFSET = COMMON_ROWS, READ_LENGTH, READ_ROWS };
static const struct parameter read_rows[READ_ROWS] = {
    ROWS_OF_FILE,
    [READ_OFFSET] = {"offset", PARAMETER_WHOLE, false},
    [READ_LENGTH] = {"length", PARAMETER_WHOLE, false},
};

static int read_read(const struct json_value *const *values, struct wanted *wanted,
                     struct fault *fault)
{
    struct file_spec *spec = &wanted->spec;
    uint64_t length = 0;
    int r = parameters_whole(&read_rows[READ_OFFSET], values[READ_OFFSET], INT64_MAX, 0,
                             &spec->offset, fault);
    if (r == 0)
        r = parameters_whole(&read_rows[READ_LENGTH], values[READ_LENGTH], FILE_PIECE_MAX,
                             FILE_PIECE_MAX, &length, fault);
    spec->length = length;
    return r;
}

enum { WRITE_TEXT = COMMON_ROWS, WRITE_BASE64, WRITE_MODE, WRITE_APPEND, WRITE_ROWS };
static const struct parameter write_rows[WRITE_ROWS] = {
    ROWS_OF_FILE,
    [WRITE_TEXT] = {"text", PARAMETER_DATA, false},
    [WRITE_BASE64] = {"base64", PARAMETER_BASE64, false},
    [WRITE_MODE] = {"mode", PARAMETER_WHOLE, false},
    [WRITE_APPEND] = {"append", PARAMETER_SWITCH, false},
};

static int read_write(const struct json_value *const *values, struct wanted *wanted,
                      struct fault *fault)
{
    struct file_spec *spec = &wanted->spec;
    struct parameter_data *data = &wanted->bytes;
    uint64_t mode = 0;
    int r =
        parameters_whole(&write_rows[WRITE_MODE], values[WRITE_MODE], MODE_MAX, 0, &mode, fault);
    if (r == 0)
        r = parameters_data(&write_rows[WRITE_TEXT], &values[WRITE_TEXT], FILE_PIECE_MAX, data,
                            fault);
    if (r == 0 && !data->is_given) {
        fault_identify(fault, "invalid_parameter");
        r = fault_set(fault, EINVAL, "one of the parameters \"text\" and \"base64\" is needed");
    }
    spec->mode = (mode_t)mode;
    spec->bytes = data->bytes;
    spec->length = data->length;
    spec->appends = parameters_switch(values[WRITE_APPEND]);
    return r;
}

enum { MOVE_TO = COMMON_ROWS, MOVE_TO_BASE64, MOVE_ROWS };
static const struct parameter move_rows[MOVE_ROWS] = {
    [SESSION] = {"session", PARAMETER_TEXT, true},
    [PATH] = {"from", PARAMETER_DATA, false},
    [PATH_BASE64] = {"from_base64", PARAMETER_BASE64, false},
    [MOVE_TO] = {"to", PARAMETER_DATA, false},
    [MOVE_TO_BASE64] = {"to_base64", PARAMETER_BASE64, false},
};

static int read_move(const struct json_value *const *values, struct wanted *wanted,
                     struct fault *fault)
{
    int r = read_path(&move_rows[MOVE_TO], &values[MOVE_TO], &wanted->to, fault);
    wanted->spec.to = wanted->to.bytes;
    return r;
}

enum { REMOVE_RECURSIVE = COMMON_ROWS, REMOVE_ROWS };
static const struct parameter remove_rows[REMOVE_ROWS] = {
    ROWS_OF_FILE,
    [REMOVE_RECURSIVE] = {"recursive", PARAMETER_SWITCH, false},
};

static int read_remove(const struct json_value *const *values, struct wanted *wanted,
                       struct fault *fault)
{
    (void)fault;
    wanted->spec.recurses = parameters_switch(values[REMOVE_RECURSIVE]);
    return 0;
}

static const struct file_method of_read = {"read",    FILE_READ, read_rows,
                                           READ_ROWS, read_read, write_read};
static const struct file_method of_write = {"write",    FILE_WRITE, write_rows,
                                            WRITE_ROWS, read_write, NULL};
static const struct file_method of_list = {"list",      FILE_LIST, path_rows,
                                           COMMON_ROWS, NULL,      write_list};
static const struct file_method of_stat = {"stat",      FILE_STAT, path_rows,
                                           COMMON_ROWS, NULL,      write_stat};
static const struct file_method of_mkdir = {"mkdir",     FILE_MKDIR, path_rows,
                                            COMMON_ROWS, NULL,       NULL};
static const struct file_method of_move = {"move",    FILE_MOVE, move_rows,
                                           MOVE_ROWS, read_move, NULL};
static const struct file_method of_remove = {"remove",    FILE_REMOVE, remove_rows,
                                             REMOVE_ROWS, read_remove, NULL};
#define ROWS_MAX 8

/* What is common to all. */

struct file_done_view {
    const struct file_method *method;
    const struct file_result *result;
};

static void write_done(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct file_done_view *view = data;
    if (view->method->write != NULL)
        view->method->write(writer, view->result);
}

static void file_done(void *data, int status, const struct file_result *result,
                      const struct fault *fault)
{
    OWNED_MEMORY struct file_call *file = data;
    const struct file_done_view view = {file->method, result};
    session_request_end(&file->request);
    if (status < 0)
        session_request_refuse(&file->request.reply, status, fault);
    else
        reply_result(&file->request.reply,
                     &(struct result_body){.write = write_done, .data = &view});
}

static void cancel(struct open_request *open)
{
    OWNED_MEMORY struct file_call *file = container_of(open, struct file_call, request.open);
    session_file_cancel(file->file);
    session_request_end(&file->request);
    rpc_answer_drop(open->answer);
}

static int begin(struct context *context, const struct file_method *method,
                 const struct file_spec *spec, const char *handle, const struct reply *reply,
                 struct fault *fault)
{
    unsigned owner = rpc_answer_rpc(reply->answer)->owner;
    struct session_entry *entry = session_request_find(context, owner, handle, fault);
    if (entry == NULL)
        return -ENOENT;
    struct file_call *file = calloc(1, sizeof(*file));
    if (file == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a file of a session");
    file->method = method;
    file->request.method = method->name;
    const struct file_observer observer = {file_done, file};
    int r = session_file(entry->live.session, spec, &observer, &file->file, fault);
    if (r < 0)
        free(file);
    else
        session_request_begin(&file->request, context, reply, entry, cancel);
    return r;
}

static void answer(struct context *context, const struct file_method *method,
                   const struct rpc_message *message, const struct reply *reply)
{
    const struct json_value *values[ROWS_MAX];
    OWNED(wanted_release)
    struct wanted wanted = {
        .spec = {.operation = method->operation, .wall_ms = context->settings->limits.wall_ms}};
    struct fault fault = {0};
    int r = parameters_read(message->params, method->rows, method->row_count, values, &fault);
    if (r == 0)
        r = read_path(&method->rows[PATH], &values[PATH], &wanted.path, &fault);
    wanted.spec.path = wanted.path.bytes;
    if (r == 0 && method->read != NULL)
        r = method->read(values, &wanted, &fault);
    if (r == 0)
        r = begin(context, method, &wanted.spec, values[SESSION]->text, reply, &fault);
    if (r < 0)
        session_request_refuse(reply, r, &fault);
}

void files_read_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply)
{
    answer(context, &of_read, message, reply);
}

void files_write_answer(struct context *context, const struct rpc_message *message,
                        const struct reply *reply)
{
    answer(context, &of_write, message, reply);
}

void files_list_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply)
{
    answer(context, &of_list, message, reply);
}

void files_stat_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply)
{
    answer(context, &of_stat, message, reply);
}

void files_mkdir_answer(struct context *context, const struct rpc_message *message,
                        const struct reply *reply)
{
    answer(context, &of_mkdir, message, reply);
}

void files_move_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply)
{
    answer(context, &of_move, message, reply);
}

void files_remove_answer(struct context *context, const struct rpc_message *message,
                         const struct reply *reply)
{
    answer(context, &of_remove, message, reply);
}
