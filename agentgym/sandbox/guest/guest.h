/* What the parts of the guest know of each other.
 *
 * The guest is one thread around one epoll set. The host's requests are trusted for what they
 * ask; every process, file and byte inside the sandbox is the agent's and trusted for nothing.
 */
#ifndef GUEST_H
#define GUEST_H

#define _GNU_SOURCE

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "protocol.h"

/* main.c */

struct limits { /* for commands; -1 leaves what the guest was started with */
    int64_t open_files, processes, address_space;
    struct rlimit own_files; /* before the guest took all it could */
};
extern struct limits limits;

enum { END_OF_HOST = 0, BAD_OPTIONS = 2, BAD_FRAME = 3, BROKEN = 4 };
_Noreturn void die(int status, const char *why);

/* memory.c */

struct buffer { /* bytes start to end of data are in use */
    unsigned char *data;
    size_t start, end, capacity;
};
void *allocate(size_t size);
char *copy_string(const char *string);
void *grow_array(void *array, size_t count, size_t *capacity, size_t item);
unsigned char *buffer_room(struct buffer *buffer, size_t size);
void buffer_add(struct buffer *buffer, const void *data, size_t size);
void buffer_trim(struct buffer *buffer);
void buffer_free(struct buffer *buffer);
static inline size_t buffer_size(const struct buffer *buffer) {
    return buffer->end - buffer->start;
}

/* fields.c: a payload, read in order. A field that is cut off ends the guest. */

struct fields {
    unsigned char *at, *end;
};
uint16_t take_u16(struct fields *fields);
uint32_t take_u32(struct fields *fields);
uint64_t take_u64(struct fields *fields);
char *take_string(struct fields *fields);
char *take_path(struct fields *fields);
char **take_paths(struct fields *fields, size_t *count);
void free_paths(char **paths, size_t count);
void take_end(const struct fields *fields);
unsigned char *put_u32(unsigned char *at, uint32_t value);
unsigned char *put_u64(unsigned char *at, uint64_t value);
unsigned char *put_string(unsigned char *at, const char *value, size_t size);

/* loop.c */

enum set { CONTROL_SET, BULK_SET }; /* what is in the second rests while the host is slow */
struct watch {
    int fd; /* -1: closed; late events of it are dropped */
    enum set set;
    bool watched;
    void (*ready)(struct watch *watch, uint32_t events);
};
void loop_open(void);
void loop_run(void);
void watch_change(struct watch *watch, uint32_t events);
void watch_rest(struct watch *watch);
void watch_close(struct watch *watch);
void free_later(void *memory);
uint64_t now_us(void);

/* connection.c */

void connection_open(int fd);
void connection_flush(void);
void connection_trim(void);
bool output_has_room(void);
unsigned char *frame_room(size_t size);
void frame_send(enum kind kind, uint32_t id, size_t size);
void send_frame(enum kind kind, uint32_t id, const void *payload, size_t size);
void send_ok(uint32_t id, uint64_t value);
void send_fail(uint32_t id, enum fault fault, int number);

/* requests.c */

void handle_frame(uint8_t kind, uint32_t id, unsigned char *payload, size_t size);

/* jobs.c: requests that take more than one frame or one turn of the loop */

struct job;
struct job_type {
    void (*input)(struct job *job, const unsigned char *data, size_t size); /* may be NULL */
    void (*step)(struct job *job); /* produce some output; NULL: it waits for events */
    void (*release)(struct job *job);
    bool cancellable;
};
struct job {
    const struct job_type *type;
    uint32_t id;
    struct job *next;
};
void job_begin(struct job *job, const struct job_type *type, uint32_t id);
void job_end(struct job *job);
void job_fail(struct job *job, enum fault fault, int number);
struct job *job_find(uint32_t id);
bool jobs_none(void);
bool jobs_step(void);
void job_cancel(uint32_t id);

/* users.c */

struct identity {
    uid_t uid;
    gid_t gid;
    size_t group_count;
    gid_t groups[64];
};
const struct identity *find_user(const char *name);

/* privileges.c */

void privileges_keep(int64_t uid);
void mount_tmpfs(const char *option);
bool is_separate(void);
bool may_run_as(const struct identity *identity);
bool become(const struct identity *identity);
bool act_as(const struct identity *identity);
void act_as_guest(void);
bool be_owner(uid_t uid);
void be_guest(void);
void stay_untraceable(void);
bool set_mode(int fd, mode_t mode, int64_t gid);

/* seccomp.c */

void seccomp_install(void);

/* exec.c, killing.c, output.c, input.c, launch.c */

struct command;
struct output {
    struct watch watch;
    struct command *command;
    enum kind kind;
    uint64_t kept;
};
struct input {
    struct watch watch;
    uint32_t id, passed; /* bytes passed on that the host has not been told of */
    struct buffer waiting;
    bool ended;
};
struct children { /* of the guest at one moment, by number and start */
    struct child {
        pid_t pid;
        unsigned long long start;
    } *all;
    size_t count, capacity;
};
struct command {
    struct job job;
    struct command *next;
    pid_t pid;
    struct output outputs[3];
    struct input input;
    uint64_t limit, started_us, deadline_us;
    uint64_t kill_at_us; /* the next round of killing its tree; 0: it is not being killed */
    unsigned kill_round, empty_looks;
    bool kill_done;         /* nothing is left below it, and it has been killed itself */
    struct children before; /* when its killing began */
    uint32_t exit_flags;
};
struct launch {
    const struct identity *identity;
    const char *directory;
    char **arguments, **environment;
    pid_t guest;
    int files[5]; /* what becomes descriptors 0 to 4; -1: not there */
    int error;    /* left by the child where it could not start */
    enum stage { AT_START, IN_FOLDER, AT_PROGRAM } where;
};
extern struct command *commands;
void exec_request(uint32_t id, struct fields *fields);
void signal_request(uint32_t id, struct fields *fields);
void kill_all_request(uint32_t id, struct fields *fields);
void command_exited(pid_t pid, int status);
uint64_t commands_next_us(void);
void commands_tick(uint64_t now);
void kill_leftovers(struct command *command);
void output_open(struct output *output, struct command *command, enum kind kind, int fd);
void output_finish(struct output *output);
void input_open(struct input *input, uint32_t id, int fd);
void input_add(struct input *input, const unsigned char *data, size_t size);
void input_close(struct input *input);
_Noreturn void launch(struct launch *launch);

/* spawn.c */

void score_open(void);
pid_t spawn(struct launch *child);

/* processes.c */

void processes_open(void);
size_t signal_tree(pid_t root, int number, bool only_running);
bool processes_complete(void);
void note_children(struct children *children);
size_t signal_new_children(const struct children *before, int number);
bool signal_child(pid_t pid, int number);

/* reaper.c */

void reaper_open(void);
uint64_t kill_everything(bool *all_gone);

/* ipc.c */

void remove_ipc(void);

/* files.c, content.c, listing.c */

#define ENTRY_SIZE (36 + 2 * 4096) /* its numbers and two paths */
bool act_for(uint32_t id, const char *user);
bool is_own(int fd);
size_t put_entry(unsigned char *at, int folder, const char *file, const char *name);
int make_parents(char *path);
int write_all(int fd, const unsigned char *data, size_t size);

void stat_request(uint32_t id, struct fields *fields);
void make_dir_request(uint32_t id, struct fields *fields);
void remove_request(uint32_t id, struct fields *fields);
void read_request(uint32_t id, struct fields *fields);
void write_request(uint32_t id, struct fields *fields);
void list_request(uint32_t id, struct fields *fields);

/* pack.c, unpack.c */

void pack_request(uint32_t id, struct fields *fields);
void unpack_request(uint32_t id, struct fields *fields);

/* streams.c */

void listen_request(uint32_t id, struct fields *fields);
void stream_frame(uint8_t kind, uint32_t id, unsigned char *payload, size_t size);

#endif
