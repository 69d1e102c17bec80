/* The content of files, out and in.
 *
 * A file is opened with its user's rights and without waiting, and nothing is read or cut off
 * before it has shown to be a regular one: a pipe would hang the guest, a device act on it.
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct content {
    struct job job;
    int fd;
    uint64_t offset; /* where reading goes on */
    uint64_t left;   /* bytes still to read */
    uint64_t size;   /* of the file when it was opened; bytes written so far */
};

static int open_regular(const char *path, int flags, struct stat *status) {
    int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int error = fstat(fd, status) < 0 ? errno : 0;
    if (!error && S_ISREG(status->st_mode))
        error = is_own(fd) ? EACCES : 0;
    else if (!error)
        error = S_ISDIR(status->st_mode) ? EISDIR : ENXIO;
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

/* ENXIO is what opening a socket, or a pipe that nobody reads, answers. */
static void open_failed(uint32_t id, int error) {
    send_fail(id, error == ENXIO ? NOT_REGULAR : SYSTEM, error);
}

static struct content *begin(uint32_t id, const struct job_type *type, int fd) {
    struct content *content = allocate(sizeof *content);
    content->fd = fd;
    job_begin(&content->job, type, id);
    return content;
}

static void release(struct job *job) {
    close(((struct content *)job)->fd);
}

static void read_step(struct job *job) {
    struct content *content = (struct content *)job;
    size_t most = content->left < MAX_CHUNK ? (size_t)content->left : MAX_CHUNK;
    ssize_t size = most ? pread(content->fd, frame_room(most), most, (off_t)content->offset) : 0;
    if (size < 0) {
        job_fail(job, SYSTEM, errno);
        return;
    }
    if (size == 0) {
        send_ok(job->id, content->size);
        job_end(job);
        return;
    }
    frame_send(DATA, job->id, (size_t)size);
    content->offset += (uint64_t)size;
    content->left -= (uint64_t)size;
}

static const struct job_type reading = {
    .step = read_step, .release = release, .cancellable = true};

void read_request(uint32_t id, struct fields *fields) {
    const char *user = take_string(fields), *path = take_path(fields);
    uint64_t offset = take_u64(fields), limit = take_u64(fields);
    struct stat status;
    take_end(fields);
    if (!act_for(id, user))
        return;
    int fd = open_regular(path, O_RDONLY, &status);
    int error = errno;
    act_as_guest();
    if (fd < 0) {
        open_failed(id, error);
        return;
    }
    struct content *content = begin(id, &reading, fd);
    content->offset = offset > INT64_MAX ? INT64_MAX : offset;
    content->left = limit;
    content->size = (uint64_t)status.st_size;
    if (output_has_room()) /* a small file is answered in the turn that asked */
        read_step(&content->job);
}

static void write_input(struct job *job, const unsigned char *data, size_t size) {
    struct content *content = (struct content *)job;
    content->size += size;
    if (size == 0) {
        send_ok(job->id, content->size);
        job_end(job);
        return;
    }
    int error = write_all(content->fd, data, size);
    if (error)
        job_fail(job, SYSTEM, error);
}

static const struct job_type writing = {
    .input = write_input, .release = release, .cancellable = true};

/* Write it all. Return 0 or an errno. */
int write_all(int fd, const unsigned char *data, size_t size) {
    while (size) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

/* Who may write to a file but does not own it cannot set its mode: then it must be right. */
static bool prepare(int fd, const struct stat *status, mode_t mode) {
    bool right = (status->st_mode & 07777) == mode;
    return (right || fchmod(fd, mode) == 0) && ftruncate(fd, 0) == 0;
}

static int open_to_write(char *path, mode_t mode) {
    struct stat status;
    int fd = open_regular(path, O_WRONLY | O_CREAT, &status);
    if (fd < 0 && errno == ENOENT) {
        errno = make_parents(path);
        if (errno)
            return -1;
        fd = open_regular(path, O_WRONLY | O_CREAT, &status);
    }
    if (fd >= 0 && !prepare(fd, &status, mode)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

void write_request(uint32_t id, struct fields *fields) {
    const char *user = take_string(fields);
    char *path = take_path(fields);
    mode_t mode = take_u32(fields) & 07777;
    take_end(fields);
    if (!act_for(id, user))
        return;
    int fd = open_to_write(path, mode);
    int error = errno;
    act_as_guest();
    if (fd < 0)
        open_failed(id, error);
    else
        begin(id, &writing, fd);
}
