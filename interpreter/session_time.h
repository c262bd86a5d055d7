/*
 * Spans of time in words: "90 s", "20 min", "12 h".
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SESSION_TIME_H
#define INTERPRETER_SESSION_TIME_H

#include <stddef.h>
#include <stdint.h>

#define SESSION_TIME_SIZE 32

/* In the unit that gives a short number. */
void session_time_describe(int64_t milliseconds, char text[SESSION_TIME_SIZE]);

#endif
