#include "images/base/reference.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TEXT_SHOWN 200 /* of the user's text, in a message */
#define HOST_NAME_MAX_LENGTH 255

__attribute__((format(printf, 3, 4))) static int refuse(struct fault *fault, const char *text,
                                                        const char *format, ...)
{
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    return fault_set(fault, EINVAL, "\"%.*s\" names no image: %s", TEXT_SHOWN, text, why);
}

static bool is_one_of(char character, const char *set)
{
    return character != '\0' && strchr(set, character) != NULL;
}

/* Letters, digits and hyphens, the latter neither first nor last; separated by dots. */
static bool is_host_name(const char *name, size_t length)
{
    for (size_t start = 0; start <= length;) {
        size_t end = start;
        while (end < length && name[end] != '.')
            end++;
        if (end == start || name[start] == '-' || name[end - 1] == '-')
            return false;
        for (size_t i = start; i < end; i++)
            if (!is_one_of(name[i], LETTERS DIGITS "-"))
                return false;
        start = end + 1;
    }
    return true;
}

static bool is_bracketed_address(const char *name, size_t length)
{
    char address[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    if (length < 4 || length - 2 >= sizeof(address) || name[0] != '[' || name[length - 1] != ']')
        return false;
    memcpy(address, name + 1, length - 2);
    address[length - 2] = '\0';
    return inet_pton(AF_INET6, address, bytes) == 1;
}

static bool is_port(const char *text, size_t length)
{
    unsigned number = 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_one_of(text[i], DIGITS))
            return false;
        number = number * 10 + (unsigned)(text[i] - '0');
        if (number > 65535)
            return false;
    }
    return length > 0 && number > 0;
}

static int host_check(const char *text, const char *host, size_t length, struct fault *fault)
{
    size_t name = length;
    const char *colon = memrchr(host, ':', length);
    if (colon != NULL && (host[0] != '[' || colon[-1] == ']')) {
        name = (size_t)(colon - host);
        if (!is_port(colon + 1, length - name - 1))
            return refuse(fault, text, "its port is not a number from 1 to 65535");
    }
    if (name > HOST_NAME_MAX_LENGTH || length > REFERENCE_HOST_MAX)
        return refuse(fault, text, "its host is longer than %d letters", HOST_NAME_MAX_LENGTH);
    bool known = host[0] == '[' ? is_bracketed_address(host, name) : is_host_name(host, name);
    return known ? 0 : refuse(fault, text, "its host is no host name or address");
}

/* Lower-case letters and digits, with one of ".", "_", "__" or hyphens between them. */
static bool is_repository_part(const char *part, size_t length)
{
    size_t at = 0;
    for (;;) {
        size_t begin = at;
        while (at < length && is_one_of(part[at], LOWER DIGITS))
            at++;
        if (at == begin)
            return false;
        if (at == length)
            return true;
        if (part[at] == '-') {
            while (at < length && part[at] == '-')
                at++;
        } else if (part[at] == '.') {
            at++;
        } else if (part[at] == '_') {
            at += at + 1 < length && part[at + 1] == '_' ? 2 : 1;
        } else {
            return false;
        }
    }
}

static int repository_check(const char *text, const char *repository, struct fault *fault)
{
    for (const char *part = repository;;) {
        size_t length = strcspn(part, "/");
        if (!is_repository_part(part, length))
            return refuse(fault, text,
                          "its name must be of a-z and 0-9, in parts that are joined by '/', '.', "
                          "'_' or '-'");
        if (part[length] == '\0')
            return 0;
        part += length + 1;
    }
}

static int tag_read(const char *text, const char *tag, size_t length, struct reference *reference,
                    struct fault *fault)
{
    if (length == 0 || length > REFERENCE_TAG_MAX || !is_one_of(tag[0], LETTERS DIGITS "_"))
        return refuse(fault, text, "its tag must have 1 to %d letters, the first no '.' or '-'",
                      REFERENCE_TAG_MAX);
    for (size_t i = 0; i < length; i++)
        if (!is_one_of(tag[i], LETTERS DIGITS "_.-"))
            return refuse(fault, text, "its tag must be of letters, digits, '_', '.' and '-'");
    memcpy(reference->tag, tag, length);
    reference->tag[length] = '\0';
    return 0;
}

/* The length of the host at the start; 0: none, which means Docker Hub. */
static size_t host_length(const char *name, size_t length)
{
    const char *slash = memchr(name, '/', length);
    if (slash == NULL)
        return 0;
    size_t first = (size_t)(slash - name);
    bool is_host = memchr(name, '.', first) != NULL || memchr(name, ':', first) != NULL ||
                   (first == 9 && memcmp(name, "localhost", 9) == 0);
    for (size_t i = 0; i < first; i++)
        is_host = is_host || (name[i] >= 'A' && name[i] <= 'Z');
    return is_host ? first : 0;
}

/* Host and repository, without tag and digest. */
static int name_read(const char *text, const char *name, size_t length, struct reference *reference,
                     struct fault *fault)
{
    size_t host = host_length(name, length);
    if (host > 0) {
        int r = host_check(text, name, host, fault);
        if (r < 0)
            return r;
        memcpy(reference->host, name, host);
        reference->host[host] = '\0';
        name += host + 1;
        length -= host + 1;
    }
    if (host == 0 || strcmp(reference->host, "index.docker.io") == 0)
        strcpy(reference->host, "docker.io");
    bool official = strcmp(reference->host, "docker.io") == 0 && memchr(name, '/', length) == NULL;
    const char *folder = official ? "library/" : "";
    if (length + strlen(folder) > REFERENCE_REPOSITORY_MAX)
        return refuse(fault, text, "its name is longer than %d letters", REFERENCE_REPOSITORY_MAX);
    snprintf(reference->repository, sizeof(reference->repository), "%s%.*s", folder, (int)length,
             name);
    return repository_check(text, reference->repository, fault);
}

int reference_parse(const char *text, struct reference *ret_reference, struct fault *fault)
{
    struct reference reference = {0};
    if (text[0] == '\0')
        return refuse(fault, text, "it is empty");
    if (strstr(text, "://") != NULL)
        return refuse(fault, text, "it must begin with the host, not with a scheme");
    const char *at = strchr(text, '@');
    size_t length = at != NULL ? (size_t)(at - text) : strlen(text);
    if (at != NULL && digest_parse(at + 1, strlen(at + 1), &reference.digest) < 0)
        return refuse(fault, text,
                      "what follows '@' must be sha256: and 64, or sha512: and 128 digits of 0-9 "
                      "and a-f");
    const char *slash = memrchr(text, '/', length);
    const char *last = slash != NULL ? slash : text;
    const char *colon = memchr(last, ':', length - (size_t)(last - text));
    size_t name = colon != NULL ? (size_t)(colon - text) : length;
    int r = name_read(text, text, name, &reference, fault);
    if (r == 0 && colon != NULL)
        r = tag_read(text, colon + 1, length - name - 1, &reference, fault);
    if (r < 0)
        return r;
    if (colon == NULL && at == NULL)
        strcpy(reference.tag, "latest");
    *ret_reference = reference;
    return 0;
}

void reference_format(const struct reference *reference, char text[REFERENCE_TEXT_MAX])
{
    snprintf(text, REFERENCE_TEXT_MAX, "%s/%s%s%s%s%s", reference->host, reference->repository,
             reference->tag[0] != '\0' ? ":" : "", reference->tag,
             reference->digest.text[0] != '\0' ? "@" : "", reference->digest.text);
}

const char *reference_server(const struct reference *reference)
{
    return strcmp(reference->host, "docker.io") == 0 ? "registry-1.docker.io" : reference->host;
}

bool reference_host_is_loopback(const char *host)
{
    char name[REFERENCE_HOST_MAX + 1];
    size_t length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (length >= sizeof(name) || length > strlen(host))
        return false;
    memcpy(name, host, length);
    name[length] = '\0';
    unsigned char address[4];
    return strcmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
           (inet_pton(AF_INET, name, address) == 1 && address[0] == 127);
}
