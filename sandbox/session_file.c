#include "sandbox/session_file.h"

#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/child/file_request.h"
#include "sandbox/limits/limits.h"
#include "sandbox/session_command.h"
#include "sandbox/session_file_state.h"
#include "sandbox/session_state.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define RECORD_SIZE_MAX (sizeof(struct file_record) + NAME_MAX + 1)
#define ANSWER_MAX (FILE_ENTRIES_MAX * RECORD_SIZE_MAX + sizeof(struct file_answer))
_Static_assert(ANSWER_MAX > FILE_PIECE_MAX + sizeof(struct file_answer), "either fits");

struct session_file {
    const struct session *session;
    struct session_command *command;
    struct file_observer observer;
    enum file_operation operation;
    bool is_cut; /* the answer: there was too much, or no memory */
    char *path; /* owned: for messages */
    int64_t wall_ms;
    struct buffer answer;
};

void session_file_free(struct session_file *file)
{
    if (file == NULL)
        return;
    buffer_release(&file->answer);
    free(file->path);
    free(file);
}

static void session_file_free_pointer(struct session_file **file)
{
    session_file_free(*file);
}

/* What failed. */

static const char *id_of(int error, enum file_operation operation)
{
    switch (error) {
    case ENOTDIR:
        return operation == FILE_LIST || operation == FILE_MKDIR ? "not_a_directory"
                                                                 : "no_such_file";
    case ENOENT:
    case ELOOP:
        return "no_such_file";
    case EISDIR:
    case ENOTSUP:
    case EXDEV:
        return "not_a_file";
    case EACCES:
    case EPERM:
    case EROFS:
        return "permission";
    case EEXIST:
        return "exists";
    case ENOTEMPTY:
        return "not_empty";
    case E2BIG:
    case EFBIG:
    case ENAMETOOLONG:
        return "too_large";
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EMLINK:
        return "limit";
    case EAGAIN: /* of a file: a lease */
    case EBUSY:
    case ETXTBSY:
        return "busy";
    default:
        return "file_failed";
    }
}

/* Those that a profile may refuse. */
static const char *call_name(int call)
{
    switch (call) {
#define CALL(name)                                                                                 \
    case SYS_##name:                                                                               \
        return #name;
        CALL(openat)
        CALL(fstat)
        CALL(newfstatat)
        CALL(fstatfs)
        CALL(readlinkat)
        CALL(mkdirat)
        CALL(renameat)
        CALL(unlinkat)
        CALL(faccessat)
        CALL(ftruncate)
        CALL(getdents64)
        CALL(lseek)
        CALL(pread64)
#undef CALL
    default:
        return NULL;
    }
}

static const char *const verbs[] = {[FILE_READ] = "read",
                                    [FILE_WRITE] = "write",
                                    [FILE_LIST] = "list",
                                    [FILE_STAT] = "look at",
                                    [FILE_MKDIR] = "make the directory",
                                    [FILE_MOVE] = "move",
                                    [FILE_REMOVE] = "remove"};

static int explain(const struct session_file *file, const struct file_answer *answer,
                   struct fault *fault)
{
    int error = answer->error;
    const char *verb = verbs[file->operation];
    const char *call = call_name(answer->call);
    fault_identify(fault, id_of(error, file->operation));
    if (error == ENOTSUP)
        return fault_set(fault, error, "cannot %s %s: it is no regular file, or one of /proc", verb,
                         file->path);
    if (error == EXDEV)
        return fault_set(fault, error,
                         "cannot move %s: between file systems, only regular files can be moved",
                         file->path);
    if (call != NULL && (error == ENOSYS || error == EPERM))
        return fault_set(fault, error,
                         "cannot %s %s: %m; does the profile allow the system call %s?", verb,
                         file->path, call);
    return fault_set(fault, error, "cannot %s %s: %m", verb, file->path);
}

/* Why there is no whole answer. */
static int explain_end(const struct session_file *file, const struct command_result *result,
                       struct fault *fault)
{
    const char *verb = verbs[file->operation];
    if (result->is_session_lost) {
        fault_identify(fault, "lost");
        return fault_set(fault, ESRCH, "cannot %s %s: the session has ended", verb, file->path);
    }
    if (result->outcome == OUTCOME_TIMED_OUT) {
        fault_identify(fault, "busy");
        return fault_set(fault, ETIMEDOUT, "cannot %s %s: it was not done in %lld ms", verb,
                         file->path, (long long)file->wall_ms);
    }
    if (result->outcome == OUTCOME_EXITED && result->exit_code != 0) {
        fault_identify(fault, "file_failed");
        bool is_refused = result->exit_code == EPERM || result->exit_code == ENOSYS;
        return fault_set(fault, result->exit_code,
                         "cannot %s %s: its process in the session failed: %m%s", verb, file->path,
                         is_refused ? "; does the profile allow the system call close_range?" : "");
    }
    fault_identify(fault, "interrupted");
    return fault_set(fault, EINTR,
                     "cannot %s %s: a process of the session, or its limit of memory, ended this "
                     "request; it may have been done",
                     verb, file->path);
}

/* The answer. */

static bool read_answer(const struct session_file *file, struct file_answer *ret_answer)
{
    size_t length = file->answer.length;
    if (length < sizeof(*ret_answer))
        return false;
    memcpy(ret_answer, file->answer.data + length - sizeof(*ret_answer), sizeof(*ret_answer));
    return ret_answer->length == length - sizeof(*ret_answer);
}

static struct file_entry entry_of(const struct file_record *record, const char *name)
{
    return (struct file_entry){
        .name = name,
        .mode = record->mode,
        .size = record->size,
        .modified_s = record->modified_s,
        .modified_ns = record->modified_ns,
    };
}

static int compare_entries(const void *one, const void *other)
{
    const struct file_entry *a = one, *b = other;
    return strcmp(a->name, b->name);
}

/* All records; false: they are none. */
static bool read_records(const char *bytes, size_t length, struct file_entry *entries,
                         size_t *ret_count)
{
    struct file_record record;
    size_t count = 0;
    for (size_t at = 0; at < length; at += record.name_size) {
        if (count == FILE_ENTRIES_MAX || length - at < sizeof(record))
            return false;
        memcpy(&record, bytes + at, sizeof(record));
        at += sizeof(record);
        if (record.name_size == 0 || record.name_size > length - at ||
            bytes[at + record.name_size - 1] != '\0')
            return false;
        entries[count++] = entry_of(&record, bytes + at);
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    *ret_count = count;
    return true;
}

static void give(const struct session_file *file, int status, const struct file_result *result,
                 const struct fault *fault)
{
    file->observer.done(file->observer.data, status, status == 0 ? result : NULL, fault);
}

static void give_list(const struct session_file *file, const struct file_answer *answer)
{
    struct fault fault = {0};
    struct file_result result = {.has_more = answer->has_more != 0};
    OWNED_MEMORY struct file_entry *entries = calloc(FILE_ENTRIES_MAX, sizeof(*entries));
    int r = 0;
    if (entries == NULL) {
        fault_identify(&fault, "file_failed");
        r = fault_set(&fault, ENOMEM, "out of memory for a list of files");
    } else if (!read_records(file->answer.data, answer->length, entries, &result.entry_count)) {
        fault_identify(&fault, "file_failed");
        r = fault_set(&fault, EPROTO, "cannot list %s: strange entries", file->path);
    }
    result.entries = entries;
    give(file, r, &result, &fault);
}

static void give_answer(const struct session_file *file, const struct file_answer *answer)
{
    const struct file_result result = {
        .entry = entry_of(&answer->file, NULL),
        .bytes = file->answer.data,
        .length = answer->length,
        .is_end = answer->has_more == 0,
    };
    struct fault fault = {0};
    if (answer->error != 0)
        give(file, explain(file, answer, &fault), NULL, &fault);
    else if (file->operation == FILE_LIST)
        give_list(file, answer);
    else
        give(file, 0, &result, NULL);
}

static bool on_output(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    struct session_file *file = data;
    if (stream == OUTPUT_STDOUT && buffer_append(&file->answer, bytes, length) < 0)
        file->is_cut = true;
    return true;
}

static void on_done(void *data, int status, struct command_result *result,
                    const struct fault *given)
{
    OWNED(session_file_free_pointer) struct session_file *file = data;
    struct fault fault = {0};
    struct file_answer answer;
    if (status < 0) {
        bool is_lost = status == -ESRCH || status == -EPIPE || status == -ECONNRESET ||
                       file->session->stage == SESSION_ENDED;
        bool is_limit = status == -EAGAIN || status == -ENOMEM;
        fault_identify(&fault, is_lost ? "lost" : is_limit ? "limit" : "file_failed");
        give(file, fault_set(&fault, -status, "%s", given->text), NULL, &fault);
    } else if (result->outcome == OUTCOME_EXITED && result->exit_code == 0 && !file->is_cut &&
               read_answer(file, &answer)) {
        give_answer(file, &answer);
    } else {
        give(file, explain_end(file, result, &fault), NULL, &fault);
    }
}

/* The request. */

static int refuse(struct fault *fault, int error, const char *text)
{
    fault_identify(fault, error == EINVAL ? "file_failed" : "too_large");
    return fault_set(fault, error, "%s", text);
}

static int check(const struct file_spec *spec, struct fault *fault)
{
    bool has_length = spec->operation == FILE_READ || spec->operation == FILE_WRITE;
    const char *const paths[] = {spec->path, spec->operation == FILE_MOVE ? spec->to : spec->path};
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        if (paths[i] == NULL || paths[i][0] == '\0')
            return refuse(fault, EINVAL, "the path of a file is empty");
        if (strlen(paths[i]) >= PATH_MAX)
            return refuse(fault, ENAMETOOLONG, "the path of a file is too long");
    }
    if (has_length && spec->length > FILE_PIECE_MAX)
        return refuse(fault, E2BIG, "more of a file at once than 1 MiB");
    if (spec->operation == FILE_READ && spec->offset > INT64_MAX - FILE_PIECE_MAX)
        return refuse(fault, EINVAL, "an offset that no file has");
    return (spec->mode & ~(mode_t)0777) != 0
               ? refuse(fault, EINVAL, "a mode that is more than permissions")
               : 0;
}

static enum file_request_kind kind_of(const struct file_spec *spec)
{
    switch (spec->operation) {
    case FILE_READ:
        return FILE_REQUEST_READ;
    case FILE_WRITE:
        return spec->appends ? FILE_REQUEST_APPEND : FILE_REQUEST_WRITE;
    case FILE_LIST:
        return FILE_REQUEST_LIST;
    case FILE_STAT:
        return FILE_REQUEST_STAT;
    case FILE_MKDIR:
        return FILE_REQUEST_MKDIR;
    case FILE_MOVE:
        return FILE_REQUEST_MOVE;
    case FILE_REMOVE:
        break;
    }
    return spec->recurses ? FILE_REQUEST_REMOVE_TREE : FILE_REQUEST_REMOVE;
}

static int write_request(const struct file_spec *spec, int fd)
{
    const char *to = spec->operation == FILE_MOVE ? spec->to : "";
    const struct file_request request = {
        .kind = kind_of(spec),
        .mode = spec->mode,
        .offset = spec->offset,
        .length = spec->operation == FILE_LIST ? FILE_ENTRIES_MAX : spec->length,
        .to = strlen(spec->path) + 1,
    };
    int r = io_write(fd, &request, sizeof(request));
    if (r == 0)
        r = io_write(fd, spec->path, strlen(spec->path) + 1);
    return r == 0 ? io_write(fd, to, strlen(to) + 1) : r;
}

static int make_text(const struct file_spec *spec, int *ret_fd)
{
    const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    OWNED_FD int fd = memfd_create("file request", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int r = write_request(spec, fd);
    if (r == 0 && fcntl(fd, F_ADD_SEALS, seals) < 0)
        r = -errno;
    if (r == 0)
        *ret_fd = fd_take(&fd);
    return r;
}

static int file_new(const struct file_spec *spec, const struct file_observer *observer,
                    struct session_file **ret_file, struct fault *fault)
{
    OWNED(session_file_free_pointer) struct session_file *file = calloc(1, sizeof(*file));
    if (file == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a request on files");
    *file = (struct session_file){
        .observer = *observer,
        .operation = spec->operation,
        .path = strdup(spec->path),
        .wall_ms = spec->wall_ms,
        .answer = BUFFER(ANSWER_MAX),
    };
    if (file->path == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a request on files");
    *ret_file = pointer_take(&file);
    return 0;
}

int session_file(struct session *session, const struct file_spec *spec,
                 const struct file_observer *observer, struct session_file **ret_file,
                 struct fault *fault)
{
    static const char *const name[] = {"a request on files", NULL};
    OWNED_FD int text_fd = -1;
    OWNED(session_file_free_pointer) struct session_file *file = NULL;
    bool writes = spec->operation == FILE_WRITE;
    int r = check(spec, fault);
    if (r == 0)
        r = file_new(spec, observer, &file, fault);
    if (r < 0 || file == NULL)
        return r;
    file->session = session;
    r = make_text(spec, &text_fd);
    if (r < 0)
        return fault_set(fault, -r, "cannot keep a request on files: %m");
    const struct command_observer answered = {.done = on_done, .output = on_output, .data = file};
    const struct command_spec command = {
        .argv = name,
        .stdin_bytes = writes ? spec->bytes : NULL,
        .stdin_length = writes ? spec->length : 0,
        .wall_ms = spec->wall_ms,
    };
    r = command_set_add_file(&session->commands, &command, &text_fd, &answered, &file->command,
                             fault);
    if (r < 0)
        return r;
    *ret_file = pointer_take(&file);
    session_begin_added(session);
    return 0;
}

void session_file_cancel(struct session_file *file)
{
    command_cancel(file->command);
}
