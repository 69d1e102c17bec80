/* The processes of the sandbox as /proc shows them, and signals to all that one has started.
 *
 * Commands are subreapers (launch.c), so whatever a command starts stays below it while it lives.
 */
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct process {
    pid_t pid, parent;
    char state; /* of its first thread, which may end before others */
    int threads;
    unsigned long long start; /* with the pid it names a process for good */
    bool below;
};

static DIR *proc;
static bool complete;

void processes_open(void) {
    proc = opendir("/proc");
    if (!proc)
        die(BROKEN, "cannot open /proc");
}

static bool read_process(const char *pid, struct process *process) {
    char path[32], text[512];
    snprintf(path, sizeof path, "%.16s/stat", pid);
    int fd = openat(dirfd(proc), path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0)
        return false;
    text[size] = 0;
    char *rest = strrchr(text, ')'); /* the program's name before it may hold anything */
    process->pid = atoi(pid);
    process->below = false;
    return rest && sscanf(rest,
                          ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                          "%d %*d %llu",
                          &process->state, &process->parent, &process->threads,
                          &process->start) == 4;
}

static int by_pid(const void *left, const void *right) {
    const struct process *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Return the number given to a process last; it changes with every fork of the namespace. */
static int last_pid(void) {
    char text[128];
    int last = -1, fd = openat(dirfd(proc), "loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[size < 0 ? 0 : size] = 0;
    sscanf(text, "%*s %*s %*s %*s %d", &last);
    return last;
}

/* Whether the last look at the processes saw them all. Where some forked meanwhile one may have
 * been seen neither before, when it did not exist, nor after, when its parent did no more. */
bool processes_complete(void) {
    return complete;
}

static struct process *read_processes(size_t *count) {
    struct process *processes = NULL;
    size_t capacity = 0;
    int last = last_pid();
    *count = 0;
    rewinddir(proc);
    for (struct dirent *entry; (entry = readdir(proc));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        processes = grow_array(processes, *count, &capacity, sizeof *processes);
        *count += read_process(entry->d_name, processes + *count);
    }
    complete = last >= 0 && last == last_pid();
    if (*count)
        qsort(processes, *count, sizeof *processes, by_pid);
    return processes;
}

/* Mark what descends from what is marked. Parents mostly have the lower number, so that one pass
 * finds nearly all. */
static void mark_below(struct process *processes, size_t count) {
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < count; i++) {
            struct process *process = processes + i, key = {.pid = process->parent};
            if (process->below)
                continue;
            struct process *parent = bsearch(&key, processes, count, sizeof key, by_pid);
            process->below = parent && parent->below;
            found |= process->below;
        }
    }
}

/* The only place where a signal goes to a process by number. As the first process of a namespace
 * all others are the sandbox's. Elsewhere the number may by now be a stranger's: hold the process
 * and look again at what is held. */
static bool send_signal(const struct process *process, int number) {
    if (process->pid <= 1 || process->pid == getpid())
        return false;
    if (getpid() == 1)
        return kill(process->pid, number) == 0;
    int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (fd < 0)
        return false;
    char name[16];
    struct process again;
    snprintf(name, sizeof name, "%d", process->pid);
    bool sent = read_process(name, &again) && again.start == process->start &&
                syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) == 0;
    close(fd);
    return sent;
}

static bool has_ended(const struct process *process) {
    return process->threads <= 1 && (process->state == 'Z' || process->state == 'X');
}

/* Send a signal to what is marked. Return how many live, whether it reached them or not. */
static size_t signal_marked(const struct process *processes, size_t count, int number,
                            bool only_running) {
    size_t living = 0;
    for (size_t i = 0; i < count; i++) {
        bool stopped = processes[i].state == 'T' || processes[i].state == 't';
        if (!processes[i].below || has_ended(processes + i) || (only_running && stopped))
            continue;
        living++;
        send_signal(processes + i, number);
    }
    return living;
}

/* Whose parent ended while /proc was read may belong anywhere: only another look tells. */
static size_t orphans_of_the_moment(const struct process *processes, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct process key = {.pid = processes[i].parent};
        found += key.pid > 0 && !processes[i].below && !has_ended(processes + i) &&
                 !bsearch(&key, processes, count, sizeof key, by_pid);
    }
    return found;
}

/* Send a signal to all that descends from a process, not to it. Return how many there are. */
size_t signal_tree(pid_t root, int number, bool only_running) {
    size_t count;
    struct process *processes = read_processes(&count);
    for (size_t i = 0; i < count; i++)
        processes[i].below = processes[i].parent == root;
    mark_below(processes, count);
    size_t living = signal_marked(processes, count, number, only_running);
    living += orphans_of_the_moment(processes, count);
    free(processes);
    return living;
}

/* Note the guest's children: commands, and what has been orphaned. */
void note_children(struct children *children) {
    size_t count;
    struct process *processes = read_processes(&count);
    children->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (processes[i].parent != getpid())
            continue;
        children->all = grow_array(children->all, children->count, &children->capacity,
                                   sizeof *children->all);
        children->all[children->count++] =
            (struct child){processes[i].pid, processes[i].start};
    }
    free(processes);
}

static bool is_new(const struct process *process, const struct children *before) {
    for (const struct command *command = commands; command; command = command->next)
        if (command->pid == process->pid)
            return false;
    for (size_t i = 0; i < before->count; i++)
        if (before->all[i].pid == process->pid && before->all[i].start == process->start)
            return false;
    return true;
}

/* Send a signal to what has been orphaned since, with all that descends from it. */
size_t signal_new_children(const struct children *before, int number) {
    size_t count;
    struct process *processes = read_processes(&count);
    for (size_t i = 0; i < count; i++)
        processes[i].below = processes[i].parent == getpid() && is_new(processes + i, before);
    mark_below(processes, count);
    size_t living = signal_marked(processes, count, number, false);
    free(processes);
    return living;
}

/* Send a signal to a child that has not been reaped, whose number is therefore still its own. */
bool signal_child(pid_t pid, int number) {
    return pid > 1 && kill(pid, number) == 0;
}
