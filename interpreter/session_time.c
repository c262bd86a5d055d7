#include "interpreter/session_time.h"

#include <inttypes.h>
#include <stdio.h>

void session_time_describe(int64_t milliseconds, char text[SESSION_TIME_SIZE])
{
    int64_t seconds = (milliseconds + 500) / 1000;
    if (seconds < 120)
        snprintf(text, SESSION_TIME_SIZE, "%" PRId64 " s", seconds);
    else if (seconds < 7200)
        snprintf(text, SESSION_TIME_SIZE, "%" PRId64 " min", (seconds + 30) / 60);
    else
        snprintf(text, SESSION_TIME_SIZE, "%" PRId64 " h", (seconds + 1800) / 3600);
}
