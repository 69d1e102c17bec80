/* The loop: what is ready, what is due, what has output to produce; then write to the host.
 *
 * Sources that produce output sit in an epoll set of their own inside the main one, so that one
 * change rests them all while the host does not take what there is.
 */
#include "guest.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64

static int sets[2] = {-1, -1};
static bool bulk_rests;
static struct watch bulk_watch;
static void **garbage;
static size_t garbage_count, garbage_capacity;

uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void control(struct watch *watch, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(sets[watch->set], operation, watch->fd, &event) < 0)
        die(BROKEN, "epoll_ctl");
    watch->watched = operation != EPOLL_CTL_DEL;
}

/* Watch for events. Errors and hanging up are reported even where none is asked for. */
void watch_change(struct watch *watch, uint32_t events) {
    control(watch, watch->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, events);
}

void watch_rest(struct watch *watch) {
    if (watch->watched)
        control(watch, EPOLL_CTL_DEL, 0);
}

/* Closing alone would not do: a child between fork and exec still holds the file. */
void watch_close(struct watch *watch) {
    if (watch->fd < 0)
        return;
    watch_rest(watch);
    close(watch->fd);
    watch->fd = -1;
}

/* Free memory that an event of the batch at hand may still point to. */
void free_later(void *memory) {
    garbage = grow_array(garbage, garbage_count, &garbage_capacity, sizeof *garbage);
    garbage[garbage_count++] = memory;
}

static void dispatch(int set, int timeout_ms) {
    struct epoll_event events[BATCH];
    int count = epoll_wait(set, events, BATCH, timeout_ms);
    if (count < 0 && errno != EINTR)
        die(BROKEN, "epoll_wait");
    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        if (watch->fd >= 0)
            watch->ready(watch, events[i].events);
    }
}

static void bulk_ready(struct watch *watch, uint32_t events) {
    (void)events;
    dispatch(watch->fd, 0);
}

void loop_open(void) {
    for (int set = 0; set < 2; set++) {
        sets[set] = epoll_create1(EPOLL_CLOEXEC);
        if (sets[set] < 0)
            die(BROKEN, "epoll_create1");
    }
    bulk_watch = (struct watch){.fd = sets[BULK_SET], .ready = bulk_ready};
    watch_change(&bulk_watch, EPOLLIN);
}

static void rest_bulk(bool rest) {
    if (rest == bulk_rests)
        return;
    bulk_rests = rest;
    watch_change(&bulk_watch, rest ? 0 : EPOLLIN);
}

static int timeout_ms(bool producing) {
    if (producing)
        return 0;
    uint64_t next = commands_next_us();
    if (next == UINT64_MAX)
        return -1;
    uint64_t now = now_us(), wait = next <= now ? 0 : (next - now + 999) / 1000;
    return wait > 60000 ? 60000 : (int)wait;
}

void loop_run(void) {
    bool producing = false;
    for (;;) {
        dispatch(sets[CONTROL_SET], timeout_ms(producing));
        if (commands)
            commands_tick(now_us());
        bool more = jobs_step();
        connection_flush();
        rest_bulk(!output_has_room());
        producing = more && output_has_room();
        if (jobs_none())
            connection_trim();
        while (garbage_count)
            free(garbage[--garbage_count]);
    }
}
