#include "sandbox/jail/filter.h"

#include "sandbox/base/io.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <inttypes.h>
#include <limits.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILTER_ARGUMENTS_MAX 6
#define ERRNO_MAX 4095 /* include/linux/err.h */

static void context_release(scmp_filter_ctx *context)
{
    if (*context != NULL)
        seccomp_release(*context);
}

/* Turns a negative errno of libseccomp into a fault that names the call. */
static int seccomp_fault(int r, const char *what, struct fault *fault)
{
    return fault_set(fault, -r, "cannot compile the seccomp profile: %s: %s", what, strerror(-r));
}

static int read_errno(const struct json_value *owner, const char *member, uint32_t *ret_errno,
                      struct fault *fault)
{
    const struct json_value *value = json_member(owner, member);
    int64_t number = EPERM;
    if (value != NULL && value->type != JSON_NULL &&
        (json_integer(value, &number) < 0 || number < 0 || number > ERRNO_MAX))
        return fault_set(fault, EINVAL, "seccomp profile: %s must be a number from 0 to %d", member,
                         ERRNO_MAX);
    *ret_errno = (uint32_t)number;
    return 0;
}

/* Reads an action with its errno from `errnoRet`; EPERM by default. */
static int read_action(const struct json_value *owner, const char *member, uint32_t *ret_action,
                       struct fault *fault)
{
    const struct json_value *value = json_member(owner, member);
    const char *beside = strcmp(member, "defaultAction") == 0 ? "defaultErrnoRet" : "errnoRet";
    uint32_t number = 0;
    int r = read_errno(owner, beside, &number, fault);
    if (r < 0)
        return r;
    if (json_is(value, "SCMP_ACT_ALLOW"))
        *ret_action = SCMP_ACT_ALLOW;
    else if (json_is(value, "SCMP_ACT_ERRNO"))
        *ret_action = SCMP_ACT_ERRNO(number);
    else if (json_is(value, "SCMP_ACT_KILL_PROCESS"))
        *ret_action = SCMP_ACT_KILL_PROCESS;
    else if (json_is(value, "SCMP_ACT_KILL") || json_is(value, "SCMP_ACT_KILL_THREAD"))
        *ret_action = SCMP_ACT_KILL_THREAD;
    else if (json_is(value, "SCMP_ACT_TRAP"))
        *ret_action = SCMP_ACT_TRAP;
    else
        return fault_set(fault, EINVAL,
                         "seccomp profile: %s must be SCMP_ACT_ALLOW, _ERRNO, _TRAP, _KILL_THREAD "
                         "or _KILL_PROCESS",
                         member);
    return 0;
}

static int read_operator(const struct json_value *value, enum scmp_compare *ret_operator)
{
    static const struct {
        const char *name;
        enum scmp_compare compare;
    } operators[] = {
        {"SCMP_CMP_NE", SCMP_CMP_NE},
        {"SCMP_CMP_LT", SCMP_CMP_LT},
        {"SCMP_CMP_LE", SCMP_CMP_LE},
        {"SCMP_CMP_EQ", SCMP_CMP_EQ},
        {"SCMP_CMP_GE", SCMP_CMP_GE},
        {"SCMP_CMP_GT", SCMP_CMP_GT},
        {"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(operators); i++) {
        if (json_is(value, operators[i].name)) {
            *ret_operator = operators[i].compare;
            return 0;
        }
    }
    return -EINVAL;
}

static int read_argument(const struct json_value *value, struct scmp_arg_cmp *ret_argument,
                         struct fault *fault)
{
    int64_t index = -1;
    int64_t datum = 0;
    int64_t second = 0;
    enum scmp_compare compare;
    const struct json_value *value_two = json_member(value, "valueTwo");
    if (json_integer(json_member(value, "index"), &index) < 0 || index < 0 ||
        index >= FILTER_ARGUMENTS_MAX || json_integer(json_member(value, "value"), &datum) < 0 ||
        (value_two != NULL && json_integer(value_two, &second) < 0) ||
        read_operator(json_member(value, "op"), &compare) < 0)
        return fault_set(fault, EINVAL,
                         "seccomp profile: an entry of args needs index (0 to 5), value, and op "
                         "(SCMP_CMP_EQ ...)");
    *ret_argument = (struct scmp_arg_cmp){
        .arg = (unsigned)index,
        .op = compare,
        .datum_a = (scmp_datum_t)datum,
        .datum_b = (scmp_datum_t)second,
    };
    return 0;
}

/*
 * Whether the rule's includes and excludes match a snippet, which has no capability, on this
 * machine.
 */
static bool rule_applies(const struct json_value *rule)
{
    const struct json_value *includes = json_member(rule, "includes");
    const struct json_value *caps = json_member(includes, "caps");
    if (caps != NULL && caps->count > 0)
        return false; /* a snippet has none */
    static const char *const own_names[] = {
#if defined(__x86_64__)
        "amd64",
        "x86_64",
        "x64",
#elif defined(__aarch64__)
        "arm64",
        "aarch64",
#endif
    };
    for (int exclude = 0; exclude <= 1; exclude++) {
        const struct json_value *list =
            json_member(exclude ? json_member(rule, "excludes") : includes, "arches");
        if (list == NULL || list->count == 0)
            continue;
        bool listed = false;
        for (const struct json_value *arch = list->first; arch != NULL; arch = arch->next) {
            for (size_t i = 0; i < ARRAY_LENGTH(own_names); i++)
                listed |= json_is(arch, own_names[i]);
        }
        if (listed == (bool)exclude)
            return false;
    }
    return true;
}

/* Whether `names`, separated by spaces, has this one. */
static bool is_among(const struct json_value *name, const char *names)
{
    for (const char *at = names; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == name->length && memcmp(at, name->text, length) == 0)
            return true;
        at += length;
    }
    return false;
}

static int add_rule(scmp_filter_ctx context, uint32_t default_action, const struct json_value *rule,
                    const char *without, struct fault *fault)
{
    uint32_t action = 0;
    int r = read_action(rule, "action", &action, fault);
    if (r < 0)
        return r;
    const struct json_value *names = json_member(rule, "names");
    if (names == NULL || names->type != JSON_ARRAY)
        return fault_set(fault, EINVAL, "seccomp profile: each entry of syscalls needs names");
    if (action == default_action || !rule_applies(rule))
        return 0;
    struct scmp_arg_cmp arguments[FILTER_ARGUMENTS_MAX];
    unsigned count = 0;
    const struct json_value *args = json_member(rule, "args");
    for (const struct json_value *arg = args != NULL ? args->first : NULL; arg != NULL;
         arg = arg->next) {
        if (count == FILTER_ARGUMENTS_MAX)
            return fault_set(fault, EINVAL, "seccomp profile: more than 6 args in one entry");
        r = read_argument(arg, &arguments[count++], fault);
        if (r < 0)
            return r;
    }
    for (const struct json_value *name = names->first; name != NULL; name = name->next) {
        if (name->type != JSON_STRING || strlen(name->text) != name->length)
            return fault_set(fault, EINVAL, "seccomp profile: names must be strings, without NUL");
        if (is_among(name, without))
            continue;
        int number = seccomp_syscall_resolve_name(name->text);
        if (number < 0)
            continue; /* unknown here, or another architecture's: the default denies it */
        r = seccomp_rule_add_array(context, action, number, count, arguments);
        if (r < 0)
            return seccomp_fault(r, name->text, fault);
    }
    return 0;
}

/* Exports the BPF program. libseccomp can write it only to a descriptor. */
static int export_program(scmp_filter_ctx context, struct filter *ret_filter, struct fault *fault)
{
    OWNED_FD int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot make memory for the seccomp filter: %m");
    int r = seccomp_export_bpf(context, fd);
    if (r < 0)
        return seccomp_fault(r, "seccomp_export_bpf", fault);
    struct stat status;
    if (fstat(fd, &status) < 0)
        return fault_set(fault, errno, "cannot read the seccomp filter back: %m");
    size_t size = (size_t)status.st_size;
    /* libseccomp does not notice a short write, which RLIMIT_FSIZE can cause. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size >= limit.rlim_cur)
        return fault_set(fault, EFBIG,
                         "the limit of file size (`ulimit -f`) is too low for the seccomp filter: "
                         "%llu bytes",
                         (unsigned long long)limit.rlim_cur);
    if (size == 0 || size / sizeof(struct sock_filter) > USHRT_MAX)
        return fault_set(fault, E2BIG, "the seccomp filter has %zu bytes: too many", size);
    OWNED_MEMORY struct sock_filter *code = malloc(size);
    if (code == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the seccomp filter");
    if (io_read_at(fd, code, size, 0) < 0)
        return fault_set(fault, EIO, "cannot read the seccomp filter back");
    ret_filter->length = (unsigned short)(size / sizeof(struct sock_filter));
    ret_filter->code = pointer_take(&code);
    return 0;
}

static int make_context(uint32_t default_action, scmp_filter_ctx *ret_context, struct fault *fault)
{
    scmp_filter_ctx context = seccomp_init(default_action);
    *ret_context = context;
    if (context == NULL)
        return fault_set(fault, ENOMEM, "cannot start a seccomp filter");
    int r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r == 0) /* 2: a binary tree over the numbers instead of a list */
        r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    return r < 0 ? seccomp_fault(r, "seccomp_attr_set", fault) : 0;
}

/* Only a filter on top of another may allow by default. */
static int check_default(uint32_t action, bool is_addition, struct fault *fault)
{
    if (is_addition == (action == SCMP_ACT_ALLOW))
        return 0;
    return is_addition
               ? fault_set(fault, EINVAL,
                           "seccomp profile: defaultAction must be SCMP_ACT_ALLOW in an addition")
               : fault_set(fault, EINVAL,
                           "seccomp profile: defaultAction is SCMP_ACT_ALLOW; a profile for "
                           "untrusted code must deny by default, for example SCMP_ACT_ERRNO");
}

static int compile(const char *json, size_t length, const char *without, bool is_addition,
                   struct filter *ret_filter, struct fault *fault)
{
    OWNED(json_release) struct json *document = NULL;
    int r = json_parse(json, length, &document, fault);
    if (r == 0)
        r = json_check_unique(json_root(document), fault);
    if (r < 0) {
        fault_prefix(fault, "seccomp profile");
        return r;
    }
    const struct json_value *profile = json_root(document);
    uint32_t default_action = 0;
    r = read_action(profile, "defaultAction", &default_action, fault);
    if (r == 0)
        r = check_default(default_action, is_addition, fault);
    if (r < 0)
        return r;
    OWNED(context_release) scmp_filter_ctx context = NULL;
    r = make_context(default_action, &context, fault);
    if (r < 0)
        return r;
    const struct json_value *rules = json_member(profile, "syscalls");
    if (rules == NULL || rules->type != JSON_ARRAY)
        return fault_set(fault, EINVAL, "seccomp profile: syscalls must be an array");
    for (const struct json_value *rule = rules->first; rule != NULL; rule = rule->next) {
        r = add_rule(context, default_action, rule, without, fault);
        if (r < 0)
            return r;
    }
    return export_program(context, ret_filter, fault);
}

int filter_compile(const char *json, size_t length, const char *without, struct filter *ret_filter,
                   struct fault *fault)
{
    return compile(json, length, without, false, ret_filter, fault);
}

int filter_compile_addition(const char *json, size_t length, const char *without,
                            struct filter *ret_filter, struct fault *fault)
{
    return compile(json, length, without, true, ret_filter, fault);
}

int filter_try(const char *json, size_t length, struct fault *fault)
{
    signal(SIGCHLD, SIG_DFL); /* if a client ignored it, no child could be waited for */
    pid_t pid = fork();
    if (pid < 0)
        return fault_set(fault, errno, "cannot start a process to try the seccomp profile in: %m");
    if (pid == 0) {
        struct filter filter;
        signal(SIGALRM, SIG_DFL);
        alarm(PROFILE_COMPILE_MAX_S);
        filter_compile(json, length, NULL, &filter, NULL); /* the parent will report errors */
        _exit(0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        return 0;
    return fault_set(
        fault, ETIME,
        "seccomp profile: libseccomp does not come to an end with it (%d s). Do two entries "
        "for one system call look at two arguments each? Then have them look at one",
        PROFILE_COMPILE_MAX_S);
}

void filter_release(struct filter *filter)
{
    free(filter->code);
    *filter = (struct filter){0};
}
