/* Huffman codes: lengths from counts, and from lengths the code that both sides make alike. */
#include "pak.h"
#include <string.h>

/* The codes of each length are consecutive numbers, in the order of their symbols. They are written highest bit first,
   so that a reader can compare a prefix with the first code of its length. */
static int assign(struct code *code) {
  uint32_t next[LONGEST + 2] = {0}, bits = 0;
  uint16_t at[LONGEST + 2] = {0};
  int length, symbol;
  memset(code->count, 0, sizeof code->count);
  for (symbol = 0; symbol < code->symbols; symbol++)
    if (code->length[symbol]) code->count[code->length[symbol]]++;
  for (length = 1; length <= LONGEST; length++) {
    next[length] = bits;
    bits = bits + code->count[length];
    if (bits > 1u << length) return 0; /* more codes than there are numbers */
    bits <<= 1;
    at[length + 1] = (uint16_t)(at[length] + code->count[length]);
  }
  for (symbol = 0; symbol < code->symbols; symbol++) {
    length = code->length[symbol];
    if (!length) continue;
    code->bits[symbol] = (uint16_t)next[length]++;
    code->order[at[length]++] = (uint16_t)symbol;
  }
  return 1;
}

/* The lengths of a Huffman code for these counts; false if one is longer than LONGEST. */
static int lengths_fit(struct code *code, const uint32_t *counts) {
  uint32_t weight[2 * SYMBOLS_MAX];
  int parent[2 * SYMBOLS_MAX], alive[2 * SYMBOLS_MAX];
  int nodes = code->symbols, left = 0, i;
  for (i = 0; i < code->symbols; i++) {
    weight[i] = counts[i];
    parent[i] = -1;
    if (counts[i]) alive[left++] = i;
  }
  memset(code->length, 0, sizeof code->length);
  if (left == 1) code->length[alive[0]] = 1;
  while (left > 1) {
    int pick[2], n;
    for (n = 0; n < 2; n++) {
      int best = 0;
      for (i = 1; i < left; i++)
        if (weight[alive[i]] < weight[alive[best]]) best = i;
      pick[n] = alive[best];
      alive[best] = alive[--left];
    }
    weight[nodes] = weight[pick[0]] + weight[pick[1]];
    parent[nodes] = -1;
    parent[pick[0]] = parent[pick[1]] = nodes;
    alive[left++] = nodes++;
  }
  for (i = 0; i < code->symbols; i++) {
    int depth = 0, node = i;
    if (!counts[i] || code->length[i]) continue;
    while (parent[node] >= 0) {
      node = parent[node];
      depth++;
    }
    if (depth > LONGEST) return 0;
    code->length[i] = (uint8_t)depth;
  }
  return 1;
}

void code_from_counts(struct code *code, const uint32_t *counts, int symbols) {
  uint32_t flat[SYMBOLS_MAX];
  memset(code, 0, sizeof *code);
  code->symbols = symbols;
  memcpy(flat, counts, (size_t)symbols * sizeof *flat);
  /* Counts that are more alike give a code that is less deep. */
  while (!lengths_fit(code, flat)) {
    int i;
    for (i = 0; i < symbols; i++)
      if (flat[i]) flat[i] = flat[i] / 2 + 1;
  }
  if (!assign(code)) die("a Huffman code with too many codes");
}

int code_from_lengths(struct code *code, int symbols) {
  code->symbols = symbols;
  return assign(code);
}

void code_write_symbol(const struct code *code, struct bit_writer *to, int symbol) {
  int bit;
  if (!code->length[symbol]) die("symbol %d has no code", symbol);
  for (bit = code->length[symbol] - 1; bit >= 0; bit--) bits_put(to, code->bits[symbol] >> bit & 1, 1);
}

int code_read_symbol(const struct code *code, struct bit_reader *from) {
  uint32_t first = 0, bits = 0;
  int length, index = 0;
  for (length = 1; length <= LONGEST; length++) {
    bits = bits << 1 | bits_get(from, 1);
    if (from->failed) return -1;
    if (bits - first < code->count[length]) return code->order[index + (int)(bits - first)];
    index += code->count[length];
    first = (first + code->count[length]) << 1;
  }
  return -1;
}
