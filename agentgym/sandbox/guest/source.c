/* The content of a file that goes into an archive, read piece by piece. */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int look(const struct source *source, struct stat *status) {
    if (source->file < 0 || fstat(source->file, status) < 0)
        return errno;
    if (!S_ISREG(status->st_mode))
        return ENOENT; /* the file has just made way for something else */
    return is_own(source->file) ? EACCES : 0;
}

/* Open what a folder holds under a name. Return 0 or an errno. */
int source_open(struct source *source, int folder, const char *name, struct stat *status) {
    source->file = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    int error = look(source, status);
    if (error)
        source_close(source);
    return error;
}

/* Find out what of it is data. */
int source_map(struct source *source, const struct stat *status) {
    uint64_t size = (uint64_t)status->st_size;
    source->part = source->part_done = 0;
    if ((uint64_t)status->st_blocks * TAR_BLOCK < size)
        return map_file(&source->map, source->file, size);
    map_whole(&source->map, size);
    return 0;
}

/* Add a piece of it to an archive, or its padding at the end, when it is closed. A file that has
 * become shorter is filled up with zeros. Return 0 or an errno. */
int source_copy(struct source *source, struct buffer *archive) {
    if (source->part == source->map.count) {
        tar_pad(archive, source->map.stored);
        source_close(source);
        return 0;
    }
    const struct part *part = source->map.parts + source->part;
    uint64_t left = part->size - source->part_done;
    size_t most = left < MAX_CHUNK ? (size_t)left : MAX_CHUNK;
    unsigned char *room = buffer_room(archive, most);
    ssize_t size = pread(source->file, room, most, (off_t)(part->offset + source->part_done));
    if (size < 0)
        return errno;
    if (size == 0)
        memset(room, 0, most);
    most = size ? (size_t)size : most;
    archive->end += most;
    source->part_done += most;
    if (source->part_done == part->size) {
        source->part++;
        source->part_done = 0;
    }
    return 0;
}

void source_close(struct source *source) {
    if (source->file >= 0)
        close(source->file);
    source->file = -1;
    map_clear(&source->map);
}
