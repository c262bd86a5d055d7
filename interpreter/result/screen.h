/*
 * What a terminal shows at the end of a stream: progress bars in their last state, and neither colours nor other
 * control sequences. For readers without a terminal: the models.
 *
 * The terminal has 512 columns, and each character takes one. Its cursor reaches the last 64 rows. A program that
 * addresses the screen (CSI H) goes on below what is there, so clearing the screen loses nothing.
 *
 * Side: parent.  The bytes are the snippet's: any bytes. Drawing them takes the memory of one screen, and time in
 * proportion to their number, which is bounded. Sources: ECMA-48, console_codes(4).
 */
#ifndef INTERPRETER_RESULT_SCREEN_H
#define INTERPRETER_RESULT_SCREEN_H

#include "sandbox/capture.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a terminal shows anything but the bytes as they were written: they move its cursor back, or command it. */
bool screen_is_needed(const struct capture *written);

/*
 * Draws the stream; its beginning and its end each for itself if bytes between them are missing, or the stream is longer
 * than DRAWN_MAX. Of the drawing, `kept` bytes are kept, as in capture_open(); its `total` and `cut` count its own bytes
 * and those that are missing. To be released with capture_release(). 0 or -ENOMEM.
 */
int screen_draw(const struct capture *written, uint64_t kept, struct capture *ret_drawn);

#endif
