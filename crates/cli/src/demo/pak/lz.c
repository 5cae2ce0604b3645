/* LZ77: a match is a length and a distance into the last WINDOW bytes. Lengths and distances are written as the number
   of their bits, by a Huffman code, and the bits below the highest one. */
#include "pak.h"
#include <stdlib.h>
#include <string.h>

enum {
  WINDOW = 1 << 15,
  MATCH_MIN = 4,
  MATCH_MAX = 258,
  HASH_BITS = 14,
  CHAIN_MAX = 32,
  /* Symbols: 256 bytes, the end, and matches by the number of bits of their length. */
  END = 256,
  MATCH = 257,
  LITERALS = MATCH + 10,
  DISTANCES = 17
};

struct token {
  uint16_t length; /* 0: a byte, which is in `distance` */
  uint16_t distance;
};

struct finder {
  const uint8_t *data;
  size_t len;
  int64_t head[1 << HASH_BITS];
  int64_t *before; /* for each place the last one with its hash */
};

static uint32_t hash_at(const uint8_t *at) {
  uint32_t four = at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
  return four * 2654435761u >> (32 - HASH_BITS);
}

static void remember(struct finder *finder, size_t at) {
  uint32_t hash;
  if (at + MATCH_MIN > finder->len) return;
  hash = hash_at(finder->data + at);
  finder->before[at] = finder->head[hash];
  finder->head[hash] = (int64_t)at;
}

static struct token longest(const struct finder *finder, size_t at) {
  struct token best = {0, 0};
  size_t most = finder->len - at < MATCH_MAX ? finder->len - at : MATCH_MAX;
  int64_t from;
  int tries = CHAIN_MAX;
  if (most < MATCH_MIN) return best;
  from = finder->head[hash_at(finder->data + at)];
  for (; from >= 0 && at - (size_t)from < WINDOW && tries--; from = finder->before[from]) {
    size_t length = 0;
    while (length < most && finder->data[(size_t)from + length] == finder->data[at + length]) length++;
    if (length >= MATCH_MIN && length > best.length) {
      best.length = (uint16_t)length;
      best.distance = (uint16_t)(at - (size_t)from);
    }
  }
  return best;
}

static int bits_of(uint32_t number) {
  int bits = 0;
  while (number >> bits) bits++;
  return bits;
}

/* The tokens of the data; a match waits for the next place, which may have a longer one. */
static struct token *tokens_of(const uint8_t *data, size_t len, size_t *count) {
  struct finder *finder = malloc(sizeof *finder);
  struct token *tokens = malloc((len + 1) * sizeof *tokens);
  size_t at = 0, i;
  if (!finder || !tokens) die("no memory");
  memset(finder->head, -1, sizeof finder->head);
  finder->data = data;
  finder->len = len;
  finder->before = malloc((len + 1) * sizeof *finder->before);
  if (!finder->before) die("no memory");
  *count = 0;
  while (at < len) {
    struct token here = longest(finder, at);
    remember(finder, at);
    if (here.length && at + 1 < len && longest(finder, at + 1).length > here.length) here.length = 0;
    if (!here.length) {
      here.distance = data[at];
      tokens[(*count)++] = here;
      at++;
      continue;
    }
    tokens[(*count)++] = here;
    for (i = 1; i < here.length; i++) remember(finder, at + i);
    at += here.length;
  }
  free(finder->before);
  free(finder);
  return tokens;
}

static void write_lengths(const struct code *code, struct bit_writer *to) {
  int symbol;
  for (symbol = 0; symbol < code->symbols; symbol++) bits_put(to, code->length[symbol], 4);
}

static void write_number(const struct code *code, struct bit_writer *to, int base, uint32_t number) {
  int bits = bits_of(number);
  code_write_symbol(code, to, base + bits);
  if (bits > 1) bits_put(to, number & ((1u << (bits - 1)) - 1), bits - 1);
}

void compress(struct buf *to, const uint8_t *data, size_t len) {
  uint32_t literals[LITERALS] = {0}, distances[DISTANCES] = {0};
  struct bit_writer out = {to, 0, 0};
  struct code literal, distance;
  size_t count, i;
  struct token *tokens = tokens_of(data, len, &count);
  for (i = 0; i < count; i++) {
    if (!tokens[i].length) {
      literals[tokens[i].distance]++;
      continue;
    }
    literals[MATCH + bits_of(tokens[i].length)]++;
    distances[bits_of(tokens[i].distance)]++;
  }
  literals[END] = 1;
  code_from_counts(&literal, literals, LITERALS);
  code_from_counts(&distance, distances, DISTANCES);
  write_lengths(&literal, &out);
  write_lengths(&distance, &out);
  for (i = 0; i < count; i++) {
    if (!tokens[i].length) {
      code_write_symbol(&literal, &out, tokens[i].distance);
      continue;
    }
    write_number(&literal, &out, MATCH, tokens[i].length);
    write_number(&distance, &out, 0, tokens[i].distance);
  }
  code_write_symbol(&literal, &out, END);
  bits_end(&out);
  free(tokens);
}

static int read_lengths(struct code *code, int symbols, struct bit_reader *from) {
  int symbol;
  memset(code, 0, sizeof *code);
  for (symbol = 0; symbol < symbols; symbol++) code->length[symbol] = (uint8_t)bits_get(from, 4);
  return !from->failed && code_from_lengths(code, symbols);
}

static uint32_t read_number(struct bit_reader *from, int bits) {
  return bits < 2 ? (uint32_t)bits : 1u << (bits - 1) | bits_get(from, bits - 1);
}

int decompress(struct buf *to, const uint8_t *data, size_t len, size_t wanted) {
  struct bit_reader in = {data, len, 0, 0, 0, 0};
  struct code literal, distance;
  if (!read_lengths(&literal, LITERALS, &in) || !read_lengths(&distance, DISTANCES, &in)) return 0;
  for (;;) {
    int symbol = code_read_symbol(&literal, &in), bits;
    uint32_t length, back;
    if (symbol < 0) return 0;
    if (symbol == END) return to->len == wanted;
    if (symbol < END) {
      if (to->len == wanted) return 0;
      buf_byte(to, (unsigned)symbol);
      continue;
    }
    length = read_number(&in, symbol - MATCH);
    bits = code_read_symbol(&distance, &in);
    if (bits < 0) return 0;
    back = read_number(&in, bits);
    if (in.failed || !back || back > to->len || length > wanted - to->len) return 0;
    while (length--) buf_byte(to, to->data[to->len - back]);
  }
}
