/* System calls that no command has a use for but to reach the kernel's less trodden ground, or
 * to leave the tree it is killed by. The filter is put on the guest once and inherited by all,
 * which costs a command nothing.
 *
 * It is a list of what is denied, with EPERM, so that programs meet what they know from
 * containers; tracing one's own processes stays allowed, for debuggers.
 */
#include "guest.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "the guest's system call filter knows x86_64 and aarch64"
#endif

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define NEW_NAMESPACES                                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)
#define X32_BIT 0x40000000u
#define MOST_LINES 400

/* Newer than some headers; the numbers are the same on every architecture. */
enum {
    CALL_OPEN_TREE = 428,
    CALL_MOVE_MOUNT = 429,
    CALL_FSOPEN = 430,
    CALL_FSCONFIG = 431,
    CALL_FSMOUNT = 432,
    CALL_FSPICK = 433,
    CALL_CLONE3 = 435,
    CALL_MOUNT_SETATTR = 442,
    CALL_QUOTACTL_FD = 443,
    CALL_OPEN_TREE_ATTR = 467,
    CALL_IO_URING_SETUP = 425,
    CALL_IO_URING_ENTER = 426,
    CALL_IO_URING_REGISTER = 427,
};

static const uint32_t denied[] = {
    /* file systems and roots */
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_swapon, SYS_swapoff, CALL_OPEN_TREE,
    CALL_MOVE_MOUNT, CALL_FSOPEN, CALL_FSCONFIG, CALL_FSMOUNT, CALL_FSPICK, CALL_MOUNT_SETATTR,
    CALL_OPEN_TREE_ATTR, SYS_quotactl, CALL_QUOTACTL_FD, SYS_acct, SYS_nfsservctl,
    SYS_open_by_handle_at, SYS_name_to_handle_at,
    /* namespaces */
    SYS_unshare, SYS_setns,
    /* the kernel itself */
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_syslog,
    SYS_lookup_dcookie, CALL_IO_URING_SETUP, CALL_IO_URING_ENTER, CALL_IO_URING_REGISTER,
    /* keys, which no namespace parts */
    SYS_add_key, SYS_request_key, SYS_keyctl,
    /* clocks and names */
    SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
    SYS_setdomainname,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_create_module, SYS_get_kernel_syms,
    SYS_query_module, SYS__sysctl,
#endif
};

struct program {
    struct sock_filter lines[MOST_LINES];
    unsigned short count;
};

static void add(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no) {
    if (program->count == MOST_LINES)
        die(BROKEN, "the system call filter is too long");
    program->lines[program->count++] = (struct sock_filter){code, yes, no, value};
}

static void load(struct program *program, size_t offset) {
    add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *program, uint32_t action) {
    add(program, BPF_RET | BPF_K, action, 0, 0);
}

/* The low half of an argument; the flags and numbers that matter here fit in it. */
static size_t argument(int number) {
    return offsetof(struct seccomp_data, args) + (size_t)number * 8; /* little-endian */
}

static const uint32_t denial = SECCOMP_RET_ERRNO | EPERM;

/* Deny one call where `compare` holds for an argument, and allow it otherwise. */
static void deny_where(struct program *program, uint32_t call, int number, uint16_t compare,
                       uint32_t value) {
    add(program, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
    load(program, argument(number));
    add(program, BPF_JMP | compare | BPF_K, value, 0, 1);
    answer(program, denial);
    answer(program, SECCOMP_RET_ALLOW);
}

static void check_architecture(struct program *program) {
    load(program, offsetof(struct seccomp_data, arch));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
    answer(program, SECCOMP_RET_KILL_PROCESS);
    load(program, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    add(program, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    answer(program, SECCOMP_RET_ERRNO | ENOSYS);
#endif
}

/* Leaving the tree: a command is its tree's subreaper, and stays so. */
static void deny_unsetting_subreaper(struct program *program) {
    add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 6);
    load(program, argument(0));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, PR_SET_CHILD_SUBREAPER, 0, 3);
    load(program, argument(1));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
    answer(program, denial);
    answer(program, SECCOMP_RET_ALLOW);
}

/* Typing into somebody else's terminal, or copying from it. */
static void deny_terminal_tricks(struct program *program) {
    add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5);
    load(program, argument(1));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 1, 0);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 0, 1);
    answer(program, denial);
    answer(program, SECCOMP_RET_ALLOW);
}

/* Sockets for programs to talk by, and no others: some of those know no namespaces and lead out
 * of a virtual machine, and all are the kernel's less trodden ground. */
static void allow_usual_sockets(struct program *program) {
    static const uint32_t usual[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    enum { COUNT = sizeof usual / sizeof *usual };
    add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, COUNT + 3);
    load(program, argument(0));
    for (uint8_t i = 0; i < COUNT; i++)
        add(program, BPF_JMP | BPF_JEQ | BPF_K, usual[i], (uint8_t)(COUNT - i), 0);
    answer(program, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
    answer(program, SECCOMP_RET_ALLOW);
}

/* The C library falls back to clone, whose flags can be seen, where there is no clone3. */
static void hide_clone3(struct program *program) {
    add(program, BPF_JMP | BPF_JEQ | BPF_K, CALL_CLONE3, 0, 1);
    answer(program, SECCOMP_RET_ERRNO | ENOSYS);
}

void seccomp_install(void) {
    static struct program program;
    check_architecture(&program);
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        add(&program, BPF_JMP | BPF_JEQ | BPF_K, denied[i], 0, 1);
        answer(&program, denial);
    }
    hide_clone3(&program);
    allow_usual_sockets(&program);
    deny_unsetting_subreaper(&program);
    deny_terminal_tricks(&program);
    /* CLONE_PARENT makes a child of the guest's, which is in no command's tree. */
    deny_where(&program, SYS_clone, 0, BPF_JSET, NEW_NAMESPACES | CLONE_PARENT);
    /* Only one's own limits: the guest's could be those of the same user. */
    deny_where(&program, SYS_prlimit64, 0, BPF_JGT, 0);
    answer(&program, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {program.count, program.lines};
    /* Without the flag, kernels before 5.16 slow all commands down for an attack that is one of
     * code on its own process. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) < 0)
        die(BROKEN, "cannot install the system call filter");
}
