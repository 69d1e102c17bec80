/* System V memory, queues and semaphores, which outlive the processes that made them.
 *
 * They are gone with the namespace, but a sandbox that is reset keeps its own. POSIX queues need
 * no such care: commands may have none (launch.c).
 */
#include "guest.h"

#include <stdio.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

static int remove_memory(int id) {
    return shmctl(id, IPC_RMID, NULL);
}

static int remove_queue(int id) {
    return msgctl(id, IPC_RMID, NULL);
}

static int remove_semaphores(int id) {
    return semctl(id, 0, IPC_RMID);
}

static const struct {
    const char *list, *fields; /* of a line: the object's id and its owner */
    int (*remove)(int id);
} kinds[] = {
    {"/proc/sysvipc/shm", "%*d %d %*o %*u %*d %*d %*u %u", remove_memory},
    {"/proc/sysvipc/msg", "%*d %d %*o %*u %*u %*d %*d %u", remove_queue},
    {"/proc/sysvipc/sem", "%*d %d %*o %*u %u", remove_semaphores},
};

/* Remove them all. Only for the first process: elsewhere they are the whole machine's. */
void remove_ipc(void) {
    for (size_t i = 0; getpid() == 1 && i < sizeof kinds / sizeof *kinds; i++) {
        FILE *list = fopen(kinds[i].list, "re");
        char line[256];
        int id;
        unsigned owner;
        while (list && fgets(line, sizeof line, list))
            if (sscanf(line, kinds[i].fields, &id, &owner) == 2 && be_owner(owner)) {
                kinds[i].remove(id);
                be_guest();
            }
        if (list)
            fclose(list);
    }
}
