/* Which part answers which request. */
#include "guest.h"

static void cancel_request(uint32_t id, struct fields *fields) {
    uint32_t target = take_u32(fields);
    take_end(fields);
    job_cancel(target);
    send_ok(id, 0);
}

static void ping_request(uint32_t id, struct fields *fields) {
    take_end(fields);
    send_ok(id, 0);
}

static void (*const requests[])(uint32_t id, struct fields *fields) = {
    [PING] = ping_request,         [EXEC] = exec_request,         [SIGNAL] = signal_request,
    [KILL_ALL] = kill_all_request, [READ] = read_request,         [WRITE] = write_request,
    [STAT] = stat_request,         [LIST] = list_request,         [MAKE_DIR] = make_dir_request,
    [REMOVE] = remove_request,     [PACK] = pack_request,         [UNPACK] = unpack_request,
    [CANCEL] = cancel_request,     [LISTEN] = listen_request,
};

/* What is said to a job that has just ended crosses with its end, so it is not an error. */
static void handle_input(uint32_t id, const unsigned char *payload, size_t size) {
    struct job *job = job_find(id);
    if (job && job->type->input)
        job->type->input(job, payload, size);
}

void handle_frame(uint8_t kind, uint32_t id, unsigned char *payload, size_t size) {
    if (kind == INPUT) {
        handle_input(id, payload, size);
        return;
    }
    if (kind == STREAM || kind == RESET || kind == WINDOW) {
        stream_frame(kind, id, payload, size);
        return;
    }
    if (kind >= sizeof requests / sizeof *requests || !requests[kind])
        die(BAD_FRAME, "a frame of an unknown kind");
    if (job_find(id))
        die(BAD_FRAME, "a request under an id in use");
    requests[kind](id, &(struct fields){payload, payload + size});
}
