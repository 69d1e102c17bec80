/* Jobs: the requests under way, by id. There are few at a time, so they are one list. */
#include "guest.h"

static struct job *first;

void job_begin(struct job *job, const struct job_type *type, uint32_t id) {
    job->type = type;
    job->id = id;
    job->next = first;
    first = job;
}

struct job *job_find(uint32_t id) {
    struct job *job = first;
    while (job && job->id != id)
        job = job->next;
    return job;
}

void job_end(struct job *job) {
    struct job **link = &first;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    job->type->release(job);
    free_later(job);
}

void job_fail(struct job *job, enum fault fault, int number) {
    send_fail(job->id, fault, number);
    job_end(job);
}

void job_cancel(uint32_t id) {
    struct job *job = job_find(id);
    if (job && job->type->cancellable)
        job_fail(job, CANCELLED, 0);
}

bool jobs_none(void) {
    return !first;
}

/* Let each job produce a piece, as long as the host takes them. Return whether there is more. A
 * step may end its own job and no other. */
bool jobs_step(void) {
    bool more = false;
    struct job *next;
    for (struct job *job = first; job; job = next) {
        next = job->next;
        more |= job->type->step != NULL;
        if (job->type->step && output_has_room())
            job->type->step(job);
    }
    return more;
}
