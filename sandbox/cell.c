#include "sandbox/cell.h"

#include "sandbox/base/loop.h"
#include "sandbox/call_functions.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const struct cell *cell)
{
    const struct call_functions *functions = cell->functions;
    size_t of_functions =
        functions != NULL ? functions->json.length + functions->count * sizeof(*functions->names)
                          : 0;
    return cell->parcel.length + cell->stdin_length + of_functions;
}

void cell_free(struct cell *cell)
{
    if (cell->sum != NULL)
        *cell->sum -= bytes_of(cell);
    parcel_release(&cell->parcel);
    free(cell->stdin_bytes);
    call_functions_free(cell->functions);
    free(cell);
}

static int copy_stdin(const struct run_stdin *source, struct cell *cell)
{
    if (source->kind != STDIN_BYTES || source->length == 0)
        return 0;
    cell->stdin_bytes = malloc(source->length);
    if (cell->stdin_bytes == NULL)
        return -ENOMEM;
    memcpy(cell->stdin_bytes, source->bytes, source->length);
    cell->stdin_length = source->length;
    return 0;
}

static int copy_functions(const struct call_functions *functions, struct cell *cell)
{
    if (functions == NULL)
        return 0;
    cell->functions = call_functions_copy(functions);
    return cell->functions != NULL ? 0 : -ENOMEM;
}

/* With the code before the files. */
static int make_parcel(const struct run_spec *run, bool code_is_file, struct parcel *ret_parcel)
{
    if (!code_is_file)
        return parcel_make(run, ret_parcel);
    struct run_input *files = calloc(run->input_count + 1, sizeof(*files));
    if (files == NULL)
        return -ENOMEM;
    files[0] = (struct run_input){run->code_name, run->code, run->code_length};
    for (size_t i = 0; i < run->input_count; i++)
        files[i + 1] = run->inputs[i];
    const struct run_spec with_code = {.inputs = files, .input_count = run->input_count + 1};
    int r = parcel_make(&with_code, ret_parcel);
    free(files);
    return r;
}

int cell_new(const struct cell_spec *spec, const char *code_name, bool code_is_file,
             struct cell **ret_cell, struct fault *fault)
{
    const struct run_spec run = {
        .code = spec->code,
        .code_length = spec->code_length,
        .inputs = spec->inputs,
        .input_count = spec->input_count,
        .stdin_source = spec->stdin_source,
        .code_name = code_name,
    };
    int r = run_inputs_check_sizes(&run, fault);
    if (r < 0)
        return r;
    struct cell *cell = calloc(1, sizeof(*cell));
    if (cell == NULL)
        return fault_set(fault, ENOMEM, "out of memory for a call");
    if (make_parcel(&run, code_is_file, &cell->parcel) < 0 ||
        copy_stdin(&spec->stdin_source, cell) < 0 || copy_functions(spec->functions, cell) < 0) {
        cell_free(cell);
        return fault_set(fault, ENOMEM, "out of memory for a call");
    }
    cell->lane = spec->lane;
    cell->back_to = spec->back_to;
    cell->wall_ms = spec->wall_ms;
    cell->submitted_at = clock_now();
    *ret_cell = cell;
    return 0;
}

void cell_append(struct cell **queue, struct cell *cell, size_t *sum)
{
    cell->sum = sum;
    *sum += bytes_of(cell);
    while (*queue != NULL)
        queue = &(*queue)->next;
    *queue = cell;
}

struct run_observer cell_take(struct cell **queue)
{
    struct cell *cell = *queue;
    const struct run_observer observer = cell->observer;
    *queue = cell->next;
    cell_free(cell);
    return observer;
}

bool cell_fits(const struct cell *queue, const struct cell *cell, size_t sum, struct fault *fault)
{
    size_t count = 0;
    size_t bytes = bytes_of(cell);
    bool fits_all = sum + bytes <= CELLS_ALL_BYTES_MAX;
    for (; queue != NULL; queue = queue->next, count++)
        bytes += bytes_of(queue);
    if (count < CELLS_QUEUED_MAX && bytes <= CELLS_QUEUED_BYTES_MAX && fits_all)
        return true;
    fault_identify(fault, "queue_full");
    if (!fits_all)
        fault_set(
            fault, EAGAIN,
            "the calls of all sessions have more than %llu MiB of programs and files; try again "
            "when some have ended",
            (unsigned long long)(CELLS_ALL_BYTES_MAX / MEBIBYTE));
    else
        fault_set(fault, EAGAIN,
                  "%zu calls of this session are waiting already; try again when some have ended",
                  count);
    return false;
}

void cell_refuse_all(struct cell **queue)
{
    const struct fault fault = {.text = "the session ended before this call began"};
    while (*queue != NULL) {
        const struct run_observer observer = cell_take(queue);
        if (observer.done != NULL)
            observer.done(observer.data, -ESRCH, NULL, &fault);
    }
}
