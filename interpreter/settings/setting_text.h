/*
 * The value of a setting and its origin as text.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_SETTING_TEXT_H
#define INTERPRETER_SETTINGS_SETTING_TEXT_H

#include "interpreter/settings/setting_table.h"
#include "sandbox/base/buffer.h"

/*
 * Appends the value in force, as it could be written behind the option: "512M", "30s", "off". Nothing if there is
 * none. Values of variables for snippets and passwords in URLs are not shown. 0 or a negative errno of
 * buffer_append().
 */
int setting_write(const struct settings *settings, const struct setting *setting,
                  struct buffer *text);

/*
 * Appends what gave the setting of the option its value, with commas: "--memory", "SANDBOX_MEMORY",
 * "\"memory\" in PATH"; "default". 0 or a negative errno of buffer_append().
 */
int setting_write_origin(const struct settings *settings, const struct option *option,
                         struct buffer *text);

/* Appends to a fault that names options, which of them come from a variable or a key, and from which. */
void setting_blame(const struct settings *settings, struct fault *fault);

#endif
