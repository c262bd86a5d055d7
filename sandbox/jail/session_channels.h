/*
 * What the server shares with the program of a session, besides the pipes of its output: a socket and a pipe for
 * frames of fixed size, memory that the server fills with code, and memory that is the program's stdin.
 *
 * The server takes nothing from the socket, as it could bring descriptors: who closes the last one of a connection waits
 * for as long as the program has chosen (SO_LINGER).
 *
 * Of each memory the program gets a description that only reads. It can open the memory again to write,
 * through /proc, and so deceive itself alone: the server never trusts what it reads there, nor maps it.
 * RLIMIT_FSIZE bounds its size; polling counts it as a file.
 *
 * Side: parent.  Source: memfd_create(2), unix(7), socket(7).
 */
#ifndef SANDBOX_JAIL_SESSION_CHANNELS_H
#define SANDBOX_JAIL_SESSION_CHANNELS_H

#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/id_map.h"

/* All owned; -1: none. [0] is the server's, [1] the program's. */
struct session_channels {
    int channel[2]; /* SOCK_SEQPACKET, to the program alone; SESSION_LIVE */
    int answers[2]; /* a pipe of the program's frames; SESSION_LIVE */
    int cells[2];   /* code; SESSION_LIVE */
    int results[2]; /* SOCK_SEQPACKET, to the programs alone: answers of their calls; or none */
    int calls[2];   /* a pipe of the programs' calls; or none */
    int input[2];   /* stdin; the server keeps [1], too: the offset is shared */
};

#define SESSION_CHANNELS_NONE                                                                      \
    ((struct session_channels){.channel = {-1, -1},                                                \
                               .answers = {-1, -1},                                                \
                               .cells = {-1, -1},                                                  \
                               .results = {-1, -1},                                                \
                               .calls = {-1, -1},                                                  \
                               .input = {-1, -1}})

/*
 * Those of a session; and of a further lane with a live interpreter, all but stdin, which is the session's. 0, or
 * a negative errno: then session_channels_close() cleans up.
 */
int session_channels_open(struct session_channels *channels, const struct jail_plan *plan,
                          const struct id_map *map);
int session_channels_open_lane(struct session_channels *channels, const struct id_map *map);

/* Those of calls, for programs of either kind. The same. */
int session_channels_open_calls(struct session_channels *channels);

/* Once the child has its copies: closes those, and hands the server's over. */
struct session_channels session_channels_take(struct session_channels *channels);

void session_channels_close(struct session_channels *channels);

#endif
