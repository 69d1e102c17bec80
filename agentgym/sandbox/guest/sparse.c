/* Files with holes: which parts of them hold data, as GNU tar's old sparse format writes it.
 *
 * A file may claim far more than a disk holds, so holes are neither read nor sent.
 */
#include "archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IN_HEADER 4u
#define IN_BLOCK 21u
#define HEADER_MAP 386u
#define HEADER_MORE 482u
#define HEADER_SIZE_FIELD 483u
#define BLOCK_MORE 504u
#define PART_SIZE 24u
#define MOST_PARTS (1u << 20)

static void add_part(struct map *map, uint64_t offset, uint64_t size) {
    map->parts = grow_array(map->parts, map->count, &map->capacity, sizeof *map->parts);
    map->parts[map->count++] = (struct part){offset, size};
    map->stored += size;
}

/* Describe a file that is all data. */
void map_whole(struct map *map, uint64_t size) {
    map_clear(map);
    map->size = size;
    if (size)
        add_part(map, 0, size);
}

/* Find where a file of a size holds data. Return 0 or an errno. */
int map_file(struct map *map, int fd, uint64_t size) {
    map_clear(map);
    map->size = size;
    for (uint64_t at = 0; at < size;) {
        off_t start = lseek(fd, (off_t)at, SEEK_DATA);
        if (start < 0 && errno == ENXIO)
            break;
        off_t end = start < 0 ? -1 : lseek(fd, start, SEEK_HOLE);
        if (start >= 0 && end < 0 && errno == ENXIO) /* it has shrunk meanwhile */
            break;
        if (end < 0 || map->count == MOST_PARTS)
            return end < 0 ? errno : EFBIG;
        if ((uint64_t)start >= size) /* it has grown meanwhile */
            break;
        at = (uint64_t)end < size ? (uint64_t)end : size;
        add_part(map, (uint64_t)start, at - (uint64_t)start);
    }
    return 0;
}

void map_clear(struct map *map) {
    free(map->parts);
    *map = (struct map){0};
}

static void put_parts(unsigned char *block, const struct map *map, size_t first, size_t most) {
    for (size_t i = first; i < map->count && i < first + most; i++, block += PART_SIZE) {
        tar_put_number((char *)block, 12, (int64_t)map->parts[i].offset);
        tar_put_number((char *)block + 12, 12, (int64_t)map->parts[i].size);
    }
}

/* Write the map into a header, whose checksum is still to be made. */
void map_put(unsigned char *header, const struct map *map) {
    put_parts(header + HEADER_MAP, map, 0, IN_HEADER);
    header[HEADER_MORE] = map->count > IN_HEADER;
    tar_put_number((char *)header + HEADER_SIZE_FIELD, 12, (int64_t)map->size);
}

/* Write what of the map did not fit into the header. */
void map_put_more(struct buffer *archive, const struct map *map) {
    for (size_t first = IN_HEADER; first < map->count; first += IN_BLOCK) {
        unsigned char block[TAR_BLOCK] = {0};
        put_parts(block, map, first, IN_BLOCK);
        block[BLOCK_MORE] = map->count > first + IN_BLOCK;
        buffer_add(archive, block, sizeof block);
    }
}

/* Read parts, which have to ascend and to lie within the file. */
static bool get_parts(struct map *map, const unsigned char *block, size_t count) {
    for (; count--; block += PART_SIZE) {
        int64_t offset, size;
        if (!tar_get_number((const char *)block, 12, &offset) ||
            !tar_get_number((const char *)block + 12, 12, &size))
            return false;
        if (size == 0) /* unused, or a mark of the file's end */
            continue;
        const struct part *last = map->count ? map->parts + map->count - 1 : NULL;
        uint64_t least = last ? last->offset + last->size : 0;
        if (offset < 0 || size < 0 || (uint64_t)offset < least || map->count == MOST_PARTS ||
            (uint64_t)offset + (uint64_t)size > map->size)
            return false;
        add_part(map, (uint64_t)offset, (uint64_t)size);
    }
    return true;
}

/* Read the map of a header. `*more` is whether a block of it follows. */
bool map_get(struct map *map, const unsigned char *header, bool *more) {
    int64_t size;
    map_clear(map);
    if (!tar_get_number((const char *)header + HEADER_SIZE_FIELD, 12, &size) || size < 0)
        return false;
    map->size = (uint64_t)size;
    *more = header[HEADER_MORE];
    return get_parts(map, header + HEADER_MAP, IN_HEADER);
}

bool map_get_more(struct map *map, const unsigned char *block, bool *more) {
    *more = block[BLOCK_MORE];
    return get_parts(map, block, IN_BLOCK);
}
