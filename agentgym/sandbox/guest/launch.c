/* The child's side of a command: from the fork to the program. */
#include "guest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *search_path(char **environment) {
    for (; *environment; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

/* Return only where it cannot be run. A file without a known format is a shell script. */
static void run(char *path, char **arguments, char **environment) {
    execve(path, arguments, environment);
    if (errno != ENOEXEC)
        return;
    size_t count = 0;
    while (arguments[count])
        count++;
    char **shell = allocate((count + 2) * sizeof *shell);
    shell[0] = "/bin/sh";
    shell[1] = path;
    for (size_t i = 1; i < count; i++)
        shell[i + 1] = arguments[i];
    execve(shell[0], shell, environment);
    errno = ENOEXEC;
}

/* Like execvpe, but with the PATH of the command's own environment. */
static void run_from_path(char **arguments, char **environment) {
    const char *name = arguments[0], *path = search_path(environment);
    bool denied = false;
    if (!*name) {
        errno = ENOENT;
        return;
    }
    if (strchr(name, '/')) {
        run(arguments[0], arguments, environment);
        return;
    }
    char *candidate = allocate(strlen(path) + strlen(name) + 2);
    for (const char *end; path; path = *end ? end + 1 : NULL) {
        end = strchrnul(path, ':');
        sprintf(candidate, "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "", name);
        run(candidate, arguments, environment);
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

static bool set_limits(void) {
    return set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_NOFILE, limits.open_files) &&
           set_limit(RLIMIT_NPROC, limits.processes) &&
           set_limit(RLIMIT_AS, limits.address_space);
}

/* A tree that nothing leaves: what is orphaned below comes back to the command. */
static bool root_tree(void) {
    return setsid() >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

static _Noreturn void give_up(int code, const char *what, const char *name) {
    fprintf(stderr, "%s%s: %s\n", what, name, strerror(errno));
    _exit(code);
}

/* Where the guest is not a namespace's first process, its end does not end its children. */
static bool die_with_guest(pid_t guest) {
    if (guest == 1)
        return true;
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == guest;
}

_Noreturn void launch(const struct launch *launch) {
    for (int fd = 0; fd < 5; fd++)
        if (launch->files[fd] >= 0)
            dup2(launch->files[fd], fd);
    /* The rest is closed on exec too, but not before, and from here on this is the agent's. */
    unsigned first = launch->files[4] >= 0 ? 5 : 3;
    syscall(SYS_close_range, first, ~0u, 0);
    umask(022);
    if (!set_limits() || !root_tree() || !become(launch->identity) ||
        !die_with_guest(launch->guest))
        give_up(126, "cannot start", "");
    if (chdir(launch->directory) < 0)
        give_up(126, "cannot start in ", launch->directory);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    run_from_path(launch->arguments, launch->environment);
    give_up(errno == ENOENT || errno == ENOTDIR ? 127 : 126, "", launch->arguments[0]);
}
