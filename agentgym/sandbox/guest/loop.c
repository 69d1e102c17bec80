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
#define CLOGGED_MS 20 /* how soon to look whether commands take their input */

static int sets[2] = {-1, -1};
static bool bulk_rests, clogged;
static struct watch bulk_watch;
static void **garbage;
static size_t garbage_count, garbage_capacity;

uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void control(const struct watch *watch, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = (void *)watch};
    if (epoll_ctl(sets[watch->source], operation, watch->fd, &event) < 0)
        die(BROKEN, "epoll_ctl");
}

void watch_add(struct watch *watch, uint32_t events) {
    control(watch, EPOLL_CTL_ADD, events);
}

void watch_change(struct watch *watch, uint32_t events) {
    control(watch, EPOLL_CTL_MOD, events);
}

/* Closing alone would not do: a child between fork and exec still holds the file. */
void watch_close(struct watch *watch) {
    if (watch->fd < 0)
        return;
    control(watch, EPOLL_CTL_DEL, 0);
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
    bulk_watch = (struct watch){.fd = sets[BULK_SOURCE], .ready = bulk_ready};
    watch_add(&bulk_watch, EPOLLIN);
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
    uint64_t next = commands_next_us(), now = next == UINT64_MAX ? 0 : now_us();
    uint64_t wait = next <= now ? 0 : (next - now + 999) / 1000;
    if (clogged && wait > CLOGGED_MS)
        return CLOGGED_MS;
    if (next == UINT64_MAX)
        return -1;
    return wait > 60000 ? 60000 : (int)wait;
}

void loop_run(void) {
    bool producing = false;
    for (;;) {
        dispatch(sets[CONTROL_SOURCE], timeout_ms(producing));
        if (commands) {
            uint64_t now = now_us();
            commands_tick(now);
            clogged = inputs_clogged(now);
        }
        connection_rest(clogged && commands);
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
