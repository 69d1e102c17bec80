/* Payloads: fixed little-endian numbers and strings with their length in front. */
#include "guest.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *take(struct fields *fields, size_t size) {
    if ((size_t)(fields->end - fields->at) < size)
        die(BAD_FRAME, "a field is cut off");
    unsigned char *at = fields->at;
    fields->at += size;
    return at;
}

uint16_t take_u16(struct fields *fields) {
    uint16_t value;
    memcpy(&value, take(fields, sizeof value), sizeof value);
    return le16toh(value);
}

uint32_t take_u32(struct fields *fields) {
    uint32_t value;
    memcpy(&value, take(fields, sizeof value), sizeof value);
    return le32toh(value);
}

uint64_t take_u64(struct fields *fields) {
    uint64_t value;
    memcpy(&value, take(fields, sizeof value), sizeof value);
    return le64toh(value);
}

/* Return a string, ended by NUL. It is moved over its own length field, which makes the room for
 * the NUL, so it lives as long as the frame and nothing is allocated. */
char *take_string(struct fields *fields) {
    char *string = (char *)fields->at;
    size_t size = take_u32(fields);
    unsigned char *data = take(fields, size);
    if (memchr(data, 0, size))
        die(BAD_FRAME, "a string holds a NUL");
    memmove(string, data, size);
    string[size] = 0;
    return string;
}

char *take_path(struct fields *fields) {
    char *path = take_string(fields);
    if (path[0] != '/')
        die(BAD_FRAME, "a path is not absolute");
    return path;
}

/* Return copies of a number of paths, which `free_paths` frees. */
char **take_paths(struct fields *fields, size_t *count) {
    *count = take_u32(fields);
    if (*count > (size_t)(fields->end - fields->at) / 4)
        die(BAD_FRAME, "more paths than bytes");
    char **paths = allocate((*count + 1) * sizeof *paths);
    for (size_t i = 0; i < *count; i++)
        paths[i] = copy_string(take_path(fields));
    return paths;
}

void free_paths(char **paths, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

void take_end(const struct fields *fields) {
    if (fields->at != fields->end)
        die(BAD_FRAME, "a frame is too long");
}

unsigned char *put_u32(unsigned char *at, uint32_t value) {
    value = htole32(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

unsigned char *put_u64(unsigned char *at, uint64_t value) {
    value = htole64(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

unsigned char *put_string(unsigned char *at, const char *value, size_t size) {
    at = put_u32(at, (uint32_t)size);
    memcpy(at, value, size);
    return at + size;
}
