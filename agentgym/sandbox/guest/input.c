/* A command's standard input: what the host sends, as fast as the command takes it. */
#include "guest.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define NOTICE (WINDOW_BYTES / 4) /* how much is passed on before the host is told so */

/* Let the host send as much as has been passed on, or thrown away. */
static void allow(struct input *input, size_t size) {
    input->passed += (uint32_t)size;
    if (input->passed < NOTICE)
        return;
    put_u32(frame_room(4), input->passed);
    frame_send(WINDOW, input->id, 4);
    input->passed = 0;
}

void input_close(struct input *input) {
    watch_close(&input->watch);
    buffer_free(&input->waiting);
}

/* Nobody reads any more. */
static void give_up(struct input *input) {
    allow(input, buffer_size(&input->waiting));
    input_close(input);
}

static void pass_on(struct input *input) {
    struct buffer *waiting = &input->waiting;
    while (buffer_size(waiting)) {
        ssize_t size = write(input->watch.fd, waiting->data + waiting->start, buffer_size(waiting));
        if (size < 0 && errno == EAGAIN)
            return;
        if (size < 0) {
            give_up(input);
            return;
        }
        waiting->start += (size_t)size;
        allow(input, (size_t)size);
    }
    if (input->ended)
        input_close(input);
}

static void input_ready(struct watch *watch, uint32_t events) {
    struct input *input = (struct input *)watch;
    if (events & EPOLLERR)
        give_up(input);
    else
        pass_on(input);
    if (input->watch.fd >= 0 && buffer_size(&input->waiting) == 0)
        watch_change(watch, 0); /* to learn only that nobody reads any more */
}

void input_open(struct input *input, uint32_t id, int fd) {
    *input = (struct input){.watch = {.fd = fd, .ready = input_ready}, .id = id};
    if (fd >= 0)
        watch_change(&input->watch, 0);
}

/* Take a piece of input; an empty one ends it. */
void input_add(struct input *input, const unsigned char *data, size_t size) {
    if (buffer_size(&input->waiting) + size > WINDOW_BYTES)
        die(BAD_FRAME, "more input than was allowed");
    if (input->watch.fd < 0 || input->ended) {
        allow(input, size);
        return;
    }
    bool idle = buffer_size(&input->waiting) == 0;
    input->ended = size == 0;
    buffer_add(&input->waiting, data, size);
    if (idle)
        pass_on(input);
    if (idle && input->watch.fd >= 0 && buffer_size(&input->waiting))
        watch_change(&input->watch, EPOLLOUT);
}
