/*
 * The verdict of a filter on one call: classic BPF, as far as libseccomp makes use of it, interpreted.
 */
#ifndef TESTS_SUPPORT_FILTER_VERDICT_H
#define TESTS_SUPPORT_FILTER_VERDICT_H

#include "sandbox/jail/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#define OTHER_ARCHITECTURE AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#define OTHER_ARCHITECTURE AUDIT_ARCH_ARM
#endif

/* Of a program that the kernel would take. Aborts at an instruction that libseccomp does not use. */
static inline uint32_t filter_verdict(const struct filter *filter, const struct seccomp_data *call)
{
    uint32_t a = 0;
    uint32_t x = 0;
    uint32_t memory[BPF_MEMWORDS] = {0};
    for (size_t at = 0; at < filter->length; at++) {
        const struct sock_filter *op = &filter->code[at];
        switch (op->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            memcpy(&a, (const char *)call + op->k, sizeof(a));
            break;
        case BPF_LD | BPF_MEM:
            a = memory[op->k % BPF_MEMWORDS];
            break;
        case BPF_ST:
            memory[op->k % BPF_MEMWORDS] = a;
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= op->k;
            break;
        case BPF_MISC | BPF_TAX:
            x = a;
            break;
        case BPF_MISC | BPF_TXA:
            a = x;
            break;
        case BPF_JMP | BPF_JA:
            at += op->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += a == op->k ? op->jt : op->jf;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            at += a > op->k ? op->jt : op->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            at += a >= op->k ? op->jt : op->jf;
            break;
        case BPF_RET | BPF_K:
            return op->k;
        default:
            abort();
        }
    }
    abort();
}

#endif
