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

#define MOST_BYTES (1ull << 30)
#define LONGEST_NAME 16384u /* deep trees would have an archive of little but their names */
#define MOST_TURNS 512 /* of `advance` in one step, so that others have their turn */

struct pack {
    struct job job;
    bool as_user; /* otherwise as the guest itself */
    struct identity identity;
    char **paths;
    size_t path_count, path_next;
    struct walk walk;
    int top;               /* of the walk; -1: none */
    size_t top_name;       /* how long the top's name is */
    struct buffer name;    /* of the folder at hand, without the first slash; no NUL */
    struct buffer archive; /* what is made and not sent yet */
    struct links links;
    struct source file; /* at hand */
    uint64_t sent;
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
        pack->top = error ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
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
    if (pack->walk.depth == 1)
        pack->top_name = buffer_size(&pack->name);
    free(member.name);
    return walk_list(&pack->walk);
}

static int begin_content(struct pack *pack, const struct stat *status, struct member *member) {
    const struct map *map = &pack->file.map;
    int error = source_map(&pack->file, status);
    if (error)
        return error == EFBIG ? -TOO_LARGE : error;
    if (map->stored > MOST_BYTES - (pack->sent < MOST_BYTES ? pack->sent : MOST_BYTES))
        return -TOO_LARGE;
    member->type = map->stored < map->size ? TAR_SPARSE : TAR_FILE;
    member->map = map;
    member->size = map->stored;
    return 0;
}

static int add_file(struct pack *pack, const char *entry, int above, struct member *member) {
    struct stat status;
    int error = source_open(&pack->file, above, entry, &status);
    if (error)
        return error;
    char *name = member->name;
    const char *first = NULL;
    if (status.st_nlink > 1)
        first = links_meet(&pack->links, status.st_dev, status.st_ino, name);
    *member = describe(&status, TAR_HARD);
    member->name = name;
    if (first) {
        member->target = (char *)first;
        source_close(&pack->file);
    } else {
        error = begin_content(pack, &status, member);
    }
    if (error)
        source_close(&pack->file);
    else
        tar_put(&pack->archive, member);
    return error;
}

static int add_link(struct pack *pack, const char *entry, int above, struct member *member) {
    char target[PATH_MAX];
    ssize_t size = readlinkat(above, entry, target, sizeof target - 1);
    if (size < 0)
        return errno == EINVAL ? ENOENT : errno; /* it is no link any more */
    target[size] = 0;
    member->target = target;
    tar_put(&pack->archive, member);
    return 0;
}

/* Add what a folder holds under a name. Return 0, an errno, or a fault below 0. */
static int add_entry(struct pack *pack, const char *entry, int above) {
    struct stat status;
    if (buffer_size(&pack->name) + strlen(entry) > LONGEST_NAME)
        return -TOO_LARGE;
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

static void end_walk(struct pack *pack) {
    walk_end(&pack->walk);
    if (pack->top >= 0)
        close(pack->top);
    pack->top = -1;
}

static int leave_folder(struct pack *pack) {
    if (pack->walk.depth == 1) {
        end_walk(pack);
        return 0;
    }
    int error = walk_up(&pack->walk);
    if (error) /* it has been moved, or may not be passed any more */
        error = walk_return(&pack->walk, pack->top);
    pack->name.end = pack->name.start + pack->top_name;
    for (size_t depth = 1; depth < pack->walk.depth; depth++) {
        const char *name = pack->walk.levels[depth].name;
        buffer_add(&pack->name, "/", 1);
        buffer_add(&pack->name, name, strlen(name));
    }
    return error;
}

/* What processes that still run did to a file between two looks at it is no failure. */
static bool has_changed(int error) {
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENXIO ||
           error == EAGAIN;
}

static int advance(struct pack *pack) {
    if (pack->file.file >= 0)
        return source_copy(&pack->file, &pack->archive);
    if (pack->walk.depth) {
        const char *entry = walk_next(&pack->walk);
        int error = entry ? add_entry(pack, entry, pack->walk.fd) : leave_folder(pack);
        return entry && has_changed(error) ? 0 : error;
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
    source_close(&pack->file);
    free_paths(pack->paths, pack->path_count);
    end_walk(pack);
    buffer_free(&pack->name);
    buffer_free(&pack->archive);
    links_free(&pack->links);
}

static const struct job_type type = {.step = step, .release = release, .cancellable = true};

void pack_request(uint32_t id, struct fields *fields) {
    struct pack *pack = allocate(sizeof *pack);
    const char *user = take_string(fields);
    pack->paths = take_paths(fields, &pack->path_count);
    take_end(fields);
    pack->file.file = pack->top = pack->walk.fd = -1;
    pack->as_user = *user;
    job_begin(&pack->job, &type, id);
    const struct identity *identity = find_user(user);
    if (identity)
        pack->identity = *identity;
    else
        job_fail(&pack->job, NO_USER, 0);
}
