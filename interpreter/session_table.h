/*
 * The sessions of a server: their handles, which are alive, and why others are not.
 *
 * A handle is opaque: SESSION_HANDLE_PREFIX and SESSION_HANDLE_LETTERS random letters and digits. A session ends after settings.session_idle_ms without a call, after SESSION_LIFE_MAX_MS in all, or as the
 * least recently used if there is no room for another one. Ended ones are remembered, up to
 * SESSIONS_REMEMBERED_MAX, for the errors of calls that still name them.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SESSION_TABLE_H
#define INTERPRETER_SESSION_TABLE_H

#include "interpreter/base/bounds.h"
#include "interpreter/folders/changes_since.h"
#include "interpreter/live_session.h"
#include "interpreter/settings/settings.h"
#include "sandbox/base/loop.h"
#include "sandbox/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_HANDLE_PREFIX "s-"
#define SESSION_HANDLE_SIZE 16 /* with its NUL */
#define SESSION_REASON_SIZE 160

struct session_table;

/* A session that is alive. */
struct session_entry {
    struct session_entry *previous, *next;
    struct session_table *table;
    unsigned owner; /* whose calls may go on with it: struct rpc */
    char handle[SESSION_HANDLE_SIZE];
    struct live_session live; /* without a session until its opener has set it */
    uint64_t calls;          /* that have ended */
    size_t pending;          /* that have not */
    int64_t began_at;        /* clock_now() */
    int64_t idle_ms;         /* how long it may go without one */
    int64_t used_at;         /* the end of the last call */
    int64_t peak_memory_bytes; /* 0: unknown */
    struct changes_seen changed; /* in copies of folders, up to the last call */
    bool is_closed; /* it is about to end, as its client wants */
    /* Called once when it has ended and is no more in the table; or NULL. */
    void (*gone)(void *data);
    void *gone_data;
    void *beside; /* of its opener, released with it; or NULL */
    void (*release_beside)(void *beside);
};

/* One that has ended. */
struct session_end {
    unsigned owner;
    char handle[SESSION_HANDLE_SIZE];
    const char *kept; /* live_session_kept() */
    uint64_t calls;
    char reason[SESSION_REASON_SIZE]; /* continues "s-k3f9x2: it ..." */
};

struct session_table {
    struct loop *loop;               /* borrowed */
    const struct settings *settings; /* borrowed */
    struct session_entry *entries;   /* owned; the newest first */
    size_t count;
    struct session_end ended[SESSIONS_REMEMBERED_MAX]; /* a ring */
    size_t ended_count;                                /* ever */
    struct loop_timer sweep;                           /* armed while any is alive */
};

struct session_table session_table_of(struct loop *loop, const struct settings *settings);

/* Forgets all of them, whose engine is gone, or has never been. */
void session_table_release(struct session_table *table);

/* The owner's one of that handle; NULL: none is alive. */
struct session_entry *session_table_find(const struct session_table *table, unsigned owner,
                                         const char *handle);

/*
 * Takes HANDLE or HANDLE@NUMBER apart, a handle that goes back to a checkpoint of its session. 0; -EINVAL with a fault: what
 * follows the @ is no number of a call. *ret_back_to is 0 without one.
 */
int session_handle_read(const char *text, char ret_handle[SESSION_HANDLE_SIZE],
                        uint32_t *ret_back_to, struct fault *fault);

/* What is remembered of an ended one, or NULL. */
const struct session_end *session_table_find_end(const struct session_table *table, unsigned owner,
                                                 const char *handle);

/*
 * Adds one, of which `live` is still to be set; then session_entry_make_room() or session_table_drop(), before another is
 * added. 0; -EAGAIN without a fault: there is no room, and all are busy, or others'; another negative errno with its fault.
 */
int session_table_add(struct session_table *table, unsigned owner, struct session_entry **ret_entry,
                      struct fault *fault);

/*
 * It is open. Where there are too many now, the owner's other idle session that has gone unused for longest ends, and
 * `ret_displaced` gets its handle, or "".
 */
void session_entry_make_room(struct session_entry *entry, char ret_displaced[SESSION_HANDLE_SIZE]);

/* Takes out one whose session could not be made, or was made for a call that is cancelled. */
void session_table_drop(struct session_entry *entry);

/* Notes that its session has ended by itself, and why; the entry becomes invalid. */
void session_table_note_end(struct session_entry *entry, const char *reason);

/* A call, or anything else that uses the session, begins; it has ended, with the session kept. */
void session_entry_begin_call(struct session_entry *entry);
void session_entry_end_call(struct session_entry *entry, const struct run_result *result);
void session_entry_end_use(struct session_entry *entry);

#endif
