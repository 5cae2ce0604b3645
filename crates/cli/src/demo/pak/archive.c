/* Archives: a mark, then for each file the length of its name, its size, its packed size, a checksum of all else, the
   name and the packed bytes; a length of 0 ends it. Nothing that an archive says is trusted. */
#include "pak.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char MARK[8] = "pak 1\n\n";
enum { NAME_MAX_HERE = 4000, FILE_MAX = 1 << 28 };

void read_file(struct buf *to, const char *path) {
  FILE *file = fopen(path, "rb");
  uint8_t piece[65536];
  size_t got;
  if (!file) die("%s: %s", path, strerror(errno));
  while ((got = fread(piece, 1, sizeof piece, file)) > 0) buf_put(to, piece, got);
  if (ferror(file)) die("%s: cannot read", path);
  fclose(file);
}

void write_file(const char *path, const uint8_t *data, size_t len) {
  FILE *file = fopen(path, "wb");
  if (!file) die("%s: %s", path, strerror(errno));
  if (len && fwrite(data, 1, len, file) != len) die("%s: cannot write", path);
  if (fclose(file)) die("%s: %s", path, strerror(errno));
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *joined(const char *dir, const char *name) {
  char *path = malloc(strlen(dir) + strlen(name) + 2);
  if (!path) die("no memory");
  sprintf(path, *dir ? "%s/%s" : "%s%s", dir, name);
  return path;
}

static void pack_file(FILE *out, const char *path, const char *name) {
  struct buf plain = {0}, packed = {0}, head = {0};
  uint32_t sum;
  read_file(&plain, path);
  compress(&packed, plain.data, plain.len);
  buf_u32(&head, (uint32_t)strlen(name));
  buf_u32(&head, (uint32_t)plain.len);
  buf_u32(&head, (uint32_t)packed.len);
  sum = crc32_of(crc32_of(0, head.data, head.len), (const uint8_t *)name, strlen(name));
  buf_u32(&head, crc32_of(sum, packed.data, packed.len));
  buf_put(&head, name, strlen(name));
  if (fwrite(head.data, 1, head.len, out) != head.len || fwrite(packed.data, 1, packed.len, out) != packed.len)
    die("%s: cannot write the archive", name);
  buf_free(&plain);
  buf_free(&packed);
  buf_free(&head);
}

/* Packs the directory in the order of its names. */
static int pack_dir(FILE *out, const char *dir, const char *name) {
  DIR *open = opendir(dir);
  struct dirent *entry;
  char **names = NULL;
  size_t count = 0, i;
  int files = 0;
  if (!open) die("%s: %s", dir, strerror(errno));
  while ((entry = readdir(open))) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    names = realloc(names, (count + 1) * sizeof *names);
    if (!names) die("no memory");
    names[count++] = joined("", entry->d_name);
  }
  closedir(open);
  if (count) qsort(names, count, sizeof *names, by_name);
  for (i = 0; i < count; i++) {
    char *path = joined(dir, names[i]), *inside = joined(name, names[i]);
    struct stat is;
    if (lstat(path, &is)) die("%s: %s", path, strerror(errno));
    if (S_ISDIR(is.st_mode)) {
      files += pack_dir(out, path, inside);
    } else if (S_ISREG(is.st_mode)) {
      pack_file(out, path, inside);
      files++;
    }
    free(path);
    free(inside);
    free(names[i]);
  }
  free(names);
  return files;
}

int archive_pack(const char *archive, const char *dir) {
  static const uint8_t end[4];
  FILE *out = fopen(archive, "wb");
  int files;
  if (!out) die("%s: %s", archive, strerror(errno));
  fwrite(MARK, 1, sizeof MARK, out);
  files = pack_dir(out, dir, "");
  if (fwrite(end, 1, sizeof end, out) != sizeof end || fclose(out)) die("%s: cannot write", archive);
  return files;
}

static uint32_t u32_at(const uint8_t *at) {
  return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

/* A name that stays below the directory into which it is taken out. */
static int is_inside(const char *name) {
  const char *at = name;
  if (*name == '/' || !*name) return 0;
  while (at) {
    size_t part = strcspn(at, "/");
    if (part == 0 || (part == 2 && !strncmp(at, "..", 2)) || (part == 1 && *at == '.')) return 0;
    at = strchr(at, '/');
    if (at) at++;
  }
  return 1;
}

static void take_out(const char *into, const char *name, const struct buf *plain) {
  char *path = joined(into, name), *slash = path + strlen(into) + 1;
  while ((slash = strchr(slash, '/'))) {
    *slash = 0;
    if (mkdir(path, 0777) && errno != EEXIST) die("%s: %s", path, strerror(errno));
    *slash++ = '/';
  }
  write_file(path, plain->data, plain->len);
  free(path);
}

/* One file of the archive, from the place where its head begins; 0 at its end, -1 if it is damaged. */
static int one(const struct buf *archive, size_t *at, const char *into, FILE *list) {
  struct buf plain = {0};
  char name[NAME_MAX_HERE + 1];
  uint32_t head[4], sum;
  int i, good;
  if (archive->len - *at < 4) return -1;
  head[0] = u32_at(archive->data + *at);
  if (!head[0]) return archive->len - *at == 4 ? 0 : -1;
  if (archive->len - *at < 16 || head[0] > NAME_MAX_HERE) return -1;
  for (i = 1; i < 4; i++) head[i] = u32_at(archive->data + *at + 4 * i);
  sum = crc32_of(0, archive->data + *at, 12);
  *at += 16;
  if (archive->len - *at < head[0] || archive->len - *at - head[0] < head[2] || head[1] > FILE_MAX) return -1;
  memcpy(name, archive->data + *at, head[0]);
  name[head[0]] = 0;
  sum = crc32_of(sum, archive->data + *at, (size_t)head[0] + head[2]);
  *at += head[0];
  good = sum == head[3] && strlen(name) == head[0] && is_inside(name)
    && decompress(&plain, archive->data + *at, head[2], head[1]);
  *at += head[2];
  if (good && into) take_out(into, name, &plain);
  if (good && list) fprintf(list, "%9u %9u %s\n", head[1], head[2], name);
  buf_free(&plain);
  return good ? 1 : -1;
}

int archive_walk(const char *archive, const char *into, FILE *list) {
  struct buf whole = {0};
  size_t at = sizeof MARK;
  int files = 0, found = -1;
  read_file(&whole, archive);
  if (whole.len >= sizeof MARK && !memcmp(whole.data, MARK, sizeof MARK))
    while ((found = one(&whole, &at, into, list)) > 0) files++;
  buf_free(&whole);
  return found < 0 ? -1 : files;
}
