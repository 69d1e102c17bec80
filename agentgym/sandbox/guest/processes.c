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

#define MOST_LISTINGS 16u

struct process {
    pid_t pid, parent;
    char state; /* of its first thread, which may end before others */
    int threads;
    unsigned long long start; /* with the pid it names a process for good */
    bool below; /* what is looked for */
    bool fresh; /* added by the last listing */
    bool met;   /* has had its signal */
};

struct look { /* at the processes, by pid */
    struct process *all;
    size_t count, capacity;
};

struct family {
    pid_t parent;
    const struct children *but; /* without these of its children and commands; NULL: with all */
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

/* Whether the last look at the processes missed none of those looked for. */
bool processes_complete(void) {
    return complete;
}

static struct process *find(const struct look *look, size_t count, pid_t pid) {
    struct process key = {.pid = pid};
    return count ? bsearch(&key, look->all, count, sizeof key, by_pid) : NULL;
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

static bool is_child(const struct process *process, const struct family *family) {
    return process->parent == family->parent && (!family->but || is_new(process, family->but));
}

/* Mark what descends from what is marked. Parents mostly have the lower number, so that one pass
 * finds nearly all. */
static void mark_below(struct look *look) {
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < look->count; i++) {
            struct process *process = look->all + i;
            if (process->below)
                continue;
            const struct process *parent = find(look, look->count, process->parent);
            process->below = parent && parent->below;
            found |= process->below;
        }
    }
}

static bool has_ended(const struct process *process) {
    return process->threads <= 1 && (process->state == 'Z' || process->state == 'X');
}

/* The only place where a signal goes to a process by number. As the first process of a namespace
 * all others are the sandbox's. Elsewhere the number may by now be a stranger's: hold the process
 * and look again at what is held. */
static bool send_signal(const struct process *process, int number) {
    if (number == 0 || process->pid <= 1 || process->pid == getpid() || has_ended(process))
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

/* Whose parent ended while /proc was read may belong anywhere: only another look tells. */
static bool is_orphan_of_the_moment(const struct look *look, const struct process *process) {
    return process->parent > 0 && !process->below && !has_ended(process) &&
           !find(look, look->count, process->parent);
}

static bool is_seen(const struct look *look, size_t seen, const char *name) {
    return name[0] < '1' || name[0] > '9' || find(look, seen, atoi(name)) ||
           (look->count > seen && look->all[look->count - 1].pid == atoi(name));
}

/* Add the processes not seen yet. Those below one that was get the signal at once, and the end of
 * the listing is read again while it grows: what keeps forking itself away is the last process and
 * lives for less than a look. Return whether all could be read. */
static bool add_unseen(struct look *look, const struct family *family, int number) {
    size_t seen = look->count;
    unsigned again = 0;
    bool all_read = true, grown = false;
    long last = 0, here;
    struct dirent *entry;
    rewinddir(proc);
    while (here = telldir(proc), (entry = readdir(proc)) || (grown && again++ < MOST_LISTINGS)) {
        if (!entry) {
            seekdir(proc, last);
            grown = false;
            continue;
        }
        last = here;
        if (is_seen(look, seen, entry->d_name))
            continue;
        look->all = grow_array(look->all, look->count, &look->capacity, sizeof *look->all);
        struct process *process = look->all + look->count;
        grown = true;
        if (!read_process(entry->d_name, process)) {
            all_read = false;
            continue;
        }
        look->count++;
        const struct process *parent = find(look, seen, process->parent);
        process->below = is_child(process, family) || (parent && parent->below);
        process->fresh = true;
        process->met = process->below && send_signal(process, number);
    }
    return all_read;
}

/* Send the signal to what has been added and is below. Return whether any was, or may have been. */
static bool meet_fresh(struct look *look, int number) {
    bool any = false;
    if (look->count)
        qsort(look->all, look->count, sizeof *look->all, by_pid);
    mark_below(look);
    for (size_t i = 0; i < look->count; i++) {
        struct process *process = look->all + i;
        if (!process->fresh)
            continue;
        process->fresh = false;
        any |= process->below || is_orphan_of_the_moment(look, process);
        if (process->below && !process->met)
            send_signal(process, number);
    }
    return any;
}

/* Look at all processes, and send a signal to what descends from a family; 0: none.
 *
 * /proc is listed again until it holds nothing new of the family. Then nothing was missed: what
 * lives is in the listing itself, or its parent was when that one was listed and has been seen
 * alive. One listing would not do, as what is started during it may be in none. */
static struct look look_for(const struct family *family, int number) {
    struct look look = {.count = 0};
    complete = false;
    for (unsigned listing = 0; listing < MOST_LISTINGS && !complete; listing++) {
        bool all_read = add_unseen(&look, family, number);
        complete = !meet_fresh(&look, number) && all_read;
    }
    return look;
}

/* Return how many of those looked for live, whether the signal has reached them or not. */
static size_t count_living(const struct look *look, bool only_running) {
    size_t living = 0;
    for (size_t i = 0; i < look->count; i++) {
        const struct process *process = look->all + i;
        bool stopped = process->state == 'T' || process->state == 't';
        living += is_orphan_of_the_moment(look, process) ||
                  (process->below && !has_ended(process) && !(only_running && stopped));
    }
    return living;
}

static size_t signal_family(const struct family *family, int number, bool only_running) {
    struct look look = look_for(family, number);
    size_t living = count_living(&look, only_running);
    free(look.all);
    return living;
}

/* Send a signal to all that descends from a process, not to it. Return how many there are. */
size_t signal_tree(pid_t root, int number, bool only_running) {
    return signal_family(&(struct family){root, NULL}, number, only_running);
}

/* Send a signal to what has been orphaned since, with all that descends from it. */
size_t signal_new_children(const struct children *before, int number) {
    return signal_family(&(struct family){getpid(), before}, number, false);
}

/* Note the guest's children: commands, and what has been orphaned. */
void note_children(struct children *children) {
    struct look look = look_for(&(struct family){getpid(), NULL}, 0);
    children->count = 0;
    for (size_t i = 0; i < look.count; i++) {
        if (look.all[i].parent != getpid())
            continue;
        children->all = grow_array(children->all, children->count, &children->capacity,
                                   sizeof *children->all);
        children->all[children->count++] = (struct child){look.all[i].pid, look.all[i].start};
    }
    free(look.all);
}

/* Send a signal to a child that has not been reaped, whose number is therefore still its own. */
bool signal_child(pid_t pid, int number) {
    return pid > 1 && kill(pid, number) == 0;
}
