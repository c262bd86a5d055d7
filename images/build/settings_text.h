/*
 * What installers may see of a file of settings or of constraints. A setting may name any file, such as one with
 * passwords: so whatever a line is not known to be for pip or npm stays on the host.
 *
 * Side: parent. Source: pip's "Configuration" and Python's configparser; npm's npmrc(5); pip's "Requirements File Format".
 */
#ifndef IMAGES_BUILD_SETTINGS_TEXT_H
#define IMAGES_BUILD_SETTINGS_TEXT_H

#include "sandbox/base/buffer.h"

#include <stdbool.h>

/*
 * Appends the lines of settings that are passed on (passed_settings.h), for `pip install` or for npm; comments, other
 * sections and all other lines are left out, and those with a NUL or a carriage return within. 0, -ENOBUFS or -ENOMEM.
 * `text` may hold any bytes.
 */
int settings_select(const struct buffer *text, bool is_npm, struct buffer *selected);

/*
 * Appends the lines of constraints; comments, and names without a version, which constrain nothing, become empty lines.
 * 0; the number of the first line that is neither; -ENOBUFS or -ENOMEM. `text` may hold any bytes.
 */
int constraints_select(const struct buffer *text, struct buffer *selected);

#endif
