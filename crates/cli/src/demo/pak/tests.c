/* The tests of pak, in the directory that is given: contents of many kinds come back, and damage is found. */
#include "pak.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int checks;
static uint32_t seed = 1;

static uint32_t random_number(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed >> 8;
}

static void check(int holds, const char *what) {
  if (!holds) die("test failed: %s", what);
  checks++;
}

enum kind { ZEROS, NOISE, TEXT, STEPS, ONE_BYTE, KINDS };

static void fill(struct buf *to, enum kind kind, size_t len) {
  static const char *words[] = {"the ", "cylinder ", "group ", "block ", "of ", "inode ", "a ", "directory ", ".\n"};
  while (to->len < len) {
    switch (kind) {
    case ZEROS: buf_byte(to, 0); break;
    case NOISE: buf_byte(to, random_number() & 0xff); break;
    case STEPS: buf_byte(to, (unsigned)(to->len >> 4) & 0xff); break;
    case ONE_BYTE: buf_byte(to, to->len == 7 ? 1 : 0); break;
    default: {
      const char *word = words[random_number() % 9];
      buf_put(to, word, strlen(word));
    }
    }
  }
  to->len = len;
}

static void contents_come_back(void) {
  static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 255, 256, 4096, 32767, 32768, 32769, 200000};
  size_t i;
  int kind;
  for (kind = 0; kind < KINDS; kind++) {
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      struct buf plain = {0}, packed = {0}, back = {0};
      fill(&plain, (enum kind)kind, sizes[i]);
      compress(&packed, plain.data, plain.len);
      check(decompress(&back, packed.data, packed.len, plain.len), "it can be taken out");
      check(back.len == plain.len && (!back.len || !memcmp(back.data, plain.data, back.len)), "it is as it was");
      if (kind != NOISE && sizes[i] > 4096) check(packed.len < plain.len / 2, "it is smaller");
      buf_free(&plain);
      buf_free(&packed);
      buf_free(&back);
    }
  }
}

/* Damaged bytes end with an answer, whatever it is: a wrong one is found by the checksum. */
static void damage_is_survived(void) {
  struct buf plain = {0}, packed = {0};
  int round;
  fill(&plain, TEXT, 5000);
  compress(&packed, plain.data, plain.len);
  for (round = 0; round < 2000; round++) {
    struct buf back = {0};
    size_t at = random_number() % packed.len;
    uint8_t was = packed.data[at];
    packed.data[at] ^= (uint8_t)(1u << random_number() % 8);
    decompress(&back, packed.data, round % 2 ? packed.len : at, plain.len);
    check(back.len <= plain.len, "damage takes no more room than was said");
    packed.data[at] = was;
    buf_free(&back);
  }
  buf_free(&plain);
  buf_free(&packed);
}

static void archives_come_back(const char *dir) {
  char path[4096], packed[4096], again[4096];
  struct buf bytes = {0}, one = {0}, two = {0};
  int i;
  snprintf(path, sizeof path, "%s/tree", dir);
  check(!mkdir(path, 0777), "a directory can be made");
  for (i = 0; i < 60; i++) {
    if (i % 10 == 0) {
      snprintf(path, sizeof path, "%s/tree/%d", dir, i / 10);
      check(!mkdir(path, 0777), "a directory can be made");
    }
    snprintf(path, sizeof path, "%s/tree/%d/f%d", dir, i / 10, i);
    bytes.len = 0;
    fill(&bytes, (enum kind)(i % KINDS), (size_t)i * i * 11);
    write_file(path, bytes.data, bytes.len);
  }
  snprintf(path, sizeof path, "%s/tree", dir);
  snprintf(packed, sizeof packed, "%s/one.pak", dir);
  check(archive_pack(packed, path) == 60, "all files are packed");
  snprintf(again, sizeof again, "%s/again", dir);
  check(!mkdir(again, 0777) && archive_walk(packed, again, NULL) == 60, "all files are taken out");
  read_file(&one, packed);
  snprintf(packed, sizeof packed, "%s/two.pak", dir);
  check(archive_pack(packed, again) == 60, "what was taken out is packed");
  read_file(&two, packed);
  check(one.len == two.len && !memcmp(one.data, two.data, one.len), "both archives are the same");
  for (i = 0; i < 40; i++) {
    size_t at = random_number() % one.len;
    one.data[at] ^= 0x10;
    write_file(packed, one.data, one.len);
    one.data[at] ^= 0x10;
    check(archive_walk(packed, NULL, NULL) == -1, "a damaged archive is refused");
  }
  write_file(packed, one.data, one.len / 2);
  check(archive_walk(packed, NULL, NULL) == -1, "half an archive is refused");
  buf_free(&bytes);
  buf_free(&one);
  buf_free(&two);
}

int main(int argc, char **argv) {
  if (argc != 2) die("usage: tests DIR");
  check(crc32_of(0, (const uint8_t *)"123456789", 9) == 0xcbf43926, "the known checksum");
  contents_come_back();
  damage_is_survived();
  archives_come_back(argv[1]);
  printf("%d checks\n", checks);
  return 0;
}
