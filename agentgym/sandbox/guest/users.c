/* Who a name is, by the sandbox's own /etc/passwd and /etc/group.
 *
 * The C library's look-up would load shared objects. What is found is kept: the system's folders
 * are read-only, so it does not change.
 */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT 8
#define NAME_SIZE 64

static struct {
    char name[NAME_SIZE];
    struct identity identity;
} kept[KEPT];
static size_t kept_count;

static bool parse_id(const char *text, uint32_t *id) {
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || value >= UINT32_MAX) /* the last one means "no change" to the kernel */
        return false;
    *id = (uint32_t)value;
    return true;
}

/* Split a line of passwd or group at its colons. */
static size_t split(char *line, char *parts[], size_t most) {
    size_t count = 0;
    line[strcspn(line, "\n")] = 0;
    while (line && count < most)
        parts[count++] = strsep(&line, ":");
    return count;
}

/* Find a user by name or number, and the name that the group file knows it by. */
static bool search_passwd(const char *name, struct identity *found, char *known_as) {
    FILE *file = fopen("/etc/passwd", "re");
    char *line = NULL, *parts[5];
    size_t size = 0;
    uint32_t number = UINT32_MAX;
    bool done = false;
    parse_id(name, &number);
    while (file && !done && getline(&line, &size, file) > 0) {
        if (split(line, parts, 5) < 4 || !parse_id(parts[2], &found->uid) ||
            !parse_id(parts[3], &found->gid))
            continue;
        done = strcmp(parts[0], name) == 0 || found->uid == number;
        if (done)
            snprintf(known_as, NAME_SIZE, "%s", parts[0]);
    }
    free(line);
    if (file)
        fclose(file);
    return done;
}

static bool is_member(char *members, const char *name) {
    for (char *member; (member = strsep(&members, ","));)
        if (strcmp(member, name) == 0)
            return true;
    return false;
}

static void search_groups(const char *name, struct identity *found) {
    FILE *file = fopen("/etc/group", "re");
    char *line = NULL, *parts[4];
    size_t size = 0, most = sizeof found->groups / sizeof *found->groups;
    uint32_t gid;
    while (file && found->group_count < most && getline(&line, &size, file) > 0)
        if (split(line, parts, 4) == 4 && parse_id(parts[2], &gid) && is_member(parts[3], name))
            found->groups[found->group_count++] = gid;
    free(line);
    if (file)
        fclose(file);
}

static bool look_up(const char *name, struct identity *found) {
    char known_as[NAME_SIZE];
    *found = (struct identity){0};
    if (search_passwd(name, found, known_as)) {
        search_groups(known_as, found);
        return true;
    }
    if (!parse_id(name, &found->uid))
        return false;
    found->gid = found->uid;
    return true;
}

static const struct identity *find(const char *name) {
    static struct identity own;
    if (!*name) {
        own = (struct identity){.uid = getuid(), .gid = getgid()};
        return &own;
    }
    for (size_t i = 0; i < kept_count && i < KEPT; i++)
        if (strcmp(kept[i].name, name) == 0)
            return &kept[i].identity;
    struct identity found;
    if (strlen(name) >= NAME_SIZE || !look_up(name, &found))
        return NULL;
    size_t slot = kept_count++ % KEPT;
    snprintf(kept[slot].name, NAME_SIZE, "%s", name);
    kept[slot].identity = found;
    return &kept[slot].identity;
}

/* Return the user of a name or number, "" being the guest's own, or NULL where there is none or
 * may be none: in a container, root owns the system's files whatever capabilities it lacks. */
const struct identity *find_user(const char *name) {
    const struct identity *identity = find(name);
    return identity && (identity->uid != 0 || !is_separate()) ? identity : NULL;
}
