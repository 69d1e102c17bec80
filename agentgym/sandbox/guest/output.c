/* What commands write, up to the limit; the rest is read and thrown away. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIECE (64u << 10)

static int nowhere = -1;

/* Throw away up to `most` bytes without copying them. */
static ssize_t discard(int fd, size_t most) {
    if (nowhere < 0)
        nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return splice(fd, NULL, nowhere, NULL, most, SPLICE_F_NONBLOCK);
}

/* Move at most `most` bytes on. Return what `read` would. */
static ssize_t move(struct output *output, size_t most) {
    struct command *command = output->command;
    uint64_t left = command->limit - output->kept;
    if (left == 0) {
        ssize_t size = discard(output->watch.fd, most);
        if (size > 0)
            command->exit_flags |= EXIT_TRUNCATED;
        return size;
    }
    most = most < PIECE ? most : PIECE;
    most = most < left ? most : (size_t)left;
    ssize_t size = read(output->watch.fd, frame_room(most), most);
    if (size > 0) {
        frame_send(output->kind, command->job.id, (size_t)size);
        output->kept += (uint64_t)size;
    }
    return size;
}

/* Move on what the pipe holds now and no more: who still holds its other end may write for ever. */
static void drain(struct output *output) {
    int held = 0;
    if (output->watch.fd < 0 || ioctl(output->watch.fd, FIONREAD, &held) < 0)
        return;
    while (held > 0) {
        ssize_t size = move(output, (size_t)held);
        if (size <= 0)
            return;
        held -= (int)size;
    }
}

/* A piece on the control stream comes after all that was written before it. With it the limit
 * starts anew: it marks the end of one command of many in a persistent shell. */
static void drain_others(struct output *control) {
    struct output *outputs = control->command->outputs;
    drain(&outputs[0]);
    drain(&outputs[1]);
    outputs[0].kept = outputs[1].kept = control->kept = 0;
}

static void output_ready(struct watch *watch, uint32_t events) {
    struct output *output = (struct output *)watch;
    (void)events;
    if (output->kind == CONTROL)
        drain_others(output);
    ssize_t size = move(output, output->command->limit == output->kept ? 16 * PIECE : PIECE);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        watch_close(watch);
}

void output_open(struct output *output, struct command *command, enum kind kind, int fd) {
    *output = (struct output){
        .watch = {.fd = fd, .set = BULK_SET, .ready = output_ready},
        .command = command,
        .kind = kind,
    };
    if (fd >= 0)
        watch_change(&output->watch, EPOLLIN);
}

/* Take what is left when the command has ended. */
void output_finish(struct output *output) {
    drain(output);
    watch_close(&output->watch);
}
