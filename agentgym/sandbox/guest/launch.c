/* The child's side of a command: from the clone to the program.
 *
 * It runs in the guest's memory, so it leaves no trace there: nothing is allocated, and nothing
 * called that ends the guest.
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *search_path(char **environment) {
    for (; *environment; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

/* Whether a file's first line is text, so that it may be meant for a shell. */
static bool is_script(const char *path) {
    char start[128];
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, start, sizeof start);
    if (fd >= 0)
        close(fd);
    const char *line_end = size < 0 ? NULL : memchr(start, '\n', (size_t)size);
    return size >= 0 && !memchr(start, 0, line_end ? (size_t)(line_end - start) : (size_t)size);
}

/* Return only where it cannot be run. A script that names no interpreter is the shell's. */
static void run(const char *path, const struct launch *launch) {
    execve(path, launch->arguments, launch->environment);
    if (errno != ENOEXEC)
        return;
    if (is_script(path)) {
        char **shell = launch->arguments - 1; /* there is room for one before them */
        shell[0] = (char *)"/bin/sh";
        shell[1] = (char *)path;
        execve(shell[0], shell, launch->environment);
    }
    errno = ENOEXEC;
}

/* Like execvpe, but with the PATH of the command's own environment. */
static void run_from_path(const struct launch *launch) {
    const char *name = launch->arguments[0], *path = search_path(launch->environment);
    size_t name_size = strlen(name) + 1;
    bool denied = false;
    char candidate[PATH_MAX];
    errno = ENOENT;
    if (strchr(name, '/'))
        run(name, launch);
    if (!*name || strchr(name, '/'))
        return;
    for (const char *end; path; path = *end ? end + 1 : NULL) {
        end = strchrnul(path, ':');
        size_t size = (size_t)(end - path);
        if (size + 1 + name_size > sizeof candidate)
            continue;
        memcpy(candidate, path, size);
        if (size) /* an empty part is the folder at hand */
            candidate[size++] = '/';
        memcpy(candidate + size, name, name_size);
        run(candidate, launch);
        if (errno == EACCES)
            denied = true;
        else if (errno != ENOENT && errno != ENOTDIR)
            return;
    }
    errno = denied ? EACCES : ENOENT;
}

static bool set_limit(int resource, int64_t value) {
    struct rlimit limit = {(rlim_t)value, (rlim_t)value};
    return value < 0 || setrlimit(resource, &limit) == 0;
}

/* Take away what the guest may have been given more of. */
static bool lower_limit(int resource, rlim_t value) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return false;
    limit.rlim_max = limit.rlim_max < value ? limit.rlim_max : value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

/* Kernel memory that commands could fill up and, with message queues, leave behind. Outside a
 * namespace of its own the guest's commands are trusted. */
static bool lower_limits(pid_t guest) {
    return guest != 1 ||
           (lower_limit(RLIMIT_MSGQUEUE, 0) && lower_limit(RLIMIT_SIGPENDING, 1024) &&
            lower_limit(RLIMIT_MEMLOCK, 8 << 20));
}

static bool set_limits(pid_t guest) {
    return setrlimit(RLIMIT_NOFILE, &limits.own_files) == 0 && set_limit(RLIMIT_CORE, 0) &&
           set_limit(RLIMIT_NOFILE, limits.open_files) &&
           set_limit(RLIMIT_NPROC, limits.processes) &&
           set_limit(RLIMIT_AS, limits.address_space) && lower_limits(guest);
}

/* A tree that nothing leaves: what is orphaned below comes back to the command. */
static bool root_tree(void) {
    return setsid() >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

/* Leave word for the guest, which tells the host. */
static _Noreturn void give_up(struct launch *launch, int code, enum stage where) {
    launch->error = errno;
    launch->where = where;
    _exit(code);
}

/* Where the guest is not a namespace's first process, its end does not end its children. */
static bool die_with_guest(pid_t guest) {
    if (guest == 1)
        return true;
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == guest;
}

_Noreturn void launch(struct launch *launch) {
    for (int fd = 0; fd < 5; fd++)
        if (launch->files[fd] >= 0)
            dup2(launch->files[fd], fd);
    /* The rest is closed on exec too, but not before, and from here on this is the agent's. */
    unsigned first = launch->files[4] >= 0 ? 5 : 3;
    syscall(SYS_close_range, first, ~0u, 0);
    umask(022);
    if (!set_limits(launch->guest) || !root_tree() || !become(launch->identity) ||
        !die_with_guest(launch->guest))
        give_up(launch, 126, AT_START);
    if (chdir(launch->directory) < 0)
        give_up(launch, 126, IN_FOLDER);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    run_from_path(launch);
    give_up(launch, errno == ENOENT || errno == ENOTDIR ? 127 : 126, AT_PROGRAM);
}
