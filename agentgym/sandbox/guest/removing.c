/* Removing whole trees. Links are removed, never followed; what is mounted stays. */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Let the owner into a folder, as `rm -r` does not but whoever clears up must. */
static void open_up(int fd) {
    struct stat status;
    if (fstat(fd, &status) == 0 && (status.st_mode & 0700) != 0700)
        fchmod(fd, status.st_mode | 0700);
}

/* The same for one that cannot be opened. The way over /proc is one that no link can turn. */
static bool open_up_at(int folder, const char *name) {
    char path[32];
    int fd = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool done = fd >= 0 && chmod(path, 0700) == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

static int enter(struct walk *walk, const char *name) {
    int error = walk_down(walk, name, O_RDONLY);
    if (error == EACCES && open_up_at(walk->fd, name))
        error = walk_down(walk, name, O_RDONLY);
    if (error)
        return error;
    open_up(walk->fd);
    return walk_list(walk);
}

/* Remove a file, or go into a folder. Return 0 or an errno; what is gone is fine. */
static int remove_one(struct walk *walk, const char *name) {
    if (unlinkat(walk->fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return errno;
    int error = enter(walk, name);
    return error == ENOENT ? 0 : error;
}

static int leave(struct walk *walk) {
    char *name = copy_string(walk_level(walk)->name);
    int error = walk_up(walk), gone = 0;
    if (!error)
        gone = unlinkat(walk->fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
    if (!error && !gone)
        error = errno;
    free(name);
    return error;
}

/* Empty an open folder, which is closed. What cannot be removed stays, with the first reason as
 * the errno that is returned. */
int remove_content(int fd) {
    struct walk walk;
    int first = walk_begin(&walk, fd);
    if (first)
        return first;
    walk.one_device = true;
    open_up(walk.fd);
    first = walk_list(&walk);
    for (;;) {
        size_t depth = walk.depth;
        const char *name = walk_next(&walk);
        if (!name && walk.depth == 1)
            break;
        int error = name ? remove_one(&walk, name) : leave(&walk);
        if (error && !first)
            first = error;
        if (!name && walk.depth == depth) /* the folder at hand was moved away: no way on */
            break;
    }
    walk_end(&walk);
    return first;
}

/* Remove what a folder holds under a name. Return 0 or an errno. */
int remove_path(int folder, const char *name) {
    if (unlinkat(folder, name, 0) == 0)
        return 0;
    if (errno != EISDIR)
        return errno;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && open_up_at(folder, name))
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = remove_content(fd);
    if (error)
        return error;
    /* A mount point is emptied and stays. */
    return unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == EBUSY ? 0 : errno;
}
