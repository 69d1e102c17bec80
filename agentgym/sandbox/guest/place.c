/* Putting the members of an archive where they belong, and nowhere else.
 *
 * The way to each is walked folder by folder without following a link, so that what a sandbox's
 * own processes plant there cannot lead it away. A folder gets its mode and time when it is left,
 * since filling it changes them. Members mostly come folder by folder, so the walk is short.
 */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Normalise an archive's name in place: one slash between parts, none at the ends. Return whether
 * it is one that can be meant: nothing above itself, and not empty. */
bool clean_name(char *name) {
    char *out = name, *rest = name;
    for (char *part; (part = strsep(&rest, "/"));) {
        if (!*part || strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0)
            return false;
        if (out != name)
            *out++ = '/';
        size_t size = strlen(part);
        memmove(out, part, size);
        out += size;
    }
    *out = 0;
    return out != name;
}

static int place_metadata(const struct place *place, int fd, const struct metadata *metadata) {
    const struct timespec times[2] = {{.tv_sec = metadata->mtime}, {.tv_sec = metadata->mtime}};
    struct stat status;
    if (place->owners) {
        if (fstat(fd, &status) < 0)
            return errno;
        if ((status.st_uid != metadata->uid || status.st_gid != metadata->gid) &&
            fchown(fd, metadata->uid, metadata->gid) < 0)
            return errno;
    }
    if (!set_mode(fd, metadata->mode, place->owners ? (int64_t)metadata->gid : -1))
        return errno;
    return futimens(fd, times) < 0 ? errno : 0;
}

/* The same for what has no content: links and pipes. */
static int place_metadata_at(const struct place *place, const char *name,
                             const struct metadata *metadata) {
    const struct timespec times[2] = {{.tv_sec = metadata->mtime}, {.tv_sec = metadata->mtime}};
    int fd = place->walk.fd;
    if (place->owners && fchownat(fd, name, metadata->uid, metadata->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return errno;
    return utimensat(fd, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
}

static int leave(struct place *place) {
    const struct level *level = walk_level(&place->walk);
    int error = level->metadata ? place_metadata(place, place->walk.fd, level->metadata) : 0;
    return error ? error : walk_up(&place->walk);
}

/* A folder on the way may be one that may be passed but not read. */
static int enter(struct place *place, const char *name) {
    int error = walk_down(&place->walk, name, O_RDONLY);
    return error == EACCES ? walk_down(&place->walk, name, O_PATH) : error;
}

static int enter_or_make(struct place *place, const char *name) {
    int error = enter(place, name);
    if (error != ENOENT)
        return error;
    if (mkdirat(place->walk.fd, name, 0755) < 0)
        return errno;
    return enter(place, name);
}

int place_begin(struct place *place, bool owners) {
    place->owners = owners;
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? errno : walk_begin(&place->walk, fd);
}

/* Leave every folder. Return 0 or an errno. */
int place_end(struct place *place) {
    int error = 0;
    while (place->walk.depth > 1 && !error)
        error = leave(place);
    return error;
}

/* How many of the folders at hand a name's folders begin with, and where its rest begins. */
static size_t shared_levels(const struct place *place, const char **rest) {
    size_t depth = 1;
    for (; depth < place->walk.depth; depth++) {
        const char *level = place->walk.levels[depth].name;
        size_t size = strlen(level);
        if (strncmp(*rest, level, size) != 0 || (*rest)[size] != '/')
            break;
        *rest += size + 1;
    }
    return depth;
}

/* Go to the folder of a clean name, making what is missing, and return the last part of it. */
static int go_to(struct place *place, const char *name, const char **last) {
    size_t depth = shared_levels(place, &name);
    int error = 0;
    while (place->walk.depth > depth && !error)
        error = leave(place);
    while (!error && (*last = strchr(name, '/'))) {
        char *part = strndup(name, (size_t)(*last - name));
        if (!part)
            die(BROKEN, "out of memory");
        error = enter_or_make(place, part);
        free(part);
        name = *last + 1;
    }
    *last = name;
    return error;
}

/* A folder stays where there is one already, so that a mount point can be restored. */
static int make_folder(struct place *place, const char *name, const struct metadata *metadata) {
    if (mkdirat(place->walk.fd, name, 0700) < 0 && errno != EEXIST)
        return errno;
    int error = enter(place, name);
    if (error == ENOTDIR || error == ELOOP) { /* something else has its name */
        if (unlinkat(place->walk.fd, name, 0) < 0 || mkdirat(place->walk.fd, name, 0700) < 0)
            return errno;
        error = enter(place, name);
    }
    if (error)
        return error;
    struct level *level = walk_level(&place->walk);
    free(level->metadata);
    level->metadata = allocate(sizeof *metadata);
    *level->metadata = *metadata;
    return 0;
}

static int make_hard_link(const struct place *place, const char *name, const char *target) {
    char *path = allocate(strlen(target) + 2);
    const char *last;
    path[0] = '/';
    strcpy(path + 1, target);
    int above = open_above(path, false, &last), error = above < 0 ? errno : 0;
    if (!error && linkat(above, last, place->walk.fd, name, 0) < 0)
        error = errno;
    if (above >= 0)
        close(above);
    free(path);
    return error;
}

static int try_make(struct place *place, const char *name, const struct member *member, int *file) {
    int folder = place->walk.fd, made = 0;
    switch (member->type) {
    case TAR_HARD:
        return make_hard_link(place, name, member->target);
    case TAR_LINK:
        made = symlinkat(member->target, folder, name);
        break;
    case TAR_PIPE:
        made = mkfifoat(folder, name, member->metadata.mode & 0777);
        break;
    default:
        made = *file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              0600);
    }
    if (made < 0)
        return errno;
    return *file >= 0 ? 0 : place_metadata_at(place, name, &member->metadata);
}

/* Make a member, replacing what has its name. `*file` is set to a file that waits for its
 * content, to be finished with `place_file`. Return 0 or an errno. */
int place_member(struct place *place, const struct member *member, int *file) {
    const char *name;
    int error = go_to(place, member->name, &name);
    if (error)
        return error;
    if (member->type == TAR_FOLDER)
        return make_folder(place, name, &member->metadata);
    error = try_make(place, name, member, file);
    if (error != EEXIST)
        return error;
    if (unlinkat(place->walk.fd, name, 0) < 0)
        return errno;
    return try_make(place, name, member, file);
}

/* Finish and close a file with all its content. */
int place_file(const struct place *place, int file, const struct metadata *metadata) {
    int error = place_metadata(place, file, metadata);
    close(file);
    return error;
}

/* Empty the folder of a path, if there is one. */
int place_clear(const char *path) {
    const char *last;
    int above = open_above(path, false, &last);
    int fd = above < 0 ? -1 : openat(above, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    if (above >= 0)
        close(above);
    if (error)
        return error == ENOENT ? 0 : error;
    return remove_content(fd);
}
