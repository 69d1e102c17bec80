/* Walking through trees that the agent made, and may be changing: of any depth, with any names.
 *
 * Only the folder at hand is open. The way up is "..", and counts only where it leads to the
 * very folder that was left, so that moving folders about leads the walk nowhere else.
 */
#include "archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_NAMES 4000000u /* in one folder; more is somebody adding them while they are read */

bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

struct level *walk_level(struct walk *walk) {
    return walk->levels + walk->depth - 1;
}

static void forget_names(struct level *level) {
    for (size_t i = 0; i < level->count; i++)
        free(level->names[i]);
    free(level->names);
    level->names = NULL;
    level->count = level->next = 0;
}

static void pop(struct walk *walk) {
    struct level *level = walk_level(walk);
    forget_names(level);
    free(level->name);
    free(level->metadata);
    walk->depth--;
}

static int push(struct walk *walk, int fd, const char *name) {
    struct stat status;
    if (fstat(fd, &status) < 0)
        return errno;
    if (walk->one_device && walk->depth && status.st_dev != walk->levels[0].device)
        return EXDEV;
    walk->levels = grow_array(walk->levels, walk->depth, &walk->capacity, sizeof *walk->levels);
    struct level *level = walk->levels + walk->depth++;
    *level = (struct level){.device = status.st_dev, .inode = status.st_ino};
    if (name)
        level->name = copy_string(name);
    if (walk->fd >= 0)
        close(walk->fd);
    walk->fd = fd;
    return 0;
}

/* Begin at an open folder, which belongs to the walk from then on. Return 0 or an errno. */
int walk_begin(struct walk *walk, int fd) {
    *walk = (struct walk){.fd = -1};
    int error = push(walk, fd, NULL);
    if (error)
        close(fd);
    return error;
}

/* Go into a folder of the one at hand. Return 0 or an errno. */
int walk_down(struct walk *walk, const char *name, int flags) {
    int fd = openat(walk->fd, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = push(walk, fd, name);
    if (error)
        close(fd);
    return error;
}

static bool is_level(const struct level *level, const struct stat *status) {
    return status->st_dev == level->device && status->st_ino == level->inode;
}

/* Leave the folder at hand, which is not the top. Return 0 or an errno. */
int walk_up(struct walk *walk) {
    struct stat status;
    struct level *above = walk_level(walk) - 1;
    int fd = openat(walk->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        fd = openat(walk->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    if (fstat(fd, &status) < 0 || !is_level(above, &status)) {
        close(fd);
        return ESTALE;
    }
    close(walk->fd);
    walk->fd = fd;
    pop(walk);
    return 0;
}

/* Go up from a folder that somebody has moved, so that ".." leads elsewhere: find the folders
 * above it again, from the top. Those that are not where they were are left as well. */
int walk_return(struct walk *walk, int top) {
    struct stat status;
    size_t depth = 1, most = walk->depth - 1;
    int fd = fcntl(top, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    for (; depth < most; depth++) {
        const struct level *level = walk->levels + depth;
        int next = openat(fd, level->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            break;
        if (fstat(next, &status) < 0 || !is_level(level, &status)) {
            close(next);
            break;
        }
        close(fd);
        fd = next;
    }
    close(walk->fd);
    walk->fd = fd;
    while (walk->depth > depth)
        pop(walk);
    return 0;
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static int read_names(DIR *folder, struct level *level) {
    size_t capacity = 0;
    struct dirent *entry;
    while ((errno = 0, entry = readdir(folder)) && level->count < MOST_NAMES) {
        if (is_dots(entry->d_name))
            continue;
        level->names = grow_array(level->names, level->count, &capacity, sizeof *level->names);
        level->names[level->count++] = copy_string(entry->d_name);
    }
    int error = entry ? EFBIG : errno;
    /* A tree may be very deep, with each of its folders listed: keep no spare room. */
    if (level->count && level->count < capacity)
        level->names = reallocarray(level->names, level->count, sizeof *level->names);
    return error;
}

/* List the folder at hand, sorted, for `walk_next`. Return 0 or an errno. */
int walk_list(struct walk *walk) {
    struct level *level = walk_level(walk);
    int fd = openat(walk->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    forget_names(level);
    int error = read_names(folder, level);
    closedir(folder);
    if (level->count)
        qsort(level->names, level->count, sizeof *level->names, by_name);
    return error;
}

/* Return the next name of the folder at hand, or NULL after the last. */
const char *walk_next(struct walk *walk) {
    struct level *level = walk_level(walk);
    return level->next < level->count ? level->names[level->next++] : NULL;
}

/* Walk to a folder without following any link. Return its descriptor, or -1 with errno. */
static int open_strictly(char *path) {
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (char *part; fd >= 0 && (part = strsep(&path, "/"));) {
        if (!*part)
            continue;
        int next = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int error = errno;
        close(fd);
        errno = error;
        fd = next;
    }
    return fd;
}

/* Open the folder above what a path names, which is the path's last part. Who acts with a user's
 * rights follows links on the way as any program of that user does; the guest itself may not. */
int open_above(const char *path, bool follow, const char **last) {
    char *copy = copy_string(path);
    *last = strrchr(path, '/') + 1;
    copy[*last - path] = 0;
    int fd = follow ? open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC) : open_strictly(copy);
    int error = errno;
    free(copy);
    errno = error;
    return fd;
}

void walk_end(struct walk *walk) {
    while (walk->depth)
        pop(walk);
    if (walk->fd >= 0)
        close(walk->fd);
    free(walk->levels);
    *walk = (struct walk){.fd = -1};
}
