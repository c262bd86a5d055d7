/*
 * What the handlers of requests share, whoever sent them.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_CONTEXT_H
#define MCP_TOOLS_CONTEXT_H

#include "interpreter/checker.h"
#include "interpreter/files/files_dir.h"
#include "interpreter/files/kept_files.h"
#include "interpreter/folders/patch_queue.h"
#include "interpreter/launcher.h"
#include "interpreter/metrics/metrics_file.h"
#include "interpreter/result/outputs.h"
#include "interpreter/session_table.h"
#include "interpreter/settings/settings.h"
#include "mcp/base/client.h"
#include "mcp/base/open_requests.h"
#include "sandbox/base/loop.h"

#include <stdbool.h>

struct context {
    struct loop loop;
    const struct settings *settings; /* borrowed */
    struct launcher launcher;
    struct checker checker; /* of --policy */
    struct metrics_file metrics; /* of --metrics-file */
    uint64_t call_count; /* ended runs; also the number of the newest call, for URIs */
    struct session_table sessions;
    struct outputs outputs;
    struct kept_files files;
    struct files_dir directory; /* of --files-dir */
    struct patch_queue patches;
    struct client *listener; /* borrowed: hears of changes; NULL: nobody does */
    struct open_requests requests;
    struct function_call
        *function_calls; /* that clients have not answered: extension/functions.h */
    uint64_t function_call_count; /* ever */
};

#endif
