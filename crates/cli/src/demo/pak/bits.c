/* Streams of bits. */
#include "pak.h"

void bits_put(struct bit_writer *to, uint32_t value, int count) {
  to->held |= value << to->count;
  to->count += count;
  while (to->count >= 8) {
    buf_byte(to->to, to->held & 0xff);
    to->held >>= 8;
    to->count -= 8;
  }
}

void bits_end(struct bit_writer *to) {
  if (to->count) buf_byte(to->to, to->held & 0xff);
  to->held = 0;
  to->count = 0;
}

uint32_t bits_get(struct bit_reader *from, int count) {
  uint32_t value;
  while (from->count < count) {
    if (from->at == from->len) {
      from->failed = 1;
      return 0;
    }
    from->held |= (uint32_t)from->data[from->at++] << from->count;
    from->count += 8;
  }
  value = from->held & ((1u << count) - 1);
  from->held >>= count;
  from->count -= count;
  return value;
}
