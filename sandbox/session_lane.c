#include "sandbox/session_lane.h"

#include "sandbox/base/owned.h"
#include "sandbox/call_functions.h"
#include "sandbox/jail/child/jail_session.h"
#include "sandbox/jail/rootfs.h"
#include "sandbox/jail/text_list.h"
#include "sandbox/program_text.h"
#include "sandbox/session_calls.h"

#include <stdlib.h>

_Static_assert(SESSION_LANES_MAX == JAIL_LANES_MAX, "init has room for all");
_Static_assert(SESSION_LANES_MAX + 1 == PROC_USAGE_MEMORIES_MAX,
               "code of each, and stdin, are counted");

/* The program, what the home directory has for it, and the directory for its packages. */
#define START_FILES_BESIDE 2

static void files_release(struct run_input **files)
{
    free(*files);
}

static int make_start(struct session_lane *lane, const struct run_spec *spec)
{
    const struct jail_plan *jail = plan_jail(lane->plan);
    OWNED(text_list_release) struct text_list names = {0};
    OWNED(files_release)
    struct run_input *files = calloc(jail->home_file_count + START_FILES_BESIDE, sizeof(*files));
    size_t count = 0;
    if (files == NULL)
        return -ENOMEM;
    if (lane->kind == SESSION_LIVE)
        files[count++] = (struct run_input){jail->code_name, spec->code, spec->code_length};
    for (size_t i = 0; i < jail->home_file_count; i++) {
        const struct plan_file *file = &jail->home_files[i];
        files[count++] = (struct run_input){text_list_add(&names, "/%s", file->path), file->bytes,
                                            file->length, file->is_executable != 0};
    }
    if (jail->packages != NULL)
        files[count++] = (struct run_input){text_list_add(&names, "%s/", jail->packages), NULL, 0};
    for (size_t i = 0; i < count; i++)
        if (files[i].name == NULL)
            return -ENOMEM;
    const struct run_spec parcel = {.inputs = files, .input_count = count};
    return parcel_make(&parcel, &lane->start);
}

static struct session_lane lane_of(struct session *session, const struct session_spec *spec)
{
    return (struct session_lane){
        .number = (unsigned)session->lane_count,
        .session = session,
        .kind = spec->run.session,
        .interrupted_by_frame = spec->interrupted_by_frame,
        .checkpoints = spec->run.session == SESSION_LIVE ? spec->checkpoints : 0,
        .text_fd = -1,
        .channels = SESSION_CHANNELS_NONE,
        .channel = {.fd = -1, .ready = session->lanes[0].channel.ready},
    };
}

void session_lane_make_first(struct session *session, const struct session_spec *spec,
                             void (*on_frame)(struct loop_watch *watch, uint32_t events))
{
    session->lanes[0] = lane_of(session, spec);
    session->lanes[0].channel.ready = on_frame;
    session->lane_count = 1;
}

int session_add_lane(struct session *session, const struct session_spec *spec, struct plan *plan,
                     unsigned *ret_lane)
{
    if (session->lane_count == SESSION_LANES_MAX)
        return -EMFILE;
    struct session_lane *lane = &session->lanes[session->lane_count];
    *lane = lane_of(session, spec);
    lane->plan = plan;
    int r = make_start(lane, &spec->run);
    if (r == 0 && spec->run.has_calls &&
        !session_calls_add_lane(session->calls, lane->number, spec->calls_program,
                                spec->calls_program_length))
        r = -ENOMEM;
    if (r < 0) {
        parcel_release(&lane->start);
        return r;
    }
    *ret_lane = lane->number;
    session->lane_count++;
    return 0;
}

struct session_lane *session_lane_of(struct session *session)
{
    return &session->lanes[session->cells->lane];
}

bool session_has_live_program(const struct session *session)
{
    for (size_t i = 0; i < session->lane_count; i++)
        if (session->lanes[i].kind == SESSION_LIVE && session->lanes[i].is_ready)
            return true;
    return false;
}

const struct jail_plan *session_lane_plan(const struct session_lane *lane)
{
    return plan_jail(lane->plan != NULL ? lane->plan : lane->session->run->design.plan);
}

static struct limited_sandbox *limited_of(const struct session_lane *lane)
{
    return &lane->session->run->attempt.limited;
}

struct session_link session_lane_link(const struct session_lane *lane)
{
    const struct sandbox *sandbox = &limited_of(lane)->sandbox;
    return (struct session_link){sandbox, lane->number > 0 ? &lane->channels : &sandbox->session,
                                 lane->number};
}

int session_lane_watch(struct session_lane *lane)
{
    const struct session_channels *channels = session_lane_link(lane).channels;
    session_calls_begin(lane->session->calls, lane->number, channels);
    if (lane->kind == SESSION_FRESH)
        return 0;
    limited_of(lane)->limiter.by_polling.usage.memory_fds[lane->number] = channels->cells[0];
    return loop_watch(lane->session->host->loop, &lane->channel, channels->answers[0], EPOLLIN);
}

int session_lane_receive(const struct session_lane *lane, struct frame *ret_frame)
{
    return session_link_receive(session_lane_link(lane).channels, ret_frame);
}

/* Of the files that a copy of the program may keep in memory, which counts for the session; 0: there are no copies. */
static uint32_t kept_kib(const struct session_lane *lane)
{
    if (lane->checkpoints == 0)
        return 0;
    uint64_t part = lane->session->run->design.limits.memory_bytes / CHECKPOINT_FILES_PART;
    return (uint32_t)((part < CHECKPOINT_FILES_MAX ? part : CHECKPOINT_FILES_MAX) / KIBIBYTE);
}

int session_lane_run(const struct session_lane *lane, uint32_t cell, const struct parcel *parcel)
{
    const struct session_link link = session_lane_link(lane);
    const struct session_calls *calls = lane->session->calls;
    bool has_calls = session_calls_have_lane(calls, lane->number);
    const struct session_link_cell told = {
        .number = cell,
        .code = parcel->bytes,
        .length = parcel->code_length,
        .functions = has_calls ? &session_calls_functions(calls)->json : NULL,
        .kept_kib = kept_kib(lane),
    };
    return session_link_run(&link, &told);
}

int session_lane_interrupt(const struct session_lane *lane, uint32_t cell)
{
    const struct session_link link = session_lane_link(lane);
    return lane->kind == SESSION_LIVE
               ? session_link_interrupt(&link, cell, lane->interrupted_by_frame)
               : session_link_say(&link, WORD_INTERRUPT);
}

int session_lane_insist(const struct session_lane *lane)
{
    const struct session_link link = session_lane_link(lane);
    return session_link_say(&link, WORD_INSIST);
}

int session_lane_pause(const struct session_lane *lane)
{
    const struct session_link link = session_lane_link(lane);
    return lane->kind == SESSION_LIVE ? session_link_pause(&link)
                                      : session_link_say(&link, WORD_PAUSE);
}

/* Its program, arguments and variables, as they are in the jail. */
static int make_text(struct session_lane *lane, struct fault *fault)
{
    const char *root = limited_of(lane)->root != NULL ? limited_of(lane)->root->path : NULL;
    struct jail_plan jail = *plan_jail(lane->plan);
    int r = 0;
    if (jail.base == BASE_HOST && root != NULL) {
        lane->relocation = calloc(1, sizeof(*lane->relocation));
        if (lane->relocation == NULL)
            return fault_set(fault, ENOMEM, "out of memory for a program of a session");
        r = relocation_place(lane->relocation, root, &jail, fault);
        if (r == 0)
            r = relocation_start(lane->relocation, root, &jail, fault);
    }
    const struct text_spec text = {
        .path = JAIL_PATH,
        .argv = (const char *const *)jail.argv,
        .environment = (const char *const *)jail.environment,
        .has_no_others = true,
    };
    return r < 0 ? r : program_text_make(&text, &lane->text_fd, fault);
}

static int open_channels(struct session_lane *lane, struct fault *fault)
{
    bool has_calls = session_calls_have_lane(lane->session->calls, lane->number);
    int r = 0;
    if (lane->kind == SESSION_LIVE)
        r = session_channels_open_lane(&lane->channels, &limited_of(lane)->map);
    if (r == 0 && has_calls)
        r = session_channels_open_calls(&lane->channels);
    return r < 0 ? fault_set(fault, -r, "cannot make the pipes of a program of a session: %m") : 0;
}

int session_lane_start(struct session_lane *lane, struct fault *fault)
{
    struct limited_sandbox *limited = limited_of(lane);
    struct sandbox *sandbox = &limited->sandbox;
    int r = make_text(lane, fault);
    if (r == 0)
        r = open_channels(lane, fault);
    int fds[LANE_FDS_CALLING] = {
        lane->text_fd,           sandbox->session.input[1], lane->channels.channel[1],
        lane->channels.cells[1], lane->channels.answers[1], lane->channels.results[1],
        lane->channels.calls[1],
    };
    size_t fd_count = lane->channels.calls[1] >= 0 ? LANE_FDS_CALLING : LANE_FDS_LIVE;
    const struct lane_feed feed = {lane->number, fds, lane->kind == SESSION_LIVE ? fd_count : 0};
    if (r == 0)
        r = sandbox_feed_lane(sandbox, &lane->start, &feed, fault);
    if (lane->kind == SESSION_LIVE) /* else each of its programs gets them */
        lane->channels = session_channels_take(&lane->channels);
    return r;
}

void session_lane_reset(struct session_lane *lane)
{
    if (lane->relocation != NULL)
        relocation_release(lane->relocation);
    free(lane->relocation);
    lane->relocation = NULL;
    fd_close(&lane->text_fd);
    session_channels_close(&lane->channels);
}

int session_lane_feed(const struct session_lane *lane, const struct parcel *parcel,
                      struct fault *fault)
{
    struct limited_sandbox *limited = limited_of(lane);
    int fds[LANE_FDS_FRESH_CALLING] = {lane->text_fd, limited->sandbox.session.input[1],
                                       lane->channels.results[1], lane->channels.calls[1]};
    size_t fd_count = lane->channels.calls[1] >= 0 ? LANE_FDS_FRESH_CALLING : LANE_FDS_FRESH;
    const struct lane_feed feed = {lane->number, fds,
                                   lane->number > 0 && lane->kind == SESSION_FRESH ? fd_count : 0};
    return sandbox_feed_lane(&limited->sandbox, parcel, &feed, fault);
}

void session_lanes_unwatch(struct session *session)
{
    session_calls_stop(session->calls);
    for (size_t i = 0; i < session->lane_count; i++)
        loop_unwatch(session->host->loop, &session->lanes[i].channel);
}

void session_lanes_release(struct session *session)
{
    session_lanes_unwatch(session);
    for (size_t i = 0; i < session->lane_count; i++) {
        struct session_lane *lane = &session->lanes[i];
        session_lane_reset(lane);
        plan_free(lane->plan);
        parcel_release(&lane->start);
    }
}
