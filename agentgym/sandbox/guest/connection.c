/* The connection to the host: whole frames in, a queue of frames out. */
#include "guest.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define READ_SIZE (64u << 10)
#define OUTPUT_HIGH (1u << 20) /* above this nothing more is produced */

static struct watch host = {.fd = -1};
static struct buffer incoming, outgoing;
static bool awaits_room;

static uint32_t frame_size(const unsigned char *header) {
    struct fields fields = {(unsigned char *)header, (unsigned char *)header + HEADER_SIZE};
    uint32_t size = take_u32(&fields);
    if (size > MAX_PAYLOAD)
        die(BAD_FRAME, "a frame is too large");
    return size;
}

static void handle_frames(void) {
    while (buffer_size(&incoming) >= HEADER_SIZE) {
        unsigned char *header = incoming.data + incoming.start;
        uint32_t size = frame_size(header);
        if (buffer_size(&incoming) < HEADER_SIZE + size)
            return;
        struct fields fields = {header + 4, header + 8};
        incoming.start += HEADER_SIZE + size;
        handle_frame(header[8], take_u32(&fields), header + HEADER_SIZE, size);
    }
}

/* Room for the rest of the frame that has begun, so that a large one takes few reads. */
static size_t wanted(void) {
    size_t have = buffer_size(&incoming);
    if (have < HEADER_SIZE)
        return READ_SIZE;
    size_t missing = HEADER_SIZE + frame_size(incoming.data + incoming.start) - have;
    return missing > READ_SIZE ? missing : READ_SIZE;
}

static void host_readable(void) {
    unsigned char *room = buffer_room(&incoming, wanted());
    ssize_t size = recv(host.fd, room, incoming.capacity - incoming.end, MSG_DONTWAIT);
    if (size == 0)
        die(END_OF_HOST, NULL);
    if (size < 0) {
        if (errno != EAGAIN && errno != EINTR)
            die(END_OF_HOST, NULL);
        return;
    }
    incoming.end += (size_t)size;
    handle_frames();
}

static void host_ready(struct watch *watch, uint32_t events) {
    (void)watch;
    if (events & ~(uint32_t)EPOLLOUT)
        host_readable();
}

void connection_open(int fd) {
    host = (struct watch){.fd = fd, .ready = host_ready};
    watch_change(&host, EPOLLIN);
}

void connection_flush(void) {
    while (buffer_size(&outgoing)) {
        ssize_t size = send(host.fd, outgoing.data + outgoing.start, buffer_size(&outgoing),
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno != EAGAIN)
            die(END_OF_HOST, NULL);
        if (size < 0)
            break;
        outgoing.start += (size_t)size;
    }
    bool waits = buffer_size(&outgoing) > 0;
    if (waits != awaits_room)
        watch_change(&host, EPOLLIN | (waits ? EPOLLOUT : 0));
    awaits_room = waits;
}

void connection_trim(void) {
    buffer_trim(&incoming);
    buffer_trim(&outgoing);
}

bool output_has_room(void) {
    return buffer_size(&outgoing) < OUTPUT_HIGH;
}

/* Return where a payload of up to `size` bytes may be put; `frame_send` makes a frame of it. */
unsigned char *frame_room(size_t size) {
    return buffer_room(&outgoing, HEADER_SIZE + size) + HEADER_SIZE;
}

void frame_send(enum kind kind, uint32_t id, size_t size) {
    unsigned char *header = outgoing.data + outgoing.end;
    put_u32(header, (uint32_t)size);
    put_u32(header + 4, id);
    header[8] = (unsigned char)kind;
    outgoing.end += HEADER_SIZE + size;
}

void send_frame(enum kind kind, uint32_t id, const void *payload, size_t size) {
    unsigned char *room = frame_room(size);
    if (size)
        memcpy(room, payload, size);
    frame_send(kind, id, size);
}

void send_ok(uint32_t id, uint64_t value) {
    put_u64(frame_room(8), value);
    frame_send(OK, id, 8);
}

void send_fail(uint32_t id, enum fault fault, int number) {
    unsigned char *at = frame_room(8);
    put_u32(put_u32(at, fault), (uint32_t)number);
    frame_send(FAIL, id, 8);
}
