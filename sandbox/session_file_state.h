/*
 * A request on files, for the set of commands that it is in; sandbox/session_file.h is the public interface.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_FILE_STATE_H
#define SANDBOX_SESSION_FILE_STATE_H

struct session_file;

/* NULL is fine. */
void session_file_free(struct session_file *file);

#endif
