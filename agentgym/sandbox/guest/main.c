/* The guest: the first process of a sandbox. It serves the host over one socket, and when that
 * ends, it ends and everything with it.
 *
 *     guest (--connect PATH | --fd N) [--uid N] [--tmpfs PATH:BYTES:INODES:MODE]...
 *           [--nofile N] [--nproc N] [--as BYTES]
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FIRST_OWN_FD 10 /* those below are for what commands get as 0 to 4 */
#define CONNECT_SECONDS 30
#define LAST_SIGNAL 64
#define CLOEXEC_RANGE 4u /* CLOSE_RANGE_CLOEXEC, newer than some headers */

struct limits limits = {.open_files = -1, .processes = -1, .address_space = -1};

struct options {
    const char *path;
    int64_t fd, uid;
};

_Noreturn void die(int status, const char *why) {
    if (why)
        fprintf(stderr, "agentgym guest: %s (errno %d)\n", why, errno);
    static bool dying;
    bool all_gone;
    if (getpid() != 1 && !dying) { /* the end of the first process is that of all anyway */
        dying = true;
        kill_everything(&all_gone);
    }
    _exit(status);
}

static int64_t number(const char *text) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 0)
        die(BAD_OPTIONS, "an option takes a number");
    return value;
}

static struct options read_options(int count, char **arguments) {
    static const struct option known[] = {
        {"connect", required_argument, NULL, 'c'}, {"fd", required_argument, NULL, 'f'},
        {"uid", required_argument, NULL, 'u'},     {"tmpfs", required_argument, NULL, 't'},
        {"nofile", required_argument, NULL, 'n'},  {"nproc", required_argument, NULL, 'p'},
        {"as", required_argument, NULL, 'a'},      {NULL, 0, NULL, 0},
    };
    struct options options = {NULL, -1, -1};
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        switch (option) {
        case 'c': options.path = optarg; break;
        case 'f': options.fd = number(optarg); break;
        case 'u': options.uid = number(optarg); break;
        case 't': mount_tmpfs(optarg); break;
        case 'n': limits.open_files = number(optarg); break;
        case 'p': limits.processes = number(optarg); break;
        case 'a': limits.address_space = number(optarg); break;
        default: die(BAD_OPTIONS, "an unknown option");
        }
    }
    if (optind != count || (options.path == NULL) == (options.fd < 0))
        die(BAD_OPTIONS, "either --connect PATH or --fd N is needed");
    return options;
}

/* Block every signal: none has a meaning here but the end of a child, which is read from a
 * descriptor. Commands start with none blocked and every disposition the default. */
static void block_signals(void) {
    /* Asked of the kernel itself: the C library keeps the first real-time signals to itself, and
     * whoever started the guest may ignore them. */
    static const unsigned long defaults[4];
    for (int signal = 1; signal <= LAST_SIGNAL; signal++)
        syscall(SYS_rt_sigaction, signal, defaults, NULL, 8); /* fails for two without another */
    struct sigaction standard = {.sa_handler = SIG_DFL};
    standard.sa_flags = SA_NOCLDSTOP;
    sigaction(SIGCHLD, &standard, NULL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        die(BAD_OPTIONS, "the socket's path is too long");
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint64_t end = now_us() + CONNECT_SECONDS * 1000000ull;
    while (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        if ((errno != ENOENT && errno != ECONNREFUSED && errno != EINTR) || now_us() > end)
            die(END_OF_HOST, "the host cannot be reached");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return fd;
}

/* Occupy the low descriptors, hide all others from commands, and move the host's out of reach. */
static int arrange_files(int host) {
    int fd;
    while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) < FIRST_OWN_FD)
        if (fd < 0)
            die(BROKEN, "cannot open /dev/null");
    int nothing = fd;
    if (syscall(SYS_close_range, 3u, ~0u, CLOEXEC_RANGE) < 0)
        for (fd = 3; fd < 65536; fd++)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (host >= 0 && host < FIRST_OWN_FD) {
        fd = fcntl(host, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
        dup3(nothing, host, O_CLOEXEC); /* the number stays occupied */
        host = fd;
    }
    close(nothing);
    return host;
}

/* The guest holds some descriptors for each of any number of commands. */
static void take_all_files(void) {
    if (getrlimit(RLIMIT_NOFILE, &limits.own_files) < 0)
        die(BROKEN, "getrlimit");
    struct rlimit all = {limits.own_files.rlim_max, limits.own_files.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &all) < 0)
        die(BROKEN, "setrlimit");
}

int main(int count, char **arguments) {
    block_signals();
    struct options options = read_options(count, arguments);
    umask(0);
    take_all_files();
    int host = arrange_files((int)options.fd);
    processes_open();
    score_open();
    privileges_keep(options.uid);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        die(BROKEN, "PR_SET_CHILD_SUBREAPER");
    seccomp_install();
    if (options.path)
        host = connect_to(options.path);
    if (host < 0)
        die(BAD_OPTIONS, "no socket to the host");
    loop_open();
    reaper_open();
    connection_open(host);
    unsigned char hello[8];
    put_u32(put_u32(hello, WIRE_VERSION), getuid());
    send_frame(HELLO, 0, hello, sizeof hello);
    connection_flush();
    loop_run();
}
