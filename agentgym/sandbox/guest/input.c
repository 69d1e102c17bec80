/* A command's standard input: what the host sends, as fast as the command takes it. */
#include "guest.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CLOGGED (4u << 20)
#define PATIENCE_US 100000u

void input_close(struct input *input) {
    watch_close(&input->watch);
    buffer_free(&input->waiting);
}

static void pass_on(struct input *input) {
    while (buffer_size(&input->waiting)) {
        struct buffer *waiting = &input->waiting;
        ssize_t size = write(input->watch.fd, waiting->data + waiting->start, buffer_size(waiting));
        if (size < 0 && errno == EAGAIN)
            return;
        if (size < 0) { /* it reads no more; what else comes is dropped */
            input_close(input);
            return;
        }
        waiting->start += (size_t)size;
        input->progress_us = now_us();
    }
    if (input->ended)
        input_close(input);
}

static void input_ready(struct watch *watch, uint32_t events) {
    struct input *input = (struct input *)watch;
    if (events & EPOLLERR)
        input_close(input);
    else
        pass_on(input);
    if (input->watch.fd >= 0 && buffer_size(&input->waiting) == 0)
        watch_change(&input->watch, 0);
}

void input_open(struct input *input, int fd) {
    input->watch = (struct watch){.fd = fd, .ready = input_ready};
    if (fd >= 0)
        watch_add(&input->watch, 0);
}

/* Take a piece of input; an empty one ends it. */
void input_add(struct input *input, const unsigned char *data, size_t size) {
    if (input->watch.fd < 0 || input->ended)
        return;
    input->ended = size == 0;
    bool idle = buffer_size(&input->waiting) == 0;
    if (idle)
        input->progress_us = now_us();
    buffer_add(&input->waiting, data, size);
    if (!idle)
        return;
    pass_on(input);
    if (input->watch.fd >= 0 && buffer_size(&input->waiting))
        watch_change(&input->watch, EPOLLOUT);
}

/* Whether so much input waits for commands that do take it that the host had better rest. One
 * that takes none must not keep the host from ending it, so its input is held in memory. */
bool inputs_clogged(uint64_t now) {
    for (struct command *command = commands; command; command = command->next) {
        const struct input *input = &command->input;
        if (input->watch.fd >= 0 && buffer_size(&input->waiting) > CLOGGED &&
            now < input->progress_us + PATIENCE_US)
            return true;
    }
    return false;
}
