/* Memory: buffers that grow, and no way to go on where there is none. */
#include <stdlib.h>
#include <string.h>

#include "guest.h"

#define KEPT_CAPACITY (64u << 10) /* an idle buffer keeps no more than this */

void *allocate(size_t size) {
    void *memory = calloc(1, size);
    if (!memory)
        die(BROKEN, "out of memory");
    return memory;
}

/* Return the array with room for one more item than `count`. */
void *grow_array(void *array, size_t count, size_t *capacity, size_t item) {
    if (count < *capacity)
        return array;
    *capacity = *capacity ? *capacity * 2 : 64;
    array = reallocarray(array, *capacity, item);
    if (!array)
        die(BROKEN, "out of memory");
    return array;
}

/* Return where `size` more bytes may be written; the caller moves `end` over what it wrote. */
unsigned char *buffer_room(struct buffer *buffer, size_t size) {
    if (buffer->start == buffer->end)
        buffer->start = buffer->end = 0;
    if (buffer->capacity - buffer->end >= size)
        return buffer->data + buffer->end;
    size_t used = buffer_size(buffer);
    if (buffer->start >= used && buffer->capacity - used >= size) {
        memcpy(buffer->data, buffer->data + buffer->start, used);
    } else {
        size_t capacity = buffer->capacity * 2 > used + size ? buffer->capacity * 2 : used + size;
        unsigned char *data = malloc(capacity);
        if (!data)
            die(BROKEN, "out of memory");
        if (used)
            memcpy(data, buffer->data + buffer->start, used);
        free(buffer->data);
        buffer->data = data;
        buffer->capacity = capacity;
    }
    buffer->start = 0;
    buffer->end = used;
    return buffer->data + used;
}

void buffer_add(struct buffer *buffer, const void *data, size_t size) {
    if (!size)
        return;
    memcpy(buffer_room(buffer, size), data, size);
    buffer->end += size;
}

/* Give back a large buffer that is empty. */
void buffer_trim(struct buffer *buffer) {
    if (buffer_size(buffer) == 0 && buffer->capacity > KEPT_CAPACITY)
        buffer_free(buffer);
}

void buffer_free(struct buffer *buffer) {
    free(buffer->data);
    *buffer = (struct buffer){0};
}
