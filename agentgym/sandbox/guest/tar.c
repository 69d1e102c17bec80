/* Headers of GNU tar archives, as Python's tarfile writes and reads them: numbers in octal or,
 * where they do not fit, in base 256; names that do not fit in a member of their own before. */
#include "archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, target[100];
    char magic[8], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is one block");

void tar_put_number(char *field, size_t width, int64_t value) {
    if (value >= 0 && (uint64_t)value >> (3 * (width - 1)) == 0) {
        char digits[24];
        snprintf(digits, sizeof digits, "%0*llo", (int)width - 1, (unsigned long long)value);
        memcpy(field, digits, width); /* with the NUL */
        return;
    }
    for (size_t i = width; i-- > 1; value >>= 8)
        field[i] = (char)(value & 0xff);
    field[0] = value < 0 ? (char)0xff : (char)0x80;
}

static unsigned checksum(const struct header *header) {
    const unsigned char *bytes = (const unsigned char *)header;
    unsigned sum = 8 * ' '; /* what the field itself counts as */
    for (size_t i = 0; i < sizeof *header; i++)
        sum += bytes[i];
    for (size_t i = 0; i < sizeof header->checksum; i++)
        sum -= (unsigned char)header->checksum[i];
    return sum;
}

static void put_header(struct buffer *archive, const struct member *member, const char *name,
                       uint64_t size) {
    struct header header = {.magic = "ustar  ", .type = member->type};
    memcpy(header.name, name, strnlen(name, sizeof header.name));
    memcpy(header.target, member->target, strnlen(member->target, sizeof header.target));
    tar_put_number(header.mode, sizeof header.mode, member->metadata.mode);
    tar_put_number(header.uid, sizeof header.uid, member->metadata.uid);
    tar_put_number(header.gid, sizeof header.gid, member->metadata.gid);
    tar_put_number(header.mtime, sizeof header.mtime, member->metadata.mtime);
    tar_put_number(header.size, sizeof header.size, (int64_t)size);
    if (member->type == TAR_SPARSE)
        map_put((unsigned char *)&header, member->map);
    snprintf(header.checksum, sizeof header.checksum, "%06o", checksum(&header));
    header.checksum[7] = ' ';
    buffer_add(archive, &header, sizeof header);
}

void tar_pad(struct buffer *archive, uint64_t size) {
    static const unsigned char zeros[TAR_BLOCK];
    buffer_add(archive, zeros, tar_padding(size));
}

static void put_long(struct buffer *archive, char type, const char *value) {
    const struct member nobody = {.target = "", .type = type};
    size_t size = strlen(value) + 1;
    if (size <= 101)
        return;
    put_header(archive, &nobody, "././@LongLink", size);
    buffer_add(archive, value, size);
    tar_pad(archive, size);
}

/* Add a member's headers; its content and padding are to follow. */
void tar_put(struct buffer *archive, const struct member *member) {
    put_long(archive, TAR_LONG_TARGET, member->target);
    put_long(archive, TAR_LONG_NAME, member->name);
    put_header(archive, member, member->name, member->size);
    if (member->type == TAR_SPARSE)
        map_put_more(archive, member->map);
}

/* Read a number. Return whether it is one. */
bool tar_get_number(const char *field, size_t width, int64_t *value) {
    unsigned char first = (unsigned char)field[0];
    *value = first == 0xff ? -1 : 0;
    if (first == 0x80 || first == 0xff) {
        for (size_t i = 1; i < width; i++) {
            if (*value > INT64_MAX >> 8 || *value < INT64_MIN >> 8)
                return false;
            *value = *value * 256 + (unsigned char)field[i];
        }
        return true;
    }
    size_t i = 0;
    while (i < width && field[i] == ' ')
        i++;
    for (; i < width && field[i] >= '0' && field[i] <= '7'; i++)
        *value = *value * 8 + (field[i] - '0'); /* 12 digits at most */
    return i == width || field[i] == 0 || field[i] == ' ';
}

static bool get_id(const char *field, size_t width, uint32_t most, uint32_t *id) {
    int64_t value;
    if (!tar_get_number(field, width, &value) || value < 0 || value > most)
        return false;
    *id = (uint32_t)value;
    return true;
}

static char *get_name(const struct header *header) {
    char name[sizeof header->prefix + sizeof header->name + 2];
    bool prefixed = memcmp(header->magic, "ustar\00000", 8) == 0 && header->prefix[0];
    snprintf(name, sizeof name, "%.155s%s%.100s", prefixed ? header->prefix : "",
             prefixed ? "/" : "", header->name);
    return copy_string(name);
}

/* Read a header into a member, whose strings are then the caller's to free. Return whether it is
 * one that may be trusted to be meant. */
bool tar_read(const unsigned char *block, struct member *member) {
    struct header header;
    int64_t sum, size;
    memcpy(&header, block, sizeof header);
    if (!tar_get_number(header.checksum, sizeof header.checksum, &sum) || sum != checksum(&header) ||
        !get_id(header.mode, sizeof header.mode, UINT32_MAX, &member->metadata.mode) ||
        !get_id(header.uid, sizeof header.uid, UINT32_MAX - 1, &member->metadata.uid) ||
        !get_id(header.gid, sizeof header.gid, UINT32_MAX - 1, &member->metadata.gid) ||
        !tar_get_number(header.mtime, sizeof header.mtime, &member->metadata.mtime) ||
        !tar_get_number(header.size, sizeof header.size, &size) || size < 0)
        return false;
    member->metadata.mode &= 07777;
    member->size = (uint64_t)size;
    member->type = header.type ? header.type : TAR_FILE;
    member->name = get_name(&header);
    member->target = strndup(header.target, sizeof header.target);
    if (!member->target)
        die(BROKEN, "out of memory");
    return true;
}
