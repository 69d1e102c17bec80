/* UNPACK: a tar archive as it arrives, in pieces cut anywhere, put into the folders it is for. */
#include "archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST_NAME (16u << 20)

enum phase { IN_HEADERS, IN_LONG, IN_MAP, IN_CONTENT, IN_PADDING, AT_END };

struct unpack {
    struct job job;
    bool as_user;
    struct identity identity;
    char **paths; /* clean: without slashes at the ends */
    size_t path_count;
    struct place place;
    enum phase phase;
    size_t wanted;         /* bytes that the phase takes together */
    struct buffer block;   /* those there are of them */
    struct member member;  /* at hand */
    char *long_name, *long_target;
    struct map map; /* of the file at hand */
    size_t part;
    uint64_t part_done;
    int file; /* -1: none */
    uint64_t entries;
};

static void enter_phase(struct unpack *unpack, enum phase phase, size_t wanted) {
    unpack->phase = phase;
    unpack->wanted = wanted;
    unpack->block.start = unpack->block.end = 0;
}

static bool is_file(const struct member *member) {
    return member->type == TAR_FILE || member->type == TAR_SPARSE;
}

static bool is_inside(const struct unpack *unpack, const char *name) {
    for (size_t i = 0; i < unpack->path_count; i++) {
        size_t size = strlen(unpack->paths[i]);
        if (strncmp(name, unpack->paths[i], size) == 0 && (name[size] == 0 || name[size] == '/'))
            return true;
    }
    return false;
}

static void forget_member(struct unpack *unpack) {
    free(unpack->member.name);
    free(unpack->member.target);
    unpack->member.name = unpack->member.target = NULL;
}

static void prefer(char **name, char **long_name) {
    if (!*long_name)
        return;
    free(*name);
    *name = *long_name;
    *long_name = NULL;
}

/* The content is there: finish the file and skip to the next header. */
static int end_content(struct unpack *unpack) {
    int error = 0;
    if (unpack->map.stored < unpack->map.size &&
        ftruncate(unpack->file, (off_t)unpack->map.size) < 0)
        error = errno;
    int other = place_file(&unpack->place, unpack->file, &unpack->member.metadata);
    unpack->file = -1;
    enter_phase(unpack, IN_PADDING, tar_padding(unpack->map.stored));
    return error ? error : other;
}

static int next_part(struct unpack *unpack) {
    unpack->part_done = 0;
    return unpack->part == unpack->map.count ? end_content(unpack) : 0;
}

/* Make what the headers describe. */
static int begin_member(struct unpack *unpack) {
    struct member *member = &unpack->member;
    bool file = is_file(member);
    if (unpack->map.stored != member->size)
        return -BAD_ARCHIVE;
    int error = place_member(&unpack->place, member, &unpack->file);
    unpack->entries++;
    enter_phase(unpack, file ? IN_CONTENT : IN_HEADERS, TAR_BLOCK);
    unpack->part = 0;
    return error || !file ? error : next_part(unpack);
}

static int check_member(struct unpack *unpack) {
    struct member *member = &unpack->member;
    prefer(&member->name, &unpack->long_name);
    prefer(&member->target, &unpack->long_target);
    bool known = is_file(member) || member->type == TAR_HARD || member->type == TAR_LINK ||
                 member->type == TAR_FOLDER || member->type == TAR_PIPE;
    if (!known || (member->size && !is_file(member)))
        return -BAD_ARCHIVE;
    if (!clean_name(member->name) || !is_inside(unpack, member->name))
        return -BAD_ARCHIVE;
    if (member->type == TAR_HARD &&
        (!clean_name(member->target) || !is_inside(unpack, member->target)))
        return -BAD_ARCHIVE;
    return 0;
}

static int take_header(struct unpack *unpack, const unsigned char *block) {
    static const unsigned char zeros[TAR_BLOCK];
    struct member *member = &unpack->member;
    if (memcmp(block, zeros, TAR_BLOCK) == 0) {
        enter_phase(unpack, AT_END, 0);
        return place_end(&unpack->place);
    }
    forget_member(unpack);
    if (!tar_read(block, member))
        return -BAD_ARCHIVE;
    if (member->type == TAR_LONG_NAME || member->type == TAR_LONG_TARGET) {
        bool fits = member->size > 0 && member->size <= LONGEST_NAME;
        enter_phase(unpack, IN_LONG, (size_t)member->size + tar_padding(member->size));
        return fits ? 0 : -BAD_ARCHIVE;
    }
    int error = check_member(unpack);
    if (error)
        return error;
    bool more = false;
    if (member->type == TAR_SPARSE) {
        if (!map_get(&unpack->map, block, &more))
            return -BAD_ARCHIVE;
    } else {
        map_whole(&unpack->map, member->size);
    }
    enter_phase(unpack, IN_MAP, TAR_BLOCK);
    return more ? 0 : begin_member(unpack);
}

static int take_long(struct unpack *unpack, const unsigned char *text) {
    bool name = unpack->member.type == TAR_LONG_NAME;
    char **place = name ? &unpack->long_name : &unpack->long_target;
    free(*place);
    *place = strndup((const char *)text, (size_t)unpack->member.size);
    if (!*place)
        die(BROKEN, "out of memory");
    enter_phase(unpack, IN_HEADERS, TAR_BLOCK);
    return 0;
}

static int take_map(struct unpack *unpack, const unsigned char *block) {
    bool more;
    if (!map_get_more(&unpack->map, block, &more))
        return -BAD_ARCHIVE;
    enter_phase(unpack, IN_MAP, TAR_BLOCK);
    return more ? 0 : begin_member(unpack);
}

/* Write content as it comes. Return how much was taken, or an error below 0 through `*error`. */
static size_t take_content(struct unpack *unpack, const unsigned char *data, size_t size,
                           int *error) {
    const struct part *part = unpack->map.parts + unpack->part;
    uint64_t left = part->size - unpack->part_done;
    size_t most = left < size ? (size_t)left : size;
    if (unpack->part_done == 0 && lseek(unpack->file, (off_t)part->offset, SEEK_SET) < 0)
        *error = errno;
    if (!*error)
        *error = write_all(unpack->file, data, most);
    unpack->part_done += most;
    if (!*error && unpack->part_done == part->size) {
        unpack->part++;
        *error = next_part(unpack);
    }
    return most;
}

static int take_block(struct unpack *unpack, const unsigned char *block) {
    switch (unpack->phase) {
    case IN_HEADERS:
        return take_header(unpack, block);
    case IN_LONG:
        return take_long(unpack, block);
    case IN_MAP:
        return take_map(unpack, block);
    default: /* padding */
        enter_phase(unpack, IN_HEADERS, TAR_BLOCK);
        return 0;
    }
}

/* Take a piece of the archive. Return 0, an errno, or a fault below 0. */
static int take_piece(struct unpack *unpack, const unsigned char *data, size_t size) {
    int error = 0;
    while (!error && unpack->phase != AT_END && (size || unpack->wanted == 0)) {
        if (unpack->phase == IN_CONTENT) {
            size_t taken = take_content(unpack, data, size, &error);
            data += taken;
            size -= taken;
            continue;
        }
        size_t missing = unpack->wanted - buffer_size(&unpack->block);
        size_t taken = missing < size ? missing : size;
        buffer_add(&unpack->block, data, taken);
        data += taken;
        size -= taken;
        if (taken == missing)
            error = take_block(unpack, unpack->block.data);
    }
    return error;
}

/* Nothing at all is an archive of nothing; anything else has to come to its end mark. */
static int take_end_of_archive(const struct unpack *unpack) {
    bool nothing = unpack->phase == IN_HEADERS && unpack->entries == 0 &&
                   buffer_size(&unpack->block) == 0;
    return unpack->phase == AT_END || nothing ? 0 : -BAD_ARCHIVE;
}

static void fail(struct unpack *unpack, int error) {
    job_fail(&unpack->job, error < 0 ? (enum fault)-error : SYSTEM, error < 0 ? 0 : error);
}

static void input(struct job *job, const unsigned char *data, size_t size) {
    struct unpack *unpack = (struct unpack *)job;
    int error;
    if (size == 0) {
        error = take_end_of_archive(unpack);
    } else if (unpack->as_user && !act_as(&unpack->identity)) {
        error = errno;
    } else {
        error = take_piece(unpack, data, size);
        if (unpack->as_user)
            act_as_guest();
    }
    if (error) {
        fail(unpack, error);
    } else if (size == 0) {
        send_ok(job->id, unpack->entries);
        job_end(job);
    }
}

static void release(struct job *job) {
    struct unpack *unpack = (struct unpack *)job;
    if (unpack->file >= 0)
        close(unpack->file);
    forget_member(unpack);
    free(unpack->long_name);
    free(unpack->long_target);
    free_paths(unpack->paths, unpack->path_count);
    walk_end(&unpack->place.walk);
    buffer_free(&unpack->block);
    map_clear(&unpack->map);
}

static const struct job_type type = {.input = input, .release = release, .cancellable = true};

/* Clear the paths and get ready to write to them. */
static int begin(struct unpack *unpack, bool clear) {
    int error = 0;
    if (unpack->as_user && !act_as(&unpack->identity))
        return errno;
    for (size_t i = 0; i < unpack->path_count && !error; i++) {
        if (clear)
            error = place_clear(unpack->paths[i]);
        if (!error && !clean_name(unpack->paths[i]))
            error = EINVAL;
    }
    if (!error)
        error = place_begin(&unpack->place, !unpack->as_user);
    if (unpack->as_user)
        act_as_guest();
    return error;
}

void unpack_request(uint32_t id, struct fields *fields) {
    struct unpack *unpack = allocate(sizeof *unpack);
    const char *user = take_string(fields);
    bool clear = take_u32(fields) == 1;
    unpack->paths = take_paths(fields, &unpack->path_count);
    take_end(fields);
    unpack->file = unpack->place.walk.fd = -1;
    enter_phase(unpack, IN_HEADERS, TAR_BLOCK);
    job_begin(&unpack->job, &type, id);
    const struct identity *identity = find_user(user);
    if (!identity) {
        job_fail(&unpack->job, NO_USER, 0);
        return;
    }
    unpack->as_user = *user;
    unpack->identity = *identity;
    int error = begin(unpack, clear);
    if (error)
        fail(unpack, error);
}
