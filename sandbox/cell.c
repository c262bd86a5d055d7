#include "sandbox/cell.h"

#include "sandbox/base/loop.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const struct cell *cell)
{
    return cell->parcel.length + cell->stdin_length;
}

void cell_free(struct cell *cell)
{
    if (cell->sum != NULL)
        *cell->sum -= bytes_of(cell);
    parcel_release(&cell->parcel);
    free(cell->stdin_bytes);
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

int cell_new(const struct cell_spec *spec, const char *code_name, struct cell **ret_cell,
             struct fault *fault)
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
    if (parcel_make(&run, &cell->parcel) < 0 || copy_stdin(&spec->stdin_source, cell) < 0) {
        cell_free(cell);
        return fault_set(fault, ENOMEM, "out of memory for a call");
    }
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
