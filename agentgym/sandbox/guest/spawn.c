/* Starting a command at the cost of its exec.
 *
 * The child shares the guest's memory until its exec, as after vfork, because to copy the page
 * tables costs a fifth of a whole command. The guest waits meanwhile, so the two never run at
 * once; but unlike after vfork it may stop waiting: as soon as the child is the agent's user, the
 * agent may stop it, and must not stop the guest with it.
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE (64u << 10)
#define LOOK_NS 20000000

static int score = -1; /* this process's oom_score_adj */
static char own_score[16];

/* Keep the descriptor, which an untraceable process could not open later. */
void score_open(void) {
    score = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    ssize_t size = score < 0 ? 0 : read(score, own_score, sizeof own_score - 1);
    own_score[size < 0 ? 0 : strcspn(own_score, "\n")] = 0;
}

/* Where memory runs out the kernel is to end commands, not the guest: a child inherits the worst
 * score, and the guest may take its own back, since that is no lower than it was. */
static void set_score(const char *value) {
    if (score >= 0 && pwrite(score, value, strlen(value), 0) < 0)
        die(BROKEN, "cannot set oom_score_adj");
}

static int enter(void *child) {
    launch(child);
}

static bool is_stopped(pid_t pid) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Wait until the kernel clears `shares`: the child has its own program, or is dead. */
static void await_exec(pid_t pid, atomic_int *shares) {
    const struct timespec look = {.tv_nsec = LOOK_NS};
    while (atomic_load(shares)) {
        syscall(SYS_futex, shares, FUTEX_WAIT, pid, &look, NULL, 0);
        if (atomic_load(shares) && is_stopped(pid))
            kill(pid, SIGKILL);
    }
}

/* Return the process id of a command that has begun, or -1 with errno. */
pid_t spawn(struct launch *child) {
    static _Alignas(64) unsigned char stack[STACK_SIZE];
    static atomic_int shares;
    set_score("1000");
    pid_t pid = clone(enter, stack + sizeof stack,
                      CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, child,
                      &shares, NULL, &shares);
    int error = errno;
    if (pid > 0)
        await_exec(pid, &shares);
    set_score(own_score);
    stay_untraceable(); /* what the child's change of user may have undone */
    errno = error;
    return pid;
}
