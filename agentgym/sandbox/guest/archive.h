/* What making and reading archives shares: walks through trees, headers, and where things go. */
#ifndef ARCHIVE_H
#define ARCHIVE_H

#include "guest.h"

/* walk.c: through folders, never through a symbolic link, with one descriptor however deep */

struct level {
    char *name; /* in the folder above; NULL at the top */
    dev_t device;
    ino_t inode;
    char **names; /* what is in it, where it was listed */
    size_t count, next;
    struct metadata *metadata; /* what is to be set when it is left, or NULL */
};
struct walk {
    int fd;          /* the folder at hand, the last of the levels; -1: none */
    bool one_device; /* what is mounted below the top is left alone */
    struct level *levels;
    size_t depth, capacity;
};
int walk_begin(struct walk *walk, int fd);
int walk_down(struct walk *walk, const char *name, int flags);
int walk_up(struct walk *walk);
int walk_return(struct walk *walk, int top);
int walk_list(struct walk *walk);
const char *walk_next(struct walk *walk);
void walk_end(struct walk *walk);
struct level *walk_level(struct walk *walk);
int open_above(const char *path, bool follow, const char **last);
bool is_dots(const char *name);

/* tar.c: the headers of GNU tar archives */

#define TAR_BLOCK 512u
struct metadata {
    uint32_t uid, gid, mode; /* permissions only */
    int64_t mtime;           /* seconds */
};
struct member {
    char *name, *target; /* of a link; otherwise empty */
    struct metadata metadata;
    uint64_t size; /* of its content in the archive */
    char type;     /* one of TAR_... */
    const struct map *map; /* of a TAR_SPARSE that is written */
};
enum { TAR_FILE = '0', TAR_HARD = '1', TAR_LINK = '2', TAR_FOLDER = '5', TAR_PIPE = '6' };
enum { TAR_SPARSE = 'S', TAR_LONG_NAME = 'L', TAR_LONG_TARGET = 'K' };
void tar_put(struct buffer *archive, const struct member *member);
void tar_pad(struct buffer *archive, uint64_t size);
void tar_put_number(char *field, size_t width, int64_t value);
bool tar_get_number(const char *field, size_t width, int64_t *value);
bool tar_read(const unsigned char *block, struct member *member);
static inline size_t tar_padding(uint64_t size) {
    return (size_t)(-size % TAR_BLOCK);
}

/* sparse.c */

struct part {
    uint64_t offset, size;
};
struct map { /* where a file holds data */
    struct part *parts;
    size_t count, capacity;
    uint64_t size, stored; /* the whole file; what of it is data */
};
int map_file(struct map *map, int fd, uint64_t size);
void map_whole(struct map *map, uint64_t size);
void map_clear(struct map *map);
void map_put(unsigned char *header, const struct map *map);
void map_put_more(struct buffer *archive, const struct map *map);
bool map_get(struct map *map, const unsigned char *header, bool *more);
bool map_get_more(struct map *map, const unsigned char *block, bool *more);

/* source.c */

struct stat;
struct source {
    int file; /* -1: none */
    struct map map;
    size_t part;
    uint64_t part_done;
};
int source_open(struct source *source, int folder, const char *name, struct stat *status);
int source_map(struct source *source, const struct stat *status);
int source_copy(struct source *source, struct buffer *archive);
void source_close(struct source *source);

/* removing.c */

int remove_content(int fd);
int remove_path(int folder, const char *name);

/* place.c */

struct place {
    struct walk walk;
    bool owners; /* members get the owners that the archive names */
};
bool clean_name(char *name);
int place_begin(struct place *place, bool owners);
int place_end(struct place *place);
int place_member(struct place *place, const struct member *member, int *file);
int place_file(const struct place *place, int file, const struct metadata *metadata);
int place_clear(const char *path);

/* links.c */

#define LINK_BUCKETS 1024u
struct link {
    char *name;
    dev_t device;
    ino_t inode;
    struct link *next;
};
struct links {
    struct link *buckets[LINK_BUCKETS];
};
const char *links_meet(struct links *links, dev_t device, ino_t inode, const char *name);
void links_free(struct links *links);

#endif
