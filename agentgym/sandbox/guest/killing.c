/* Ending commands: on request and when their time is over.
 *
 * The command itself is stopped first and ends last: while it exists it adopts every orphan below
 * it, so that nothing it has started can be missed. What is below is stopped before it is killed,
 * so that a fork bomb runs into its limit instead of away.
 */
#include "guest.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define ROUND_US 1000u
#define FREEZING_ROUNDS 8u
#define MOST_ROUNDS 2000u
#define CERTAIN_LOOKS 30u
#define MOST_LEFTOVER_ROUNDS 200u

static struct command *find(uint32_t id) {
    struct command *command = commands;
    while (command && command->job.id != id)
        command = command->next;
    return command;
}

/* Whether nothing lives any more, after a look that found nothing. While others fork it takes many
 * such looks to be sure: what keeps forking itself away is missed by most. */
static bool is_certain(struct command *command) {
    command->empty_looks++;
    return processes_complete() || command->empty_looks >= CERTAIN_LOOKS;
}

static void kill_round(struct command *command, uint64_t now) {
    unsigned round = command->kill_round++;
    if (round == 0)
        note_children(&command->before);
    command->kill_at_us = now + ROUND_US;
    signal_child(command->pid, SIGSTOP);
    if (round < FREEZING_ROUNDS && signal_tree(command->pid, SIGSTOP, true) > 0)
        return;
    bool all_gone;
    if (signal_tree(command->pid, SIGKILL, false) > 0)
        command->empty_looks = 0;
    else if (is_certain(command))
        command->kill_done = signal_child(command->pid, SIGKILL);
    if (round >= MOST_ROUNDS && !command->kill_done)
        kill_everything(&all_gone); /* it runs away faster than it is killed */
}

/* A command that ends while what is below it is being killed, which somebody else must have seen
 * to, leaves that to the guest: kill it there. */
void kill_leftovers(struct command *command) {
    const struct timespec pause = {.tv_nsec = ROUND_US * 1000};
    if (!command->kill_at_us || command->kill_done)
        return;
    command->empty_looks = 0;
    for (unsigned round = 0; round < MOST_LEFTOVER_ROUNDS; round++) {
        if (signal_new_children(&command->before, SIGKILL) > 0)
            command->empty_looks = 0;
        else if (is_certain(command))
            return;
        nanosleep(&pause, NULL);
    }
}

void signal_request(uint32_t id, struct fields *fields) {
    uint32_t target = take_u32(fields), number = take_u32(fields);
    take_end(fields);
    struct command *command = find(target);
    if (!command) {
        send_fail(id, NO_SUCH_TARGET, 0);
        return;
    }
    if (number > 64) {
        send_fail(id, SYSTEM, EINVAL);
        return;
    }
    if (number)
        signal_tree(command->pid, (int)number, false);
    else if (!command->kill_at_us)
        kill_round(command, now_us());
    send_ok(id, 0);
}

void kill_all_request(uint32_t id, struct fields *fields) {
    take_end(fields);
    bool all_gone;
    uint64_t count = kill_everything(&all_gone);
    remove_ipc();
    if (all_gone)
        send_ok(id, count);
    else
        send_fail(id, SYSTEM, ETIMEDOUT);
}

/* Return when a command is next to be looked at, in microseconds of `now_us`. */
uint64_t commands_next_us(void) {
    uint64_t next = UINT64_MAX;
    for (struct command *command = commands; command; command = command->next) {
        uint64_t due = command->kill_at_us ? command->kill_at_us : command->deadline_us;
        next = due < next ? due : next;
    }
    return next;
}

void commands_tick(uint64_t now) {
    struct command *next;
    for (struct command *command = commands; command; command = next) {
        next = command->next; /* what ends meanwhile is freed later and has no process */
        if (command->pid == 0)
            continue;
        if (!command->kill_at_us && now >= command->deadline_us)
            command->exit_flags |= EXIT_TIMED_OUT;
        else if (!command->kill_at_us || now < command->kill_at_us)
            continue;
        kill_round(command, now);
    }
}
