#include "images/progress.h"

#include "sandbox/base/loop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR_WIDTH 24
#define CLEAR_LINE "\r\033[K"

void progress_open(struct progress *progress, const char *name)
{
    const char *kind = getenv("TERM");
    *progress = (struct progress){
        .name = name,
        .terminal = isatty(STDERR_FILENO) && (kind == NULL || strcmp(kind, "dumb") != 0),
        .started = clock_now(),
    };
}

const char *size_for_people(uint64_t bytes, char buffer[32])
{
    if (bytes >= 10000000)
        snprintf(buffer, 32, "%llu MB", (unsigned long long)((bytes + 500000) / 1000000));
    else if (bytes >= 100000)
        snprintf(buffer, 32, "%.1f MB", (double)bytes / 1e6);
    else
        snprintf(buffer, 32, "%llu kB", (unsigned long long)((bytes + 999) / 1000));
    return buffer;
}

static void bar_draw(const struct progress *progress)
{
    char bar[BAR_WIDTH + 1];
    int filled = progress->shown * BAR_WIDTH / 1000;
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    if (progress->shown >= 0)
        fprintf(stderr, CLEAR_LINE "%s: %s [%s] %3d %%", progress->name, progress->step, bar,
                progress->shown / 10);
    else
        fprintf(stderr, CLEAR_LINE "%s: %s ...", progress->name, progress->step);
}

void progress_step(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(progress->step, sizeof(progress->step), format, arguments);
    va_end(arguments);
    progress->shown = -1;
    if (progress->terminal)
        bar_draw(progress);
    else
        fprintf(stderr, "%s: %s\n", progress->name, progress->step);
}

void progress_amount(struct progress *progress, uint64_t done, uint64_t total)
{
    if (!progress->terminal || total == 0 || progress->step[0] == '\0')
        return;
    int share = done >= total ? 1000 : (int)((double)done * 1000 / (double)total);
    if (share == progress->shown)
        return;
    progress->shown = share;
    bar_draw(progress);
}

void progress_note(struct progress *progress, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s%s: %s\n", progress->terminal ? CLEAR_LINE : "", progress->name, text);
    if (progress->terminal && progress->step[0] != '\0')
        bar_draw(progress);
}

void progress_close(struct progress *progress)
{
    if (progress->terminal && progress->step[0] != '\0')
        fputs(CLEAR_LINE, stderr);
    progress->step[0] = '\0';
}
