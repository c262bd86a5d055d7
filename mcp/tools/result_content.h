/*
 * Blocks of content for the files of a result: images, and links to others.
 *
 * Side: parent.  Source: MCP, "Tool Result".
 */
#ifndef MCP_TOOLS_RESULT_CONTENT_H
#define MCP_TOOLS_RESULT_CONTENT_H

#include "mcp/base/version.h"
#include "sandbox/base/json.h"

struct result_files;

void result_content_write_images(struct json_writer *writer, const struct result_files *files);

/* At most FILE_LINKS_MAX, to files other than images. */
void result_content_write_links(struct json_writer *writer, enum version version,
                                const struct result_files *files);

#endif
