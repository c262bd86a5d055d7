#include "mcp/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define NOTE_MAX 4096

void log_note(const char *format, ...)
{
    char line[NOTE_MAX];
    int used = snprintf(line, sizeof(line), "code-sandbox-mcp: ");
    size_t room = sizeof(line) - (size_t)used - 1; /* one byte is the newline's */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + used, room, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    size_t end = (size_t)used + ((size_t)length < room ? (size_t)length : room - 1);
    line[end] = '\n';
    /* A note that nobody can read is no reason to stop. */
    ssize_t written = write(STDERR_FILENO, line, end + 1);
    (void)written;
}
