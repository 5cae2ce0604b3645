/* pak: a small archiver. It packs a tree of files into one file, each compressed by LZ77 and a Huffman code, and
   takes it out again. `ordo demo` builds it on a volume, runs its tests there, and packs a tree with it. */
#ifndef PAK_H
#define PAK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes that grow. */
struct buf {
  uint8_t *data;
  size_t len, room;
};

/* Ends the program with a message, as printf. */
void die(const char *format, ...);
void buf_put(struct buf *to, const void *data, size_t len);
void buf_byte(struct buf *to, unsigned byte);
void buf_u32(struct buf *to, uint32_t number);
void buf_free(struct buf *of);

/* crc.c: the checksum of `before`, which is 0 at first, and more bytes. */
uint32_t crc32_of(uint32_t before, const uint8_t *data, size_t len);

/* bits.c: the lowest bit of a byte comes first. */
struct bit_writer {
  struct buf *to;
  uint32_t held;
  int count;
};
struct bit_reader {
  const uint8_t *data;
  size_t len, at;
  uint32_t held;
  int count;
  int failed; /* it was asked for more than there is */
};
void bits_put(struct bit_writer *to, uint32_t value, int count);
void bits_end(struct bit_writer *to);
uint32_t bits_get(struct bit_reader *from, int count);

/* huffman.c: canonical codes of at most LONGEST bits. */
enum { LONGEST = 15, SYMBOLS_MAX = 320 };
struct code {
  int symbols;
  uint8_t length[SYMBOLS_MAX];
  uint16_t bits[SYMBOLS_MAX];
  /* For reading: how many codes have each length, and the symbols in their order. */
  uint16_t count[LONGEST + 1];
  uint16_t order[SYMBOLS_MAX];
};
void code_from_counts(struct code *code, const uint32_t *counts, int symbols);
int code_from_lengths(struct code *code, int symbols); /* 0: no such code exists */
void code_write_symbol(const struct code *code, struct bit_writer *to, int symbol);
int code_read_symbol(const struct code *code, struct bit_reader *from); /* -1: damaged */

/* lz.c */
void compress(struct buf *to, const uint8_t *data, size_t len);
int decompress(struct buf *to, const uint8_t *data, size_t len, size_t wanted); /* 0: damaged */

/* archive.c */
int archive_pack(const char *archive, const char *dir); /* the number of files */
int archive_walk(const char *archive, const char *into, FILE *list); /* the number of files; -1: damaged */
void read_file(struct buf *to, const char *path);
void write_file(const char *path, const uint8_t *data, size_t len);

#endif
