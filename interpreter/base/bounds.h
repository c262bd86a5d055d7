/*
 * Every bound on memory and output that a client can demand of the front end; bounds of runs are in
 * sandbox/limits/limits.h.
 *
 * Sizes are bytes.
 */
#ifndef INTERPRETER_BASE_BOUNDS_H
#define INTERPRETER_BASE_BOUNDS_H

#include "sandbox/limits/limits.h"

/* One line from the client. Larger ones are refused and skipped. */
#define LINE_IN_MAX (16 * MEBIBYTE)
/* One line to the client, its newline counted. Common clients give up at 10 MiB. */
#define LINE_OUT_MAX (4 * MEBIBYTE)
/*
 * Answers that the client has not read. Above the first bound the server reads no more lines and
 * begins no more runs, until they are below the second. At the third, barely reachable by the runs
 * still in progress, the server exits.
 */
#define OUTPUT_PAUSE (8 * MEBIBYTE)
#define OUTPUT_RESUME (4 * MEBIBYTE)
#define OUTPUT_MAX (64 * MEBIBYTE)

/* The id of a request, as JSON text. */
#define ID_MAX 1024
/* Requests in one batch; even with the longest ids, errors for all of them fit in one line. */
#define BATCH_MAX 256
/* Answers in batches that wait for their last one, of all clients together. */
#define BATCHES_HELD_MAX (64 * MEBIBYTE)

/* Printed lines shown in one progress notification. */
#define CALL_PROGRESS_LINES_MAX (4 * KIBIBYTE)
/* No progress is sent while the client has more than this unread. */
#define CALL_PROGRESS_UNSENT_MAX (16 * KIBIBYTE)
/* Requests subscriptions/listen open at once. */
#define SUBSCRIPTIONS_MAX 64

/* Shown in a result: of stdout and stderr together; of stderr if stdout is long, too. */
#define SHOWN_MAX (32 * KIBIBYTE)
#define SHOWN_STDERR_SHARE (16 * KIBIBYTE)

/* Of a stream with redraws, this much is drawn: its beginning and its end. */
#define DRAWN_MAX (2 * MEBIBYTE)

/* Length of the libraries in a tool's description. Every model request includes the description. */
#define LIBRARIES_SHOWN_MAX 300

/* Folders of the host in the same description: names and modes. */
#define FOLDERS_SHOWN_MAX 240

/* A file of certificates: that of the operator's network, and that of an image. */
#define CERTIFICATES_MAX (1 * MEBIBYTE)

/* Hosts of the network in the same description, and lines about refused ones in a result. */
#define NETWORK_HOSTS_SHOWN_MAX 12
#define NETWORK_SHOWN_MAX 240
#define NETWORK_LINES_MAX 5

/* Truncated output kept as resources: per stream, in total, number of results. */
#define OUTPUT_STREAM_MAX (2 * MEBIBYTE)
#define OUTPUTS_BYTES_MAX (16 * MEBIBYTE)
#define OUTPUTS_MAX 32

/*
 * Images of a result: number, total size of the files (base64 adds a third, and Claude Desktop
 * accepts 1 MB), and pixels on a side. An API that rejects an image rejects every later request, too.
 */
#define IMAGES_MAX 8
#define IMAGES_BYTES_MAX (700 * KIBIBYTE)
#define IMAGE_SIDE_MAX 1600

/* Files of runs kept as resources: one, all of them, and the calls they belong to. */
#define KEPT_FILE_MAX (16 * MEBIBYTE)
#define KEPT_BYTES_MAX (64 * MEBIBYTE)
#define KEPT_CALLS_MAX 32
/* Those in resources/list, the newest. */
#define LISTED_FILES_MAX 64
/* The part of such a file in one answer. A multiple of 3: clients can join the base64 of parts. */
#define FILE_READ_MAX (3 * 968 * KIBIBYTE)
/* Copies in the directory of --files-dir: bytes of a call, names tried for its directory. */
#define FILES_DIR_BYTES_MAX (256 * MEBIBYTE)
#define FILES_DIR_ATTEMPTS_MAX 100
/* Links to files in a result. */
#define FILE_LINKS_MAX 8

/* The notes of a result: the line of files, a name in it, and the lines about hidden images. */
#define NOTES_FILES_MAX (4 * KIBIBYTE)
#define NOTES_COMPILER_MAX (2 * KIBIBYTE)
#define NOTES_NAME_MAX 200
#define NOTES_IMAGES_MAX 8

/*
 * Changes to a folder of the host, worked out by a program of its own. Names read in the folder and in
 * the upper layer, nested directories, a path relative to the folder with its NUL.
 */
#define CHANGES_NAMES_MAX 100000
#define CHANGES_DEPTH_MAX 128
#define CHANGES_PATH_SIZE 4096
/* Contents: of one file, before and after each; of all; changed files; the patch, kept as a file. */
#define CHANGES_FILE_MAX (8 * MEBIBYTE)
#define CHANGES_READ_MAX (64 * MEBIBYTE)
#define CHANGES_COUNT_MAX 10000
#define CHANGES_PATCH_MAX KEPT_FILE_MAX
/* A text with more lines is carried like a binary file: to compare bad ones of this size takes 2 s. */
#define CHANGES_LINES_MAX 100000
/* The report: files in it, files not carried by the patch, bytes of both kinds' paths, of all. */
#define CHANGES_TOLD_MAX 512
#define CHANGES_LEFT_OUT_MAX 128
#define CHANGES_TOLD_PATHS_MAX (64 * KIBIBYTE)
#define CHANGES_REPORT_MAX (768 * KIBIBYTE)
#define CHANGES_REASON_SIZE 160
#define CHANGES_VERSION_SIZE 56
/*
 * The program: reading and comparing each leave out the rest after so much time of the processor or of the clock;
 * its processor time, the time after which the server kills it, its address space.
 */
#define CHANGES_STEP_CPU_MS 4000
#define CHANGES_STEP_WALL_MS 20000
#define CHANGES_CPU_MAX_S 10
#define CHANGES_WALL_MAX_MS 60000
#define CHANGES_MEMORY_MAX GIBIBYTE
/* How many of them at once. While more results wait for one, no run begins. */
#define CHANGES_PROGRAMS_MAX 2
/* In the notes of a result: lines of changes, of files left out, bytes of the patch. */
#define NOTES_CHANGES_MAX 32
#define NOTES_LEFT_OUT_MAX 8
#define NOTES_PATCH_MAX (8 * KIBIBYTE)

/* Upper limit of --parallel. */
#define PARALLEL_MAX 256
#define WARM_DEFAULT 2
/* A configuration file. */
#define CONFIGURATION_MAX (64 * KIBIBYTE)
/* An environment file. */
#define ENVIRONMENT_FILE_MAX (256 * KIBIBYTE)
#define ENVIRONMENT_FILES_MAX 64
/* Variables for snippets: their number, a name, NAME=VALUE (MAX_ARG_STRLEN of execve(2)), the sum. */
#define ENVIRONMENT_COUNT_MAX 256
#define ENVIRONMENT_NAME_MAX 255
#define ENVIRONMENT_TEXT_MAX (128 * KIBIBYTE - 1)
#define ENVIRONMENT_BYTES_MAX MEBIBYTE
/* A seccomp profile. */
#define PROFILE_MAX MEBIBYTE

/*
 * Sessions: alive at once (--sessions), how long one may go without a call (--session-idle) and last in all, how
 * many ended ones are remembered, letters of a handle. Over stdio nobody else can name one: 30 bits
 * need only be unlikely to be hit by mistake.
 */
#define SESSIONS_MAX 64
#define SESSIONS_DEFAULT 4
#define SESSION_CHECKPOINTS_DEFAULT 8
#define FUNCTION_CALLS_DEFAULT 256
#define FUNCTION_DEFAULT_MS (60 * 1000)
#define SESSION_IDLE_DEFAULT_MS (20 * 60 * 1000)
#define SESSION_LIFE_MAX_MS INT64_C(43200000)
#define SESSIONS_REMEMBERED_MAX 64
#define SESSIONS_SWEEP_MS 5000
#define SESSION_HANDLE_LETTERS 6

/*
 * Commands of sessions: output is told as it comes while the client has no more than this unread; bytes for stdin in one
 * request.
 */
#define EXEC_UNSENT_MAX MEBIBYTE
#define EXEC_STDIN_MAX COMMAND_STDIN_MAX

/*
 * HTTP: connections (the descriptors may allow fewer), the head of a request, all requests until they are answered,
 * all answers until they are taken, the time of a connection for each, what a client has not read of a
 * stream, and of that in one turn.
 */
#define HTTP_CONNECTIONS_MAX 4096
#define HTTP_HEAD_MAX (32 * KIBIBYTE)
#define HTTP_REQUESTS_MAX (256 * MEBIBYTE)
#define HTTP_ANSWERS_MAX (128 * MEBIBYTE)
#define HTTP_STEP_MAX_MS 30000
#define HTTP_STREAM_MAX                                                                            \
    (OUTPUT_PAUSE + 2 * LINE_OUT_MAX) /* up to there, calls; one more; the answer */
#define HTTP_STREAM_BLOCK (32 * KIBIBYTE)
/*
 * Sessions of MCP, and how long one may be left alone; files in an answer of /run_code, and names in its
 * "fetch_files".
 */
#define HTTP_SESSIONS_MAX 1024
#define HTTP_SESSION_IDLE_MS (30 * 60 * 1000)
#define HTTP_FILES_MAX (8 * MEBIBYTE)
#define HTTP_FILES_NAMED_MAX 1024

/*
 * How long the server waits at its end for the client to read its answers; and after the end of its input, where it
 * answers what it was asked, for a client that has answers to read and reads none.
 */
#define FLUSH_MAX_MS 1000
#define UNREAD_MAX_MS 10000

#endif
