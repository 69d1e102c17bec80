/* PACK: folders as one tar archive, made piece by piece as the host takes it.
 *
 * The same content gives the same bytes: names are sorted, users are numbers.
 */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (4ull << 30)
#define MOST_TURNS 512 /* of `advance` in one step, so that others have their turn */

struct pack {
    struct job job;
    bool as_user; /* otherwise as the guest itself */
    struct identity identity;
    char **paths;
    size_t path_count, path_next;
    struct walk walk;
    struct buffer name;    /* of the folder at hand, without the first slash; no NUL */
    struct buffer archive; /* what is made and not sent yet */
    struct links links;
    struct map map; /* of the file at hand */
    size_t part;
    uint64_t part_done, sent;
    int file; /* -1: none */
    bool ended;
};

/* Return the name of an entry of the folder at hand. */
static char *name_of(struct pack *pack, const char *entry, const char *suffix) {
    size_t above = buffer_size(&pack->name), size = strlen(entry);
    char *name = allocate(above + size + strlen(suffix) + 2);
    if (above)
        memcpy(name, pack->name.data + pack->name.start, above);
    if (above)
        name[above++] = '/';
    memcpy(name + above, entry, size);
    strcpy(name + above + size, suffix);
    return name;
}

static struct member describe(const struct stat *status, char type) {
    return (struct member){
        .target = "",
        .type = type,
        .metadata = {status->st_uid, status->st_gid, status->st_mode & 07777,
                     status->st_mtim.tv_sec},
    };
}

static int add_folder(struct pack *pack, const char *entry, int above) {
    struct stat status;
    int error;
    if (pack->walk.depth == 0) {
        int fd = openat(above, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        error = fd < 0 ? errno : walk_begin(&pack->walk, fd);
        pack->walk.one_device = true;
    } else {
        error = walk_down(&pack->walk, entry, O_RDONLY);
        if (error == EXDEV) /* what is mounted inside is no part of it */
            return 0;
    }
    if (!error && fstat(pack->walk.fd, &status) < 0)
        error = errno;
    if (error)
        return error;
    struct member member = describe(&status, TAR_FOLDER);
    member.name = name_of(pack, entry, "/");
    tar_put(&pack->archive, &member);
    pack->name.start = pack->name.end = 0;
    buffer_add(&pack->name, member.name, strlen(member.name) - 1);
    free(member.name);
    return walk_list(&pack->walk);
}

static int begin_content(struct pack *pack, const struct stat *status, struct member *member) {
    uint64_t size = (uint64_t)status->st_size;
    int error = 0;
    if ((uint64_t)status->st_blocks * 512 < size)
        error = map_file(&pack->map, pack->file, size);
    else
        map_whole(&pack->map, size);
    if (error)
        return error == EFBIG ? -TOO_LARGE : error;
    if (pack->map.stored > MOST_BYTES - pack->sent)
        return -TOO_LARGE;
    member->type = pack->map.stored < size ? TAR_SPARSE : TAR_FILE;
    member->map = &pack->map;
    member->size = pack->map.stored;
    pack->part = pack->part_done = 0;
    return 0;
}

static int add_file(struct pack *pack, const char *entry, int above, struct member *member) {
    struct stat status;
    pack->file = openat(above, entry, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (pack->file < 0)
        return errno;
    if (fstat(pack->file, &status) < 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return -NOT_REGULAR;
    if (is_own(pack->file))
        return EACCES;
    char *name = member->name;
    const char *first = NULL;
    if (status.st_nlink > 1)
        first = links_meet(&pack->links, status.st_dev, status.st_ino, name);
    *member = describe(&status, TAR_HARD);
    member->name = name;
    int error = 0;
    if (first) {
        member->target = (char *)first;
        close(pack->file);
        pack->file = -1;
    } else {
        error = begin_content(pack, &status, member);
    }
    if (!error)
        tar_put(&pack->archive, member);
    return error;
}

static int add_link(struct pack *pack, const char *entry, int above, struct member *member) {
    char target[PATH_MAX];
    ssize_t size = readlinkat(above, entry, target, sizeof target - 1);
    if (size < 0)
        return errno;
    target[size] = 0;
    member->target = target;
    tar_put(&pack->archive, member);
    return 0;
}

/* Add what a folder holds under a name. Return 0, an errno, or a fault below 0. */
static int add_entry(struct pack *pack, const char *entry, int above) {
    struct stat status;
    if (fstatat(above, entry, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return add_folder(pack, entry, above);
    struct member member = describe(&status, TAR_LINK);
    member.name = name_of(pack, entry, "");
    int error = 0;
    if (S_ISREG(status.st_mode)) {
        error = add_file(pack, entry, above, &member);
    } else if (S_ISLNK(status.st_mode)) {
        error = add_link(pack, entry, above, &member);
    } else if (S_ISFIFO(status.st_mode)) {
        member.type = TAR_PIPE;
        tar_put(&pack->archive, &member);
    } /* a socket is nothing without its process, and there are no devices */
    free(member.name);
    return error;
}

static int add_path(struct pack *pack, const char *path) {
    const char *last;
    int above = open_above(path, pack->as_user, &last);
    if (above < 0)
        return errno;
    pack->name.start = pack->name.end = 0;
    if (last - path > 1)
        buffer_add(&pack->name, path + 1, (size_t)(last - path) - 2);
    int error = !*last || is_dots(last) ? EINVAL : add_entry(pack, last, above);
    close(above);
    return error;
}

static int leave_folder(struct pack *pack) {
    if (pack->walk.depth == 1) {
        walk_end(&pack->walk);
        return 0;
    }
    pack->name.end -= strlen(walk_level(&pack->walk)->name) + 1;
    return walk_up(&pack->walk);
}

/* Copy a piece of the file at hand. One that has become shorter is filled up with zeros. */
static int add_content(struct pack *pack) {
    if (pack->part == pack->map.count) {
        tar_pad(&pack->archive, pack->map.stored);
        close(pack->file);
        pack->file = -1;
        return 0;
    }
    const struct part *part = pack->map.parts + pack->part;
    uint64_t left = part->size - pack->part_done;
    size_t most = left < MAX_CHUNK ? (size_t)left : MAX_CHUNK;
    unsigned char *room = buffer_room(&pack->archive, most);
    ssize_t size = pread(pack->file, room, most, (off_t)(part->offset + pack->part_done));
    if (size < 0)
        return errno;
    if (size == 0)
        memset(room, 0, most);
    most = size ? (size_t)size : most;
    pack->archive.end += most;
    pack->part_done += most;
    if (pack->part_done == part->size) {
        pack->part++;
        pack->part_done = 0;
    }
    return 0;
}

static int advance(struct pack *pack) {
    if (pack->file >= 0)
        return add_content(pack);
    if (pack->walk.depth) {
        const char *entry = walk_next(&pack->walk);
        int error = entry ? add_entry(pack, entry, pack->walk.fd) : leave_folder(pack);
        return entry && error == ENOENT ? 0 : error; /* it was removed meanwhile */
    }
    if (pack->path_next < pack->path_count)
        return add_path(pack, pack->paths[pack->path_next++]);
    static const unsigned char end[2 * TAR_BLOCK];
    buffer_add(&pack->archive, end, sizeof end);
    pack->ended = true;
    return 0;
}

static void send_piece(struct pack *pack) {
    struct buffer *archive = &pack->archive;
    size_t size = buffer_size(archive) < MAX_CHUNK ? buffer_size(archive) : MAX_CHUNK;
    if (size)
        send_frame(DATA, pack->job.id, archive->data + archive->start, size);
    archive->start += size;
    pack->sent += size;
}

static void step(struct job *job) {
    struct pack *pack = (struct pack *)job;
    int error = 0;
    if (pack->as_user && !act_as(&pack->identity)) {
        job_fail(job, SYSTEM, errno);
        return;
    }
    for (int turn = 0; turn < MOST_TURNS && !pack->ended && !error; turn++) {
        if (buffer_size(&pack->archive) >= MAX_CHUNK)
            break;
        error = pack->sent > MOST_BYTES ? -TOO_LARGE : advance(pack);
    }
    if (pack->as_user)
        act_as_guest();
    if (error) {
        job_fail(job, error < 0 ? (enum fault)-error : SYSTEM, error < 0 ? 0 : error);
        return;
    }
    send_piece(pack);
    if (pack->ended && buffer_size(&pack->archive) == 0) {
        send_ok(job->id, pack->sent);
        job_end(job);
    }
}

static void release(struct job *job) {
    struct pack *pack = (struct pack *)job;
    if (pack->file >= 0)
        close(pack->file);
    free_paths(pack->paths, pack->path_count);
    walk_end(&pack->walk);
    buffer_free(&pack->name);
    buffer_free(&pack->archive);
    links_free(&pack->links);
    map_clear(&pack->map);
}

static const struct job_type type = {.step = step, .release = release, .cancellable = true};

void pack_request(uint32_t id, struct fields *fields) {
    struct pack *pack = allocate(sizeof *pack);
    const char *user = take_string(fields);
    pack->paths = take_paths(fields, &pack->path_count);
    take_end(fields);
    pack->file = pack->walk.fd = -1;
    pack->as_user = *user;
    job_begin(&pack->job, &type, id);
    const struct identity *identity = find_user(user);
    if (identity)
        pack->identity = *identity;
    else
        job_fail(&pack->job, NO_USER, 0);
}
