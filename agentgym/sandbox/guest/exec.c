/* Commands: started, fed, listened to, ended with all they started, and reported. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct command *commands;

static void send_exit(const struct command *command, int code) {
    unsigned char *at = frame_room(16);
    at = put_u32(at, (uint32_t)code);
    at = put_u32(at, command->exit_flags);
    put_u64(at, now_us() - command->started_us);
    frame_send(EXIT, command->job.id, 16);
}

static void take_input(struct job *job, const unsigned char *data, size_t size) {
    input_add(&((struct command *)job)->input, data, size);
}

static void release(struct job *job) {
    struct command *command = (struct command *)job, **link = &commands;
    while (*link != command)
        link = &(*link)->next;
    *link = command->next;
    for (int i = 0; i < 3; i++)
        watch_close(&command->outputs[i].watch);
    input_close(&command->input);
    free(command->before.all);
}

static const struct job_type type = {.input = take_input, .release = release};

/* Say why a command did not start, as a shell would say it: an ordinary result. */
static void say(struct command *command, const char *before, const char *name, const char *why) {
    char text[512];
    int size = snprintf(text, sizeof text, "%s%.400s%s%s\n", before, name, *name ? ": " : "", why);
    uint64_t kept = (uint64_t)size < command->limit ? (uint64_t)size : command->limit;
    if (kept < (uint64_t)size)
        command->exit_flags |= EXIT_TRUNCATED;
    send_frame(STDERR, command->job.id, text, (size_t)kept);
    command->outputs[1].kept = kept;
}

static void not_started(struct command *command, const char *why) {
    say(command, "cannot start: ", "", why);
    send_exit(command, 126);
    job_end(&command->job);
}

/* Say what the child had no way to say. */
static void say_for(struct command *command, const struct launch *child) {
    const char *why = strerror(child->error);
    if (child->where == AT_START)
        say(command, "cannot start: ", "", why);
    else if (child->where == IN_FOLDER)
        say(command, "cannot start in ", child->directory, why);
    else
        say(command, "", child->arguments[0], why);
}

struct pipes {
    int ours[4], theirs[4]; /* standard output, standard error, control, input */
};

static void close_all(int files[4]) {
    for (int i = 0; i < 4; i++)
        if (files[i] >= 0)
            close(files[i]);
}

/* Only the guest's ends do not block: commands expect theirs to. */
static bool open_pipes(struct pipes *pipes, uint32_t flags) {
    const bool wanted[4] = {true, true, flags & EXEC_CONTROL, flags & (EXEC_STDIN | EXEC_CONTROL)};
    *pipes = (struct pipes){{-1, -1, -1, -1}, {-1, -1, -1, -1}};
    for (int i = 0; i < 4; i++) {
        int ends[2];
        if (!wanted[i])
            continue;
        if (pipe2(ends, O_CLOEXEC) < 0)
            return false;
        pipes->ours[i] = ends[i == 3];
        pipes->theirs[i] = ends[i != 3];
        fcntl(pipes->ours[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

static void start(struct command *command, uint32_t flags, struct launch *child) {
    static int nothing = -1;
    struct pipes pipes;
    if (nothing < 0)
        nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (!open_pipes(&pipes, flags)) {
        int error = errno;
        close_all(pipes.ours);
        close_all(pipes.theirs);
        not_started(command, strerror(error));
        return;
    }
    const int *theirs = pipes.theirs;
    bool control = flags & EXEC_CONTROL;
    const int files[5] = {control || theirs[3] < 0 ? nothing : theirs[3], theirs[0], theirs[1],
                          control ? theirs[3] : -1, theirs[2]};
    memcpy(child->files, files, sizeof files);
    child->guest = getpid();
    command->pid = spawn(child);
    int error = errno;
    close_all(pipes.theirs);
    if (command->pid < 0) {
        close_all(pipes.ours);
        not_started(command, error == EAGAIN ? "Resource temporarily unavailable (process limit)"
                                             : strerror(error));
        return;
    }
    output_open(&command->outputs[0], command, STDOUT, pipes.ours[0]);
    output_open(&command->outputs[1], command, STDERR, pipes.ours[1]);
    output_open(&command->outputs[2], command, CONTROL, pipes.ours[2]);
    input_open(&command->input, command->job.id, pipes.ours[3]);
    if (child->error)
        say_for(command, child);
}

static struct command *new_command(uint32_t id, uint64_t timeout_ms, uint64_t limit) {
    struct command *command = allocate(sizeof *command);
    command->started_us = now_us();
    command->limit = limit;
    command->deadline_us = UINT64_MAX;
    if (timeout_ms && timeout_ms < UINT64_MAX / 2000)
        command->deadline_us = command->started_us + timeout_ms * 1000;
    for (int i = 0; i < 3; i++)
        command->outputs[i].watch.fd = -1;
    command->input.watch.fd = -1;
    command->next = commands;
    commands = command;
    job_begin(&command->job, &type, id);
    return command;
}

/* Return an array of strings with a NULL behind and room for one more before, see `launch`. */
static char **take_strings(struct fields *fields) {
    size_t count = take_u32(fields);
    if (count > (size_t)(fields->end - fields->at) / 4)
        die(BAD_FRAME, "more strings than bytes");
    char **strings = (char **)allocate((count + 2) * sizeof *strings) + 1;
    for (size_t i = 0; i < count; i++)
        strings[i] = take_string(fields);
    return strings;
}

void exec_request(uint32_t id, struct fields *fields) {
    struct launch child = {.error = 0};
    uint32_t flags = take_u32(fields);
    uint64_t timeout_ms = take_u64(fields), limit = take_u64(fields);
    child.identity = find_user(take_string(fields));
    child.directory = take_path(fields);
    child.arguments = take_strings(fields);
    child.environment = take_strings(fields);
    take_end(fields);
    if (!child.arguments[0] || flags & ~(uint32_t)(EXEC_STDIN | EXEC_CONTROL))
        die(BAD_FRAME, "a command without a program or with unknown flags");
    struct command *command = new_command(id, timeout_ms, limit);
    if (!child.identity || !may_run_as(child.identity))
        not_started(command, "no such user");
    else
        start(command, flags, &child);
    free(child.arguments - 1);
    free(child.environment - 1);
}

/* Report a command whose process has ended; what it left running is the sandbox's. */
void command_exited(pid_t pid, int status) {
    struct command *command = commands;
    while (command && command->pid != pid)
        command = command->next;
    if (!command)
        return;
    command->pid = 0; /* the number is no longer its own */
    kill_leftovers(command);
    for (int i = 0; i < 3; i++)
        output_finish(&command->outputs[i]);
    send_exit(command, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    job_end(&command->job);
}
