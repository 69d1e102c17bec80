/* What the guest may do, what commands may not, and acting on files as a user may.
 *
 * Commands lose every capability, and the guest empties its bounding set and sets no_new_privs
 * once for itself and all of them, so that no program file gives any back.
 */
#include "guest.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (1ull << (capability))
#define SWITCHING (BIT(CAP_SETUID) | BIT(CAP_SETGID))
#define FILES                                                                                      \
    (BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) |         \
     BIT(CAP_FSETID))
#define KEPT                                                                                       \
    (SWITCHING | BIT(CAP_KILL) | BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER))

static uint64_t held;  /* the guest's capabilities */
static bool separate;  /* the guest has a user of its own, which no command may be */
static bool switching; /* commands and files may belong to other users */
static bool disguised; /* files are used as another user */
static uid_t own_uid;
static gid_t own_gid;

static uint64_t held_now(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    if (syscall(SYS_capget, &header, data) < 0)
        die(BROKEN, "capget");
    return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static bool hold(uint64_t permitted, uint64_t effective) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {
        {(uint32_t)effective, (uint32_t)permitted, 0},
        {(uint32_t)(effective >> 32), (uint32_t)(permitted >> 32), 0},
    };
    return syscall(SYS_capset, &header, data) == 0;
}

/* A change of user makes a process traceable where the system is set to dump such processes. */
void stay_untraceable(void) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* cannot fail */
}

static void change_user(uint32_t id) {
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
        setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
        die(BROKEN, "cannot become the user of --uid");
    separate = true;
}

/* Become the guest: its own user where one is given, and no capability but those it needs. */
void privileges_keep(int64_t uid) {
    held = held_now();
    if (held & BIT(CAP_SETPCAP))
        for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
            if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
                die(BROKEN, "PR_CAPBSET_DROP");
    if (uid >= 0)
        change_user((uint32_t)uid);
    held &= KEPT;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || !hold(held, held))
        die(BROKEN, "cannot drop capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        die(BROKEN, "PR_SET_NO_NEW_PRIVS");
    stay_untraceable();
    switching = (held & SWITCHING) == SWITCHING;
    own_uid = getuid();
    own_gid = getgid();
}

/* Mount what PATH:BYTES:INODES:MODE says, in a mount namespace of the guest's own: that in which
 * it was started may belong to a user namespace above its own. */
void mount_tmpfs(const char *option) {
    static bool own;
    if (!own && unshare(CLONE_NEWNS) < 0)
        die(BROKEN, "cannot make a mount namespace");
    own = true;
    char *copy = strdup(option), *rest = copy, data[128];
    char *path = strsep(&rest, ":"), *bytes = strsep(&rest, ":"), *inodes = strsep(&rest, ":");
    if (!rest)
        die(BAD_OPTIONS, "--tmpfs takes PATH:BYTES:INODES:MODE");
    int size = snprintf(data, sizeof data, "size=%s,nr_inodes=%s,mode=%s", bytes, inodes, rest);
    if (size >= (int)sizeof data || mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, data) < 0)
        die(BROKEN, "cannot mount a tmpfs");
    free(copy);
}

/* Whether the guest has a user of its own, beside those of commands. */
bool is_separate(void) {
    return separate;
}

bool may_run_as(const struct identity *identity) {
    return identity->uid == own_uid ? !separate : switching;
}

/* Become a command's user for good, without any capability. */
bool become(const struct identity *identity) {
    if (!may_run_as(identity)) {
        errno = EPERM;
        return false;
    }
    if (identity->uid != own_uid &&
        (setgroups(identity->group_count, identity->groups) < 0 ||
         setresgid(identity->gid, identity->gid, identity->gid) < 0 ||
         setresuid(identity->uid, identity->uid, identity->uid) < 0))
        return false;
    stay_untraceable();
    return hold(0, 0);
}

/* These calls report no failure: asking for an impossible user returns the present one. */
static bool use_files_as(uid_t uid, gid_t gid) {
    setfsgid(gid);
    setfsuid(uid);
    stay_untraceable();
    return setfsgid((gid_t)-1) == (int)gid && setfsuid((uid_t)-1) == (int)uid;
}

/* Use files with a user's rights until `act_as_guest`. The capabilities for files go last: a
 * change to user 0 would bring them back. */
bool act_as(const struct identity *identity) {
    if (identity->uid != own_uid) {
        if (!switching) {
            errno = EPERM;
            return false;
        }
        disguised = true;
        if (setgroups(identity->group_count, identity->groups) < 0 ||
            !use_files_as(identity->uid, identity->gid)) {
            act_as_guest();
            errno = EPERM;
            return false;
        }
    }
    if ((held & FILES) && !hold(held, held & ~FILES))
        die(BROKEN, "cannot lay down capabilities");
    return true;
}

void act_as_guest(void) {
    if (disguised) {
        if (!use_files_as(own_uid, own_gid) || setgroups(0, NULL) < 0)
            die(BROKEN, "cannot lay down a user's rights");
        disguised = false;
    }
    if ((held & FILES) && !hold(held, held))
        die(BROKEN, "cannot take back capabilities");
}

/* Remove what belongs to a user and no capability is for, until `be_guest`. The real and saved
 * users stay, so this is no moment at which that user's processes have power over the guest. */
bool be_owner(uid_t uid) {
    bool done = setresuid((uid_t)-1, uid, (uid_t)-1) == 0;
    stay_untraceable();
    return done;
}

void be_guest(void) {
    if (setresuid((uid_t)-1, own_uid, (uid_t)-1) < 0 || !hold(held, held))
        die(BROKEN, "cannot be the guest again");
    stay_untraceable();
}

/* Set a file's mode; `gid` is that of a file which may be of a group the guest is not in, or -1.
 * The kernel drops the set-group-id bit from what a stranger to the group sets. */
bool set_mode(int fd, mode_t mode, int64_t gid) {
    bool join = gid >= 0 && switching && (mode & S_ISGID);
    if (join)
        setfsgid((gid_t)gid);
    bool done = fchmod(fd, mode) == 0;
    if (join) {
        setfsgid(own_gid);
        stay_untraceable();
    }
    return done;
}
