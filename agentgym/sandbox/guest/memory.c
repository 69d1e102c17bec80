/* Memory: buffers that grow, and no way to go on where there is none. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
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

char *copy_string(const char *string) {
    char *copy = strdup(string);
    if (!copy)
        die(BROKEN, "out of memory");
    return copy;
}

/* Buffers are mapped on their own, so that a large one goes back to the system when it is done. */
static void buffer_grow(struct buffer *buffer, size_t capacity) {
    void *data;
    capacity = (capacity + PAGE - 1) / PAGE * PAGE;
    if (buffer->data)
        data = mremap(buffer->data, buffer->capacity, capacity, MREMAP_MAYMOVE);
    else
        data = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        die(BROKEN, "out of memory");
    buffer->data = data;
    buffer->capacity = capacity;
}

/* Return where `size` more bytes may be written; the caller moves `end` over what it wrote. */
unsigned char *buffer_room(struct buffer *buffer, size_t size) {
    size_t used = buffer_size(buffer);
    if (!used || buffer->capacity - buffer->end < size) {
        if (used)
            memmove(buffer->data, buffer->data + buffer->start, used);
        buffer->start = 0;
        buffer->end = used;
    }
    if (buffer->capacity - buffer->end < size)
        buffer_grow(buffer, used + size > 2 * used ? used + size : 2 * used);
    return buffer->data + buffer->end;
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
    if (buffer->data)
        munmap(buffer->data, buffer->capacity);
    *buffer = (struct buffer){0};
}
