/*
 * Compiles a profile while the programs are built: compile-profile PROFILE OUTPUT NAME WITHOUT writes the filter
 * to a C header, as an array of that name. WITHOUT: system calls to be left out,
 * separated by spaces; "" for none.
 */
#include "sandbox/base/owned.h"
#include "sandbox/jail/filter.h"

#include <stdio.h>
#include <string.h>

#define PROFILE_SIZE_MAX (1 << 20)

static char profile[PROFILE_SIZE_MAX];

static int write_filter(FILE *output, const char *name, const struct filter *filter)
{
    fprintf(output, "static const struct sock_filter %s[] = {\n", name);
    for (size_t i = 0; i < filter->length; i++) {
        const struct sock_filter *at = &filter->code[i];
        fprintf(output, "    {0x%x, %u, %u, 0x%x},\n", at->code, at->jt, at->jf, at->k);
    }
    fprintf(output, "};\n");
    return fclose(output);
}

int main(int argc, char **argv)
{
    OWNED(filter_release) struct filter filter = {0};
    struct fault fault = {0};
    if (argc != 5)
        return 2;
    FILE *input = fopen(argv[1], "re");
    size_t length = input != NULL ? fread(profile, 1, sizeof(profile), input) : 0;
    if (input != NULL)
        fclose(input);
    const char *without = argv[4][0] != '\0' ? argv[4] : NULL;
    if (filter_compile(profile, length, without, &filter, &fault) < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], fault.text);
        return 1;
    }
    FILE *output = fopen(argv[2], "we");
    if (output == NULL || write_filter(output, argv[3], &filter) != 0) {
        perror(argv[2]);
        return 1;
    }
    return 0;
}
