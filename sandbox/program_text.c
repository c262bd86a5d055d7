#include "sandbox/program_text.h"

#include "sandbox/base/buffer.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/child/further_program.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

struct packer {
    uint64_t *words; /* owned; with room for all */
    size_t word_count;
    size_t begin; /* of the strings, in the memory */
    bool is_whole;
    struct buffer strings;
    int status;
};

static void packer_release(struct packer *packer)
{
    free(packer->words);
    buffer_release(&packer->strings);
}

static size_t list_length(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    return count;
}

/* Whether a later entry of the list has the same name. */
static bool is_replaced(const char *const *entry)
{
    size_t length = strcspn(*entry, "=") + 1;
    for (const char *const *later = entry + 1; *later != NULL; later++)
        if (strncmp(*later, *entry, length) == 0)
            return true;
    return false;
}

static void pack(struct packer *packer, const char *string)
{
    uint64_t *word = &packer->words[packer->word_count++];
    if (string == NULL || packer->status < 0)
        return;
    *word = packer->begin + packer->strings.length;
    packer->status = buffer_append(&packer->strings, string, strlen(string) + 1);
}

static int write_memory(const struct packer *packer, int *ret_fd)
{
    OWNED_FD int fd = memfd_create("command", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    const struct program_text head = {.is_whole = packer->is_whole,
                                      .word_count = packer->word_count};
    int r = io_write(fd, &head, sizeof(head));
    if (r == 0)
        r = io_write(fd, packer->words, packer->begin - sizeof(head));
    if (r == 0)
        r = io_write(fd, packer->strings.data, packer->strings.length);
    const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (r == 0 && fcntl(fd, F_ADD_SEALS, seals) < 0)
        r = -errno;
    if (r == 0)
        *ret_fd = fd_take(&fd);
    return r;
}

int program_text_make(const struct text_spec *spec, int *ret_fd, struct fault *fault)
{
    size_t room = 4 + list_length(spec->argv) +
                  list_length(spec->environment); /* directory, path, and two ends of lists */
    OWNED(packer_release)
    struct packer packer = {
        .words = calloc(room, sizeof(uint64_t)),
        .begin = sizeof(struct program_text) + room * sizeof(uint64_t),
        .strings = BUFFER(COMMAND_TEXT_MAX),
        .is_whole = spec->has_no_others,
    };
    if (packer.words == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a command");
    pack(&packer, spec->directory);
    pack(&packer, spec->path);
    for (const char *const *argument = spec->argv; *argument != NULL; argument++)
        pack(&packer, *argument);
    pack(&packer, NULL);
    for (const char *const *entry = spec->environment; entry != NULL && *entry != NULL; entry++)
        if (!is_replaced(entry))
            pack(&packer, *entry);
    pack(&packer, NULL);
    int r = packer.status == 0 ? write_memory(&packer, ret_fd) : packer.status;
    if (r == -ENOBUFS) {
        fault_identify(fault, "too_large");
        return fault_set(fault, E2BIG,
                         "the arguments and variables of a command are larger than %llu KiB",
                         (unsigned long long)(COMMAND_TEXT_MAX / KIBIBYTE));
    }
    return r < 0 ? fault_set(fault, -r, "cannot keep the arguments of a command: %m") : 0;
}
