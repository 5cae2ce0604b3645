/* CRC-32, the one of Ethernet and zip. */
#include "pak.h"

uint32_t crc32_of(uint32_t before, const uint8_t *data, size_t len) {
  static uint32_t table[256];
  uint32_t crc = ~before;
  size_t i;
  if (!table[1]) {
    uint32_t n;
    for (n = 0; n < 256; n++) {
      uint32_t c = n;
      int bit;
      for (bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
      table[n] = c;
    }
  }
  for (i = 0; i < len; i++) crc = table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
  return ~crc;
}
