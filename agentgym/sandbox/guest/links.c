/* Files that have several names: the name under which each was met first. */
#include "archive.h"

#include <stdlib.h>

/* Return the name a file was met under before, or NULL and keep this one. */
const char *links_meet(struct links *links, dev_t device, ino_t inode, const char *name) {
    struct link **bucket = &links->buckets[inode % LINK_BUCKETS];
    for (struct link *link = *bucket; link; link = link->next)
        if (link->device == device && link->inode == inode)
            return link->name;
    struct link *link = allocate(sizeof *link);
    *link = (struct link){copy_string(name), device, inode, *bucket};
    *bucket = link;
    return NULL;
}

void links_free(struct links *links) {
    for (size_t i = 0; i < LINK_BUCKETS; i++) {
        struct link *next;
        for (struct link *link = links->buckets[i]; link; link = next) {
            next = link->next;
            free(link->name);
            free(link);
        }
    }
}
