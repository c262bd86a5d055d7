#include "images/unpack/confine_filter.h"

#include "sandbox/base/owned.h"

#include <seccomp.h>
#include <sys/mman.h>

/* Names that an architecture does not have are passed over: arm64 has no open(2). */
static const char *const allowed[] = {
    /* bytes of files, and of the pipes and sockets that it was given */
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "lseek",
    "close",
    "sendto",
    "recvmsg",
    "poll",
    "ppoll",
    "fsync",
    "fallocate",
    "copy_file_range",
    "sendfile",
    /* the tree */
    "open",
    "openat",
    "openat2",
    "stat",
    "lstat",
    "fstat",
    "newfstatat",
    "statx",
    "fstatfs",
    "statfs",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents64",
    "mkdir",
    "mkdirat",
    "rmdir",
    "unlink",
    "unlinkat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "rename",
    "renameat",
    "renameat2",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "ftruncate",
    "truncate",
    "utimensat",
    "umask",
    "chdir",
    "fchdir",
    "getcwd",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    /* memory */
    "brk",
    "munmap",
    "mremap",
    "madvise",
    /* itself */
    "exit",
    "exit_group",
    "futex",
    "rseq",
    "set_robust_list",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "restart_syscall",
    "sched_yield",
    "getpid",
    "gettid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getrandom",
    "clock_gettime",
    "clock_nanosleep",
    "gettimeofday",
    "nanosleep",
    "sched_getaffinity",
    "sysinfo",
    "uname",
    "sigaltstack",
};

static void context_release(scmp_filter_ctx *context)
{
    if (*context != NULL)
        seccomp_release(*context);
}

/* Memory that is to be executed is not among what it may ask for. */
static int memory_rules_add(scmp_filter_ctx context)
{
    const struct scmp_arg_cmp data_only = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    int r = seccomp_rule_add_array(context, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, &data_only);
    return r == 0
               ? seccomp_rule_add_array(context, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, &data_only)
               : r;
}

int confine_filter_install(struct fault *fault)
{
    OWNED(context_release) scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (context == NULL)
        return fault_set(fault, ENOMEM, "cannot make a system call filter");
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(allowed); i++) {
        int number = seccomp_syscall_resolve_name(allowed[i]);
        if (number >= 0)
            r = seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0);
    }
    if (r == 0)
        r = memory_rules_add(context);
    if (r == 0)
        r = seccomp_load(context);
    return r < 0 ? fault_set(fault, -r, "cannot install the system call filter: %m") : 0;
}
