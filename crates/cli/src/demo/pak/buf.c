/* Bytes that grow, and the end of the program when it cannot go on. */
#include "pak.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void die(const char *format, ...) {
  va_list more;
  va_start(more, format);
  fputs("pak: ", stderr);
  vfprintf(stderr, format, more);
  fputc('\n', stderr);
  va_end(more);
  exit(1);
}

void buf_put(struct buf *to, const void *data, size_t len) {
  if (len > to->room - to->len) {
    size_t room = to->room ? to->room : 256;
    while (room - to->len < len) room *= 2;
    to->data = realloc(to->data, room);
    if (!to->data) die("no memory for %zu bytes", room);
    to->room = room;
  }
  if (len) memcpy(to->data + to->len, data, len);
  to->len += len;
}

void buf_byte(struct buf *to, unsigned byte) {
  uint8_t one = (uint8_t)byte;
  buf_put(to, &one, 1);
}

void buf_u32(struct buf *to, uint32_t number) {
  int i;
  for (i = 0; i < 4; i++) buf_byte(to, number >> (8 * i) & 0xff);
}

void buf_free(struct buf *of) {
  free(of->data);
  memset(of, 0, sizeof *of);
}
