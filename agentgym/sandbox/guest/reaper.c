/* The ends of processes, and ending them all. */
#include "guest.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_SECONDS 5

/* Reap what has ended. Return how many, and whether no child is left. */
static uint64_t reap(bool *none_left) {
    uint64_t count = 0;
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        count++;
        command_exited(pid, status);
    }
    *none_left = pid < 0;
    return count;
}

static void drain(int fd) {
    struct signalfd_siginfo ended;
    while (read(fd, &ended, sizeof ended) > 0)
        ;
}

static void child_ended(struct watch *watch, uint32_t events) {
    (void)events;
    bool none_left;
    drain(watch->fd);
    reap(&none_left);
}

static struct watch ends = {.fd = -1, .ready = child_ended};

void reaper_open(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    ends.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (ends.fd < 0)
        die(BROKEN, "signalfd");
    watch_change(&ends, EPOLLIN);
}

/* kill(-1) reaches every process this one may signal: inside a PID namespace that is the sandbox,
 * anywhere else it would be the user's whole session. */
static void kill_once(bool freeze) {
    if (getpid() == 1)
        kill(-1, SIGKILL);
    else if (freeze) /* so that what starts others faster than it is found comes to rest */
        signal_tree(getpid(), SIGSTOP, true);
    else
        signal_tree(getpid(), SIGKILL, false);
}

/* End every process but this one, and wait for it. Nothing else is served meanwhile. Return how
 * many ended, and whether that was all. */
uint64_t kill_everything(bool *all_gone) {
    uint64_t ended = 0, give_up = now_us() + KILL_SECONDS * 1000000ull;
    struct pollfd wait = {.fd = ends.fd, .events = POLLIN};
    *all_gone = ends.fd < 0; /* nothing has been started yet */
    for (unsigned round = 0; !*all_gone && now_us() < give_up; round++) {
        kill_once(round < 10 && round % 2 == 0);
        ended += reap(all_gone);
        if (!*all_gone) {
            poll(&wait, 1, 2);
            drain(ends.fd);
        }
    }
    return ended;
}
