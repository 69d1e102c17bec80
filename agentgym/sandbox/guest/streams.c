/* LISTEN: connections that commands make to a port inside, carried to the host and back.
 *
 * Neither side sends more than the other has allowed, so a slow end holds up its own connection
 * and nothing else. Whatever goes wrong with one resets it.
 */
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE (64u << 10)
#define MOST_STREAMS 1024u

struct listener {
    struct watch watch;
    uint32_t id;
};

struct stream {
    struct watch watch;
    struct stream *next;
    uint32_t id;
    struct buffer waiting; /* from the host, not taken yet */
    uint64_t window;       /* bytes the host still takes */
    uint32_t passed;       /* bytes passed on that the host does not know of yet */
    bool local_ended, host_ended;
};

static struct stream *streams;
static size_t stream_count;
static uint32_t next_id = FIRST_STREAM;
static int spare = -1; /* a descriptor in reserve */

static void stream_close(struct stream *stream) {
    struct stream **link = &streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    stream_count--;
    watch_close(&stream->watch);
    buffer_free(&stream->waiting);
    free_later(stream);
}

/* Close a connection so that its other end learns that it has failed, not that it is over. */
static void stream_break(struct stream *stream) {
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(stream->watch.fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    stream_close(stream);
}

static void stream_reset(struct stream *stream) {
    send_frame(RESET, stream->id, NULL, 0);
    stream_break(stream);
}

/* Watch for what there is a use for, or be done. */
static void stream_settle(struct stream *stream) {
    bool waits = buffer_size(&stream->waiting) > 0;
    if (stream->local_ended && stream->host_ended && !waits) {
        stream_close(stream);
        return;
    }
    uint32_t events = waits ? EPOLLOUT : 0;
    if (!stream->local_ended && stream->window > 0)
        events |= EPOLLIN;
    if (events)
        watch_change(&stream->watch, events);
    else
        watch_rest(&stream->watch); /* its end would be reported for ever */
}

/* Pass on what the host sent, as far as it is taken. Return whether the stream is in order. */
static bool write_local(struct stream *stream) {
    struct buffer *waiting = &stream->waiting;
    while (buffer_size(waiting)) {
        ssize_t size = send(stream->watch.fd, waiting->data + waiting->start, buffer_size(waiting),
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno == EAGAIN)
            break;
        if (size < 0)
            return false;
        waiting->start += (size_t)size;
        stream->passed += (uint32_t)size;
    }
    if (stream->passed >= PIECE) {
        put_u32(frame_room(4), stream->passed);
        frame_send(WINDOW, stream->id, 4);
        stream->passed = 0;
    }
    if (buffer_size(waiting) == 0 && stream->host_ended)
        shutdown(stream->watch.fd, SHUT_WR);
    return true;
}

static bool read_local(struct stream *stream) {
    size_t most = stream->window < PIECE ? (size_t)stream->window : PIECE;
    ssize_t size = recv(stream->watch.fd, frame_room(most), most, MSG_DONTWAIT);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR;
    frame_send(STREAM, stream->id, (size_t)size); /* an empty one is the end */
    stream->window -= (uint64_t)size;
    stream->local_ended = size == 0;
    return true;
}

static void stream_ready(struct watch *watch, uint32_t events) {
    struct stream *stream = (struct stream *)watch;
    bool fine = true;
    if (buffer_size(&stream->waiting))
        fine = write_local(stream);
    if (fine && (events & ~(uint32_t)EPOLLOUT) && !stream->local_ended && stream->window)
        fine = read_local(stream);
    if (fine)
        stream_settle(stream);
    else
        stream_reset(stream);
}

/* Accept a connection, or turn it away where there is no descriptor for it but the spare one:
 * while it waited it would wake the loop without end. */
static int accept_or_refuse(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && spare >= 0) {
        close(spare);
        close(accept(listener, NULL, NULL));
        spare = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    }
    return fd;
}

static void accept_ready(struct watch *watch, uint32_t events) {
    const struct listener *listener = (struct listener *)watch;
    (void)events;
    int one = 1, fd = accept_or_refuse(watch->fd);
    if (fd < 0)
        return;
    if (stream_count == MOST_STREAMS) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct stream *stream = allocate(sizeof *stream);
    stream->watch = (struct watch){.fd = fd, .set = BULK_SET, .ready = stream_ready};
    stream->id = next_id++ | FIRST_STREAM;
    stream->window = WINDOW_BYTES;
    stream->next = streams;
    streams = stream;
    stream_count++;
    put_u32(frame_room(4), stream->id);
    frame_send(ACCEPT, listener->id, 4);
    stream_settle(stream);
}

static int open_listener(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 128) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

void listen_request(uint32_t id, struct fields *fields) {
    uint16_t port = take_u16(fields);
    take_end(fields);
    int fd = open_listener(port);
    if (fd < 0) {
        send_fail(id, SYSTEM, errno);
        return;
    }
    if (spare < 0)
        spare = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct listener *listener = allocate(sizeof *listener); /* for good */
    listener->watch = (struct watch){.fd = fd, .set = BULK_SET, .ready = accept_ready};
    listener->id = id;
    watch_change(&listener->watch, EPOLLIN);
    send_ok(id, 0);
}

static void take_data(struct stream *stream, const unsigned char *payload, size_t size) {
    bool fine = !stream->host_ended && buffer_size(&stream->waiting) + size <= WINDOW_BYTES;
    stream->host_ended |= size == 0;
    buffer_add(&stream->waiting, payload, size);
    if (fine && write_local(stream))
        stream_settle(stream);
    else
        stream_reset(stream);
}

/* Take what the host sends for a stream. One that has just ended here is none any more. */
void stream_frame(uint8_t kind, uint32_t id, unsigned char *payload, size_t size) {
    struct stream *stream = streams;
    while (stream && stream->id != id)
        stream = stream->next;
    if (!stream)
        return;
    bool all_said = stream->host_ended && buffer_size(&stream->waiting) == 0;
    if (kind == RESET && all_said) {
        stream_close(stream); /* the other end may still be reading */
    } else if (kind == RESET) {
        stream_break(stream);
    } else if (kind == STREAM) {
        take_data(stream, payload, size);
    } else {
        struct fields fields = {payload, payload + size};
        stream->window += take_u32(&fields);
        stream_settle(stream);
    }
}
