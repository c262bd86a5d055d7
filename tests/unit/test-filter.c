#include "sandbox/jail/filter.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "seccomp-profiles/default-profile.h"
#include "tests/support/filter-verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define NO_FD UINT64_C(0xffffffffffffffff)

static uint32_t verdict_on_four(const struct filter *filter, long number, uint64_t first,
                                uint64_t second, uint64_t third, uint64_t fourth)
{
    struct seccomp_data call = {
        .nr = (int)number,
        .arch = OWN_ARCHITECTURE,
        .args = {first, second, third, fourth},
    };
    return filter_verdict(filter, &call);
}

static uint32_t verdict(const struct filter *filter, long number, uint64_t first, uint64_t second,
                        uint64_t third)
{
    return verdict_on_four(filter, number, first, second, third, 0);
}

#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)

static const struct {
    long number;
    uint64_t first, second, third;
    uint32_t expected;
    uint64_t fourth;
} default_table[] = {
    {SYS_read, 0, 0, 0, ALLOW},
    {SYS_openat, NO_FD, 0, 0, ALLOW},
    {SYS_execve, 0, 0, 0, ALLOW},
    {SYS_wait4, 0, 0, 0, ALLOW},
    /* clone: threads and processes yes, any namespace no, and high bits do not hide one */
    {SYS_clone, 17, 0, 0, ALLOW},
    {SYS_clone, 0x003d0f00, 0, 0, ALLOW},
    {SYS_clone, 0x10000000 | 17, 0, 0, REFUSE},
    {SYS_clone, 0x00020000 | 17, 0, 0, REFUSE},
    {SYS_clone, 0x02000000 | 17, 0, 0, REFUSE},
    {SYS_clone, 0x04000000 | 17, 0, 0, REFUSE},
    {SYS_clone, 0x08000000 | 17, 0, 0, REFUSE},
    {SYS_clone, 0x20000000 | 17, 0, 0, REFUSE},
    {SYS_clone, 0x40000000 | 17, 0, 0, REFUSE},
    {SYS_clone3, 0, 0, 0, UNKNOWN},
    {SYS_unshare, 0x10000000, 0, 0, REFUSE},
    {SYS_setns, 3, 0, 0, REFUSE},
    {SYS_mount, 0, 0, 0, REFUSE},
    {SYS_pivot_root, 0, 0, 0, REFUSE},
    {SYS_chroot, 0, 0, 0, REFUSE},
    {SYS_ptrace, 0, 0, 0, REFUSE},
    {SYS_process_vm_readv, 0, 0, 0, REFUSE},
    {SYS_keyctl, 0, 0, 0, REFUSE},
    {SYS_bpf, 0, 0, 0, REFUSE},
    {SYS_io_uring_setup, 0, 0, 0, REFUSE},
    {SYS_userfaultfd, 0, 0, 0, REFUSE},
    {SYS_perf_event_open, 0, 0, 0, REFUSE},
    {SYS_open_by_handle_at, 0, 0, 0, REFUSE},
    /* sockets by family, compared as the kernel does: 32 bits */
    {SYS_socket, 2, 1, 0, ALLOW},
    {SYS_socket, 10, 1, 0, ALLOW},
    {SYS_socket, UINT64_C(0x100000002), 1, 0, ALLOW},
    {SYS_socket, 2, 1, 6, ALLOW},
    {SYS_socket, 10, 2, 17, ALLOW},
    {SYS_socket, 2, 1, 262, UNKNOWN},
    {SYS_socket, 10, 1, 132, UNKNOWN},
    {SYS_socket, 16, 3, 0, UNKNOWN},
    {SYS_socket, 17, 3, 0, UNKNOWN},
    {SYS_socket, 38, 5, 0, UNKNOWN},
    {SYS_socket, 40, 1, 0, UNKNOWN},
    /* and of the internet by type and protocol: a type alone may be one of a module */
    {SYS_socket, 2, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 6, ALLOW},
    {SYS_socket, 2, SOCK_DGRAM | SOCK_CLOEXEC, 0, ALLOW},
    {SYS_socket, 10, SOCK_DGRAM, 0, ALLOW},
    {SYS_socket, 2, SOCK_DGRAM, 6, UNKNOWN},
    {SYS_socket, 2, SOCK_RAW, 0, REFUSE},
    {SYS_socket, 10, SOCK_RAW | SOCK_CLOEXEC, 255, REFUSE},
    {SYS_socket, 10, SOCK_PACKET, 0, UNKNOWN},
    {SYS_socket, 2, SOCK_PACKET, 0, REFUSE},
    {SYS_socket, 2, SOCK_PACKET | SOCK_CLOEXEC, 768, REFUSE},
    {SYS_socket, 2, SOCK_SEQPACKET, 0, UNKNOWN},
    {SYS_socket, 2, SOCK_DCCP, 0, UNKNOWN},
    {SYS_socket, 10, UINT64_C(0x100000000) | SOCK_DCCP, 0, UNKNOWN},
    {SYS_socket, 2, SOCK_RDM, 0, UNKNOWN},
    /* options by level and number: no filter's code, no locked memory; 26 is IPV6_V6ONLY, too */
    {SYS_setsockopt, 3, SOL_SOCKET, SO_REUSEADDR, ALLOW},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_REUSEPORT, ALLOW},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_PASSCRED, ALLOW},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_SNDTIMEO, ALLOW},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_BINDTODEVICE, UNKNOWN},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_FILTER, REFUSE},
    {SYS_setsockopt, 3, UINT64_C(0x100000001), UINT64_C(0x10000001a), REFUSE},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_TIMESTAMP, UNKNOWN},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_MARK, UNKNOWN},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_INCOMING_CPU, UNKNOWN},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_BPF, REFUSE},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, REFUSE},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, REFUSE},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_ZEROCOPY, REFUSE},
    {SYS_setsockopt, 3, SOL_SOCKET, SO_TXTIME, UNKNOWN},
    {SYS_setsockopt, 3, SOL_SOCKET, 1000, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IPV6, 26, ALLOW},
    {SYS_setsockopt, 3, IPPROTO_IP, 2, ALLOW},
    {SYS_setsockopt, 3, IPPROTO_TCP, 1, ALLOW},
    {SYS_setxattr, 0, 0, 0, SECCOMP_RET_ERRNO | ENOTSUP},
    {SYS_lsetxattr, 0, 0, 0, SECCOMP_RET_ERRNO | ENOTSUP},
    {SYS_fsetxattr, 0, 0, 0, SECCOMP_RET_ERRNO | ENOTSUP},
    {SYS_getxattr, 0, 0, 0, ALLOW},
    {SYS_removexattr, 0, 0, 0, ALLOW},
    {SYS_setsockopt, 3, IPPROTO_UDP, 103, UNKNOWN},
    /* those that take memory without charging it, and their neighbours */
    {SYS_setsockopt, 3, IPPROTO_IP, IP_OPTIONS, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IP, IP_RECVERR, ALLOW},
    {SYS_setsockopt, 3, IPPROTO_IP, IP_XFRM_POLICY, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IP, IP_MULTICAST_TTL, ALLOW},
    {SYS_setsockopt, 3, IPPROTO_IP, IP_ADD_MEMBERSHIP, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IP, IP_MSFILTER, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IP, MCAST_JOIN_GROUP, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_TCP, TCP_KEEPCNT, ALLOW},
    {SYS_setsockopt, 3, IPPROTO_TCP, TCP_CONGESTION, ALLOW},
    {SYS_setsockopt, 3, IPPROTO_TCP, TCP_MD5SIG, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_TCP, TCP_USER_TIMEOUT, ALLOW},
    {SYS_setsockopt, 3, IPPROTO_TCP, TCP_REPAIR, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_TCP, TCP_ULP, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_TCP, TCP_FASTOPEN_KEY, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IPV6, 1 /* IPV6_ADDRFORM */, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IPV6, 6 /* IPV6_2292PKTOPTIONS */, UNKNOWN},
    {SYS_setsockopt, 3, UINT64_C(0x100000000) | IPPROTO_IPV6, UINT64_C(0x100000006), UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IPV6, IPV6_JOIN_GROUP, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IPV6, IPV6_JOIN_ANYCAST, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IPV6, 32 /* IPV6_FLOWLABEL_MGR */, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IPV6, IPV6_DSTOPTS, UNKNOWN},
    {SYS_setsockopt, 3, IPPROTO_IPV6, IPV6_TCLASS, ALLOW},
    {SYS_setsockopt, 3, 263, 1, UNKNOWN}, /* SOL_PACKET */
    /* no huge pages */
    {SYS_mmap, 0, 4096, 3, ALLOW, .fourth = 0x22},
    {SYS_mmap, 0, 4096, 3, REFUSE, .fourth = 0x40022},
    {SYS_mmap, 0, 4096, 3, REFUSE, .fourth = UINT64_C(0x54040022)},
    /* only known advice, whatever the high bits are */
    {SYS_madvise, 0, 4096, 0, ALLOW},
    {SYS_madvise, 0, 4096, 4, ALLOW},
    {SYS_madvise, 0, 4096, 5, UNKNOWN},
    {SYS_madvise, 0, 4096, 8, ALLOW},
    {SYS_madvise, 0, 4096, 11, ALLOW},
    {SYS_madvise, 0, 4096, 12, SECCOMP_RET_ERRNO | EINVAL},
    {SYS_madvise, 0, 4096, UINT64_C(0x10000000c), SECCOMP_RET_ERRNO | EINVAL},
    {SYS_madvise, 0, 4096, 13, SECCOMP_RET_ERRNO | EINVAL},
    {SYS_madvise, 0, 4096, 14, ALLOW},
    {SYS_madvise, 0, 4096, 25, ALLOW},
    {SYS_madvise, 0, 4096, 26, UNKNOWN},
    {SYS_madvise, 0, 4096, 100, UNKNOWN},
    {SYS_memfd_create, 0, 1, 0, ALLOW},
    {SYS_memfd_create, 0, 5, 0, REFUSE},
    {SYS_prctl, PR_SET_NAME, 0, 0, ALLOW},
    {SYS_prctl, PR_SET_PDEATHSIG, 0, 0, ALLOW},
    {SYS_prctl, PR_SET_NO_NEW_PRIVS, 0, 0, ALLOW},
    {SYS_prctl, PR_GET_THP_DISABLE, 0, 0, ALLOW},
    {SYS_prctl, PR_SET_THP_DISABLE, 1, 0, ALLOW},
    {SYS_prctl, PR_SET_THP_DISABLE, 0, 0, UNKNOWN},
    {SYS_prctl, PR_SET_THP_DISABLE, UINT64_C(0x100000000), 0, UNKNOWN},
    {SYS_prctl, PR_SET_THP_DISABLE, 1, 2 /* but where it is advised */, UNKNOWN},
    {SYS_prctl, PR_SET_MM, 0, 0, UNKNOWN},
    {SYS_prctl, 67 /* PR_SET_MEMORY_MERGE */, 0, 0, UNKNOWN},
    {SYS_prctl, 0x53564d41 /* PR_SET_VMA */, 0, 0, UNKNOWN},
    {SYS_sendto, 0, 0, 0, ALLOW, MSG_NOSIGNAL},
    {SYS_sendto, 0, 0, 0, SECCOMP_RET_ERRNO | EOPNOTSUPP, MSG_OOB | MSG_DONTWAIT},
    {SYS_recvfrom, 0, 0, 0, SECCOMP_RET_ERRNO | EOPNOTSUPP, MSG_OOB},
    {SYS_sendmsg, 0, 0, MSG_OOB, SECCOMP_RET_ERRNO | EOPNOTSUPP},
    {SYS_recvmsg, 0, 0, 0, ALLOW},
    /* no filters of one's own, by either call; to ask for one's mode is harmless */
    {SYS_seccomp, 1, 0, 0, UNKNOWN},
    {SYS_seccomp, 1, 8, 0, UNKNOWN},
    {SYS_seccomp, UINT64_C(0x100000001), 1, 0, UNKNOWN},
    {SYS_prctl, PR_SET_SECCOMP, 2, 0, SECCOMP_RET_ERRNO | EINVAL},
    {SYS_prctl, UINT64_C(0x100000000) | PR_SET_SECCOMP, 2, 0, SECCOMP_RET_ERRNO | EINVAL},
    {SYS_prctl, PR_GET_SECCOMP, 0, 0, ALLOW},
    {SYS_prctl, PR_CAPBSET_READ, 0, 0, ALLOW},
    {SYS_prctl, 20 /* PR_SET_ENDIAN */, 0, 0, UNKNOWN},
    /* of AF_UNIX what stays connected to one peer; flags and high bits do not hide the type */
    {SYS_socket, AF_UNIX, SOCK_STREAM, 0, ALLOW},
    {SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ALLOW},
    {SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ALLOW},
    {SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, UNKNOWN},
    {SYS_socket, AF_UNIX, SOCK_DGRAM, 0, REFUSE},
    {SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, REFUSE},
    {SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, REFUSE},
    {SYS_socket, AF_UNIX, UINT64_C(0x100000000) | SOCK_DGRAM, 0, REFUSE},
    {SYS_socket, UINT64_C(0x100000000) | AF_UNIX, SOCK_DGRAM, 0, REFUSE},
    {SYS_socket, AF_UNIX, SOCK_RAW, 0, REFUSE},
    {SYS_socket, AF_UNIX, 0x10 | SOCK_DGRAM, 0, UNKNOWN},
    {SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ALLOW},
    {SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ALLOW},
    {SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ALLOW},
    {SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, REFUSE},
    {SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, REFUSE},
    {SYS_socketpair, AF_UNIX, UINT64_C(0x100000000) | SOCK_DGRAM, 0, REFUSE},
    {SYS_socketpair, AF_UNIX, SOCK_RAW, 0, REFUSE},
    {SYS_socketpair, 30, SOCK_STREAM, 0, UNKNOWN}, /* AF_TIPC, the only other that has pairs */
    /* ioctl by request, TIOCSTI not even with high bits set (CVE-2019-10063) */
    {SYS_ioctl, 0, 0x5401, 0, ALLOW},
    {SYS_ioctl, 0, 0x5412, 0, UNKNOWN},
    {SYS_ioctl, 0, UINT64_C(0x100005412), 0, UNKNOWN},
    {SYS_ioctl, 0, 0x541C, 0, UNKNOWN},
    /* of terminals: what sets them up, but no line discipline, no console, no signals or input of others */
    {SYS_ioctl, 0, 0x5403, 0, ALLOW}, /* TCSETSW */
    {SYS_ioctl, 0, 0x540E, 0, ALLOW}, /* TIOCSCTTY */
    {SYS_ioctl, 0, 0x5410, 0, ALLOW}, /* TIOCSPGRP */
    {SYS_ioctl, 0, 0x5414, 0, ALLOW}, /* TIOCSWINSZ */
    {SYS_ioctl, 0, 0x5441, 0, ALLOW}, /* TIOCGPTPEER */
    {SYS_ioctl, 0, 0x80045430, 0, ALLOW}, /* TIOCGPTN */
    {SYS_ioctl, 0, 0x541D, 0, UNKNOWN}, /* TIOCCONS */
    {SYS_ioctl, 0, 0x5420, 0, UNKNOWN}, /* TIOCPKT */
    {SYS_ioctl, 0, 0x5423, 0, UNKNOWN}, /* TIOCSETD */
    {SYS_ioctl, 0, UINT64_C(0x100005423), 0, UNKNOWN},
    {SYS_ioctl, 0, 0x5437, 0, UNKNOWN}, /* TIOCVHANGUP */
    {SYS_ioctl, 0, 0x40045436, 0, UNKNOWN}, /* TIOCSIG */
    /* fcntl by command: leases would make other runs wait, high bits do not hide one */
    {SYS_fcntl, 0, F_DUPFD, 0, ALLOW},
    {SYS_fcntl, 0, F_SETFL, 0, ALLOW},
    {SYS_fcntl, 0, F_SETLKW, 0, ALLOW},
    {SYS_fcntl, 0, F_OFD_SETLK, 0, ALLOW},
    {SYS_fcntl, 0, F_DUPFD_CLOEXEC, 0, ALLOW},
    {SYS_fcntl, 0, F_SETPIPE_SZ, 0, ALLOW},
    {SYS_fcntl, 0, F_ADD_SEALS, 0, ALLOW},
    {SYS_fcntl, 0, F_GET_SEALS, 0, ALLOW},
    {SYS_fcntl, 0, F_GET_RW_HINT, 0, UNKNOWN},
    {SYS_fcntl, 0, F_SET_RW_HINT, 0, UNKNOWN},
    {SYS_fcntl, 0, F_GET_FILE_RW_HINT, 0, UNKNOWN},
    {SYS_fcntl, 0, F_SET_FILE_RW_HINT, 0, UNKNOWN},
    {SYS_fcntl, 0, 1039, 0, UNKNOWN},
    {SYS_fcntl, 0, F_SETLEASE, 0, REFUSE},
    {SYS_fcntl, 0, UINT64_C(0x100000000) | F_SETLEASE, 0, REFUSE},
    {SYS_fcntl, 0, F_NOTIFY, 0, REFUSE},
    {SYS_personality, 0xffffffff, 0, 0, ALLOW},
    {SYS_personality, 0, 0, 0, UNKNOWN},
    {SYS_personality, 0x0040000, 0, 0, UNKNOWN},
    /* limits: any may be read, and any but RLIMIT_CORE changed */
    {SYS_setrlimit, RLIMIT_NOFILE, 1, 0, UNKNOWN},
    {SYS_setrlimit, RLIMIT_CORE, 1, 0, UNKNOWN},
    {SYS_prlimit64, 0, RLIMIT_CORE, 0, ALLOW},
    {SYS_prlimit64, 0, RLIMIT_CORE, 1, UNKNOWN},
    {SYS_prlimit64, 0, UINT64_C(0x100000004), 1, UNKNOWN},
    {SYS_prlimit64, 0, RLIMIT_CPU, 1, ALLOW},
    {SYS_prlimit64, 0, RLIMIT_RTTIME, 1, ALLOW},
    /* what the filter has never heard of */
    {999, 0, 0, 0, UNKNOWN},
};

static void default_profile_gives_each_call_its_verdict(void **state)
{
    (void)state;
    struct fault fault = {0};
    OWNED(filter_release) struct filter filter = {0};
    assert_int_equal(filter_compile_default(NULL, &filter, &fault), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(default_table); i++) {
        uint32_t got = verdict_on_four(&filter, default_table[i].number, default_table[i].first,
                                       default_table[i].second, default_table[i].third,
                                       default_table[i].fourth);
        if (got != default_table[i].expected)
            fail_msg("row %zu, call %ld: verdict %#x, expected %#x", i, default_table[i].number,
                     got, default_table[i].expected);
    }
}

static const struct {
    uint64_t family, type, protocol;
    uint32_t expected;
} build_sockets[] = {
    {2, SOCK_STREAM | SOCK_CLOEXEC, 0, ALLOW},
    {2, SOCK_STREAM, 6, ALLOW},
    {10, SOCK_STREAM | SOCK_NONBLOCK, 6, ALLOW},
    {2, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ALLOW},
    {10, SOCK_DGRAM, 17, ALLOW},
    {16, SOCK_RAW | SOCK_CLOEXEC, 0, ALLOW}, /* NETLINK_ROUTE */
    {16, SOCK_RAW, 9, UNKNOWN},
    {2, SOCK_STREAM, 132, UNKNOWN}, /* SCTP */
    {2, SOCK_STREAM, 262, UNKNOWN}, /* MPTCP */
    {10, SOCK_DGRAM, 136, UNKNOWN}, /* UDP-Lite */
    {2, SOCK_DGRAM, 1, UNKNOWN}, /* ICMP */
    {2, SOCK_SEQPACKET, 0, UNKNOWN},
    {2, SOCK_DCCP, 0, UNKNOWN},
    {2, SOCK_RAW, 1, UNKNOWN},
    {AF_UNIX, SOCK_STREAM, 0, SECCOMP_RET_ERRNO | EAFNOSUPPORT},
};

static void an_installer_has_sockets_of_tcp_and_udp(void **state)
{
    (void)state;
    struct fault fault = {0};
    OWNED(filter_release) struct filter filter = {0};
    assert_int_equal(filter_compile_build(&filter, &fault), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(build_sockets); i++) {
        uint32_t got = verdict(&filter, SYS_socket, build_sockets[i].family, build_sockets[i].type,
                               build_sockets[i].protocol);
        if (got != build_sockets[i].expected)
            fail_msg("socket %zu: verdict %#x, expected %#x", i, got, build_sockets[i].expected);
    }
}

static void calls_can_be_left_to_the_default(void **state)
{
    (void)state;
    struct fault fault = {0};
    OWNED(filter_release) struct filter filter = {0};
    OWNED(filter_release) struct filter without = {0};
    assert_int_equal(filter_compile_default(NULL, &filter, &fault), 0);
    assert_int_equal(filter_compile_default(" getpi memfd_create  read", &without, &fault), 0);
    assert_int_equal(verdict(&filter, SYS_memfd_create, 0, 0, 0), ALLOW);
    assert_int_equal(verdict(&without, SYS_memfd_create, 0, 0, 0), UNKNOWN);
    assert_int_equal(verdict(&without, SYS_read, 0, 0, 0), UNKNOWN);
    assert_int_equal(verdict(&without, SYS_getpid, 0, 0, 0), ALLOW);
}

static void other_architectures_are_killed(void **state)
{
    (void)state;
    struct fault fault = {0};
    OWNED(filter_release) struct filter filter = {0};
    assert_int_equal(filter_compile_default(NULL, &filter, &fault), 0);
    struct seccomp_data call = {.nr = 1, .arch = OTHER_ARCHITECTURE};
    assert_int_equal(filter_verdict(&filter, &call), SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
    call = (struct seccomp_data){.nr = 0x40000000, .arch = OWN_ARCHITECTURE}; /* x32 read */
    assert_int_equal(filter_verdict(&filter, &call), SECCOMP_RET_KILL_PROCESS);
#endif
}

/*
 * A name with a typing mistake would be passed over: a call that is meant to be let through would be
 * refused, or one to be refused would be left to the default. libseccomp answers for a call that
 * only other architectures have with a number below -1.
 */
static void every_name_is_a_call_of_x86_64_or_arm64(void **state)
{
    (void)state;
    struct fault fault = {0};
    OWNED(json_release) struct json *document = NULL;
    assert_int_equal(
        json_parse(default_profile_json, sizeof(default_profile_json), &document, &fault), 0);
    size_t count = 0;
    size_t on_x86_64 = 0;
    size_t on_arm64 = 0;
    const struct json_value *rules = json_member(json_root(document), "syscalls");
    for (const struct json_value *rule = rules->first; rule != NULL; rule = rule->next) {
        const struct json_value *names = json_member(rule, "names");
        for (const struct json_value *name = names->first; name != NULL; name = name->next) {
            int x86_64 = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name->text);
            int arm64 = seccomp_syscall_resolve_name_arch(SCMP_ARCH_AARCH64, name->text);
            if (x86_64 < 0 && arm64 < 0)
                fail_msg("%s is no system call of either architecture", name->text);
            count++;
            on_x86_64 += x86_64 >= 0;
            on_arm64 += arm64 >= 0;
        }
    }
    assert_int_equal(on_x86_64,
                     count); /* arm64 has no call that the profile names and x86-64 lacks */
    assert_in_range(on_arm64, count / 2, count - 1); /* and lacks the old ones, as open() */
}

static const struct {
    const char *profile;
    const char *words; /* that the fault must have */
} bad_profiles[] = {
    {"", "seccomp profile"},
    {"[]", "defaultAction"},
    {"{\"syscalls\": []}", "defaultAction"},
    {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": []}", "must deny by default"},
    {"{\"defaultAction\": \"SCMP_ACT_LOG\", \"syscalls\": []}", "defaultAction"},
    {"{\"defaultAction\": \"SCMP_ACT_ERRNO\"}", "syscalls"},
    {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 5000, \"syscalls\": []}",
     "defaultErrnoRet"},
    {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{\"action\": \"SCMP_ACT_ALLOW\"}]}",
     "names"},
    {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{\"action\": \"SCMP_ACT_ALLOW\","
     "\"names\": [1]}]}",
     "names"},
    {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{\"action\": \"SCMP_ACT_ALLOW\","
     "\"names\": [\"read\"], \"args\": [{\"index\": 6, \"value\": 0, \"op\": \"SCMP_CMP_EQ\"}]}]}",
     "index"},
    {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{\"action\": \"SCMP_ACT_ALLOW\","
     "\"names\": [\"read\"], \"args\": [{\"index\": 0, \"value\": 0, \"op\": \"EQ\"}]}]}",
     "op"},
};

static void bad_profiles_are_refused_with_the_member_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bad_profiles); i++) {
        struct fault fault = {0};
        OWNED(filter_release) struct filter filter = {0};
        const char *profile = bad_profiles[i].profile;
        assert_int_equal(filter_compile(profile, strlen(profile), NULL, &filter, &fault), -EINVAL);
        assert_non_null(strstr(fault.text, bad_profiles[i].words));
    }
}

static void rules_for_capabilities_and_other_machines_do_not_apply(void **state)
{
    (void)state;
    static const char profile[] =
        "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": ["
        "{\"names\": [\"mount\"], \"action\": \"SCMP_ACT_ALLOW\","
        " \"includes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}},"
        "{\"names\": [\"write\"], \"action\": \"SCMP_ACT_ALLOW\","
        " \"includes\": {\"arches\": [\"s390x\"]}},"
        "{\"names\": [\"read\", \"no_such_call\"], \"action\": \"SCMP_ACT_ALLOW\","
        " \"includes\": {\"arches\": [\"amd64\", \"arm64\"]}},"
        "{\"names\": [\"close\"], \"action\": \"SCMP_ACT_ALLOW\","
        " \"excludes\": {\"arches\": [\"amd64\", \"arm64\"]}}]}";
    struct fault fault = {0};
    OWNED(filter_release) struct filter filter = {0};
    assert_int_equal(filter_compile(profile, strlen(profile), NULL, &filter, &fault), 0);
    assert_int_equal(verdict(&filter, SYS_mount, 0, 0, 0), REFUSE);
    assert_int_equal(verdict(&filter, SYS_write, 0, 0, 0), REFUSE);
    assert_int_equal(verdict(&filter, SYS_close, 0, 0, 0), REFUSE);
    assert_int_equal(verdict(&filter, SYS_read, 0, 0, 0), ALLOW);
}

static void the_default_profile_was_compiled_as_it_would_be_now(void **state)
{
    (void)state;
    static const char *const without[] = {NULL, FILTER_UNPOLLED_CALLS};
    for (size_t i = 0; i < ARRAY_LENGTH(without); i++) {
        OWNED(filter_release) struct filter kept = {0};
        OWNED(filter_release) struct filter made = {0};
        struct fault fault = {0};
        assert_int_equal(filter_compile_default(without[i], &kept, &fault), 0);
        assert_int_equal(filter_compile(default_profile_json, sizeof(default_profile_json),
                                        without[i], &made, &fault),
                         0);
        assert_int_equal(kept.length, made.length);
        assert_memory_equal(kept.code, made.code, made.length * sizeof(made.code[0]));
    }
    struct filter other = {0};
    assert_int_equal(filter_compile_default("read", &other, NULL), 0);
    assert_int_equal(verdict(&other, SYS_read, 0, 0, 0), UNKNOWN);
    filter_release(&other);
}

/* Together they give each call the answer of the profile, whatever its arguments: the stricter one, or that of the newer. */
static void a_fork_has_the_default_profile_in_two_parts(void **state)
{
    (void)state;
    static const char *const without[][2] = {
        {NULL, NULL}, {FILTER_UNPOLLED_CALLS, FILTER_UNPOLLED_CALLS_OF_TEMPLATES}};
    static const uint64_t numbers[] = {0, 1, 2, 4, 8, 16, 38, 262144, 1 << 28, 1 << 30, NO_FD};
    for (size_t i = 0; i < 2; i++) {
        OWNED(filter_release) struct filter whole = {0};
        OWNED(filter_release) struct filter below = {0};
        OWNED(filter_release) struct filter above = {0};
        assert_int_equal(filter_compile_default(without[i][0], &whole, NULL), 0);
        assert_int_equal(filter_compile_template(without[i][1], &below, NULL), 0);
        assert_int_equal(filter_compile_fork(without[i][0], &above, NULL), 0);
        assert_true(above.length < 32);
        for (long number = -1; number < 1024; number++)
            for (size_t j = 0; j < ARRAY_LENGTH(numbers) * ARRAY_LENGTH(numbers); j++) {
                uint64_t first = numbers[j % ARRAY_LENGTH(numbers)];
                uint64_t second = numbers[j / ARRAY_LENGTH(numbers)];
                uint32_t expected = verdict_on_four(&whole, number, first, second, second, first);
                uint32_t one = verdict_on_four(&above, number, first, second, second, first);
                uint32_t other = verdict_on_four(&below, number, first, second, second, first);
                bool is_newer = (int32_t)(one & SECCOMP_RET_ACTION_FULL) <=
                                (int32_t)(other & SECCOMP_RET_ACTION_FULL);
                assert_int_equal(is_newer ? one : other, expected);
            }
    }
}

static void a_profile_is_within_the_default_one_or_a_call_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        const char *more; /* NULL: it is within */
    } table[] = {
        {"\"names\": [\"read\", \"write\"]", NULL},
        {"\"names\": [\"read\", \"ptrace\"]", "ptrace"},
        {"\"names\": [\"no_such_call\"]", "no_such_call"},
        {"\"names\": [\"read\"], \"args\": [{\"index\": 0, \"value\": 3, \"op\": \"SCMP_CMP_EQ\"}]",
         NULL},
        /* As the default has it; and with another value, operator or place, one more condition, or none. */
        {"\"names\": [\"memfd_create\"], \"args\": [{\"index\": 1, \"value\": 4, \"valueTwo\": 0, "
         "\"op\": \"SCMP_CMP_MASKED_EQ\"}]",
         NULL},
        {"\"names\": [\"memfd_create\"], \"args\": [{\"index\": 1, \"value\": 4, \"valueTwo\": 4, "
         "\"op\": \"SCMP_CMP_MASKED_EQ\"}]",
         "memfd_create"},
        {"\"names\": [\"memfd_create\"], \"args\": [{\"index\": 1, \"value\": 4, \"valueTwo\": 0, "
         "\"op\": \"SCMP_CMP_NE\"}]",
         "memfd_create"},
        {"\"names\": [\"memfd_create\"], \"args\": [{\"index\": 0, \"value\": 4, \"valueTwo\": 0, "
         "\"op\": \"SCMP_CMP_MASKED_EQ\"}]",
         "memfd_create"},
        {"\"names\": [\"memfd_create\"], \"args\": [{\"index\": 1, \"value\": 4, \"valueTwo\": 0, "
         "\"op\": \"SCMP_CMP_MASKED_EQ\"}, {\"index\": 0, \"value\": 0, \"op\": \"SCMP_CMP_NE\"}]",
         "memfd_create"},
        {"\"names\": [\"memfd_create\"]", "memfd_create"},
        {"\"names\": [\"mmap\"], \"args\": []", "mmap"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        char profile[512], call[FILTER_CALL_SIZE];
        snprintf(profile, sizeof(profile),
                 "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": ["
                 "{\"names\": [\"mount\"], \"action\": \"SCMP_ACT_TRAP\"},"
                 "{%s, \"action\": \"SCMP_ACT_ALLOW\"}]}",
                 table[i].rule);
        assert_int_equal(filter_is_within_default(profile, call), table[i].more == NULL);
        assert_string_equal(call, table[i].more != NULL ? table[i].more : "");
    }
    char call[FILTER_CALL_SIZE];
    assert_true(filter_is_within_default(NULL, call));
    OWNED_MEMORY char *text = strndup(default_profile_json, sizeof(default_profile_json));
    assert_true(filter_is_within_default(text, call));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_profile_was_compiled_as_it_would_be_now),
        cmocka_unit_test(default_profile_gives_each_call_its_verdict),
        cmocka_unit_test(an_installer_has_sockets_of_tcp_and_udp),
        cmocka_unit_test(calls_can_be_left_to_the_default),
        cmocka_unit_test(other_architectures_are_killed),
        cmocka_unit_test(every_name_is_a_call_of_x86_64_or_arm64),
        cmocka_unit_test(bad_profiles_are_refused_with_the_member_named),
        cmocka_unit_test(rules_for_capabilities_and_other_machines_do_not_apply),
        cmocka_unit_test(a_fork_has_the_default_profile_in_two_parts),
        cmocka_unit_test(a_profile_is_within_the_default_one_or_a_call_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
