/*
 * Notes for people, on stderr. stdout belongs to JSON-RPC, or to the snippet.
 *
 * Side: parent.
 */
#ifndef MCP_LOG_H
#define MCP_LOG_H

/* Writes "code-sandbox-mcp: NOTE" and a newline in one write(2); what is too long is cut. */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
