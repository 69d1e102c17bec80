/* One-frame requests about files, carried out with the rights of the user they name. */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Take on a user's rights, or answer that it cannot be; `act_as_guest` lays them down. */
bool act_for(uint32_t id, const char *user) {
    const struct identity *identity = find_user(user);
    if (!identity)
        send_fail(id, NO_USER, 0);
    else if (!act_as(identity))
        send_fail(id, SYSTEM, errno);
    else
        return true;
    return false;
}

/* Whether an open file shows the guest itself, in /proc. The kernel lets everybody look at
 * themselves, so without this question the guest would lend that right to whoever asks. */
bool is_own(int fd) {
    struct statfs where;
    char link[32], own[32], target[PATH_MAX];
    if (fstatfs(fd, &where) < 0 || where.f_type != PROC_SUPER_MAGIC)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int length = snprintf(own, sizeof own, "/proc/%d/", getpid());
    ssize_t size = readlink(link, target, sizeof target);
    return size < 0 || (size >= length && memcmp(target, own, (size_t)length) == 0);
}

/* Write an entry of at most `ENTRY_SIZE` bytes for a file in a folder. Return its size, or 0 with
 * errno where it cannot be looked at. */
size_t put_entry(unsigned char *at, int folder, const char *file, const char *name) {
    unsigned char *start = at;
    char target[PATH_MAX];
    struct stat status;
    ssize_t size = 0;
    if (strlen(name) > PATH_MAX) {
        errno = ENAMETOOLONG;
        return 0;
    }
    if (fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISLNK(status.st_mode)) {
        size = readlinkat(folder, file, target, sizeof target);
        if (size < 0)
            return 0;
    }
    at = put_u32(at, status.st_mode);
    at = put_u32(at, status.st_uid);
    at = put_u32(at, status.st_gid);
    at = put_u64(at, (uint64_t)status.st_size);
    at = put_u64(at, (uint64_t)status.st_mtim.tv_sec * 1000000000 +
                         (uint64_t)status.st_mtim.tv_nsec); /* wraps where the time is absurd */
    at = put_string(at, name, strlen(name));
    at = put_string(at, target, (size_t)size);
    return (size_t)(at - start);
}

void stat_request(uint32_t id, struct fields *fields) {
    const char *user = take_string(fields), *path = take_path(fields);
    take_end(fields);
    if (!act_for(id, user))
        return;
    size_t size = put_entry(frame_room(ENTRY_SIZE), AT_FDCWD, path, path);
    int error = errno;
    act_as_guest();
    if (size) {
        frame_send(DATA, id, size);
        send_ok(id, 0);
    } else {
        send_fail(id, SYSTEM, error);
    }
}

/* Make the folders above a path that are missing. Return 0 or an errno. */
int make_parents(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int error = mkdir(path, 0755) < 0 ? errno : 0;
        *slash = '/';
        if (error && error != EEXIST)
            return error;
    }
    return 0;
}

static int make_dir(char *path, mode_t mode) {
    struct stat status;
    int error = make_parents(path);
    if (error)
        return error;
    if (mkdir(path, mode) == 0)
        return chmod(path, mode) < 0 ? errno : 0;
    error = errno;
    if (stat(path, &status) < 0)
        return error;
    return S_ISDIR(status.st_mode) ? 0 : EEXIST;
}

void make_dir_request(uint32_t id, struct fields *fields) {
    const char *user = take_string(fields);
    char *path = take_path(fields);
    mode_t mode = take_u32(fields) & 07777;
    take_end(fields);
    if (!act_for(id, user))
        return;
    int error = make_dir(path, mode);
    act_as_guest();
    if (error)
        send_fail(id, SYSTEM, error);
    else
        send_ok(id, 0);
}

static int remove_named(const char *path) {
    const char *name;
    int folder = open_above(path, true, &name);
    if (folder < 0)
        return errno;
    int error = !*name || is_dots(name) ? EINVAL : remove_path(folder, name);
    close(folder);
    return error;
}

void remove_request(uint32_t id, struct fields *fields) {
    const char *user = take_string(fields), *path = take_path(fields);
    take_end(fields);
    if (!act_for(id, user))
        return;
    int error = remove_named(path);
    act_as_guest();
    if (error)
        send_fail(id, SYSTEM, error);
    else
        send_ok(id, 0);
}
