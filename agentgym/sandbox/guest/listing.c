/* The entries of a folder, unsorted, some to a frame. */
#include "archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct listing {
    struct job job;
    DIR *folder;
    struct identity identity; /* a copy: what `find_user` returns does not stay */
    uint64_t count;
};

/* Fill a frame. Return its size; `*error` is 0, an errno, or -1 at the end of the folder. */
static size_t fill(struct listing *listing, unsigned char *room, int *error) {
    size_t size = 0;
    *error = 0;
    while (size + ENTRY_SIZE <= MAX_CHUNK && !*error) {
        errno = 0;
        struct dirent *entry = readdir(listing->folder);
        if (!entry) {
            *error = errno ? errno : -1;
        } else if (!is_dots(entry->d_name)) {
            size_t more = put_entry(room + size, dirfd(listing->folder), entry->d_name,
                                    entry->d_name);
            size += more;
            listing->count += more > 0;
            if (!more && errno != ENOENT) /* it has just been removed */
                *error = errno;
        }
    }
    return size;
}

static void step(struct job *job) {
    struct listing *listing = (struct listing *)job;
    int error;
    if (!act_as(&listing->identity)) {
        job_fail(job, SYSTEM, errno);
        return;
    }
    size_t size = fill(listing, frame_room(MAX_CHUNK), &error);
    act_as_guest();
    if (size)
        frame_send(DATA, job->id, size);
    if (error > 0) {
        job_fail(job, SYSTEM, error);
    } else if (error < 0) {
        send_ok(job->id, listing->count);
        job_end(job);
    }
}

static void release(struct job *job) {
    closedir(((struct listing *)job)->folder);
}

static const struct job_type type = {.step = step, .release = release, .cancellable = true};

void list_request(uint32_t id, struct fields *fields) {
    const char *user = take_string(fields), *path = take_path(fields);
    take_end(fields);
    if (!act_for(id, user))
        return;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    int error = fd < 0 ? errno : is_own(fd) ? EACCES : 0;
    DIR *folder = error ? NULL : fdopendir(fd);
    act_as_guest();
    if (!folder) {
        if (fd >= 0)
            close(fd);
        send_fail(id, SYSTEM, error ? error : ENOMEM);
        return;
    }
    struct listing *listing = allocate(sizeof *listing);
    listing->folder = folder;
    listing->identity = *find_user(user);
    job_begin(&listing->job, &type, id);
    if (output_has_room())
        step(&listing->job);
}
