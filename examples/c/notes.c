/* Keeps notes in a volume in a file: no mount, no root. Makes the volume, writes and reads it from two threads, lists a
   directory, and shows what an error looks like.

     packaging/c /usr/local
     cc examples/c/notes.c $(pkg-config --cflags --libs ordofs) -lpthread -o notes
     ./notes notes.img */
#include <errno.h>
#include <ordofs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int volume;

/* Ends the program when a call has failed. */
static int64_t must(int64_t result) {
  if (result < 0) {
    fprintf(stderr, "notes: %s (errno %d)\n", ordofs_error(), ordofs_errno());
    exit(1);
  }
  return result;
}

/* A thread: a log that two threads write to one file, each line whole. */
static void *writer(void *name) {
  int file = must(ordofs_open_file(volume, "/notes/log", ORDOFS_APPEND | ORDOFS_CREATE, 0644)), i;
  char line[64];
  for (i = 0; i < 100; i++) {
    int len = snprintf(line, sizeof line, "%s %d\n", (const char *)name, i);
    must(ordofs_write(file, line, len));
  }
  must(ordofs_fsync(file));
  must(ordofs_close_file(file));
  return NULL;
}

int main(int argc, char **argv) {
  char buffer[64];
  struct ordofs_stat is;
  struct ordofs_entry entry;
  pthread_t threads[2];
  int file, list;
  if (argc != 2) {
    fputs("usage: notes NEW-IMAGE\n", stderr);
    return 2;
  }
  must(ordofs_create(argv[1], 16 << 20, NULL));
  volume = must(ordofs_open(argv[1], "scheme=softupdates,noatime"));
  must(ordofs_mkdir(volume, "/notes", 0750));

  file = must(ordofs_open_file(volume, "/notes/new", ORDOFS_READ | ORDOFS_WRITE | ORDOFS_CREATE, 0600));
  must(ordofs_write(file, "so much depends upon", 20));
  must(ordofs_pwrite(file, "SO", 2, 0));
  must(ordofs_fsync(file)); /* durable */
  must(ordofs_seek(file, 3, 0));
  printf("read %.*s\n", (int)must(ordofs_read(file, buffer, 4)), buffer);
  printf("pread %.*s\n", (int)must(ordofs_pread(file, buffer, 2, 0)), buffer);
  must(ordofs_ftruncate(file, 7));
  must(ordofs_fstat(file, &is));
  printf("%u bytes, mode %o\n", (unsigned)is.size, is.mode);
  must(ordofs_close_file(file));
  must(ordofs_rename(volume, "/notes/new", "/notes/poem"));
  must(ordofs_symlink(volume, "poem", "/notes/latest"));
  printf("latest -> %.*s\n", (int)must(ordofs_readlink(volume, "/notes/latest", buffer, sizeof buffer)), buffer);

  must(pthread_create(&threads[0], NULL, writer, "one") ? -1 : 0);
  must(pthread_create(&threads[1], NULL, writer, "two") ? -1 : 0);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  must(ordofs_stat(volume, "/notes/log", &is));
  printf("log of %u bytes\n", (unsigned)is.size);

  list = must(ordofs_listdir(volume, "/notes"));
  while (must(ordofs_readdir(list, &entry)) == 1) printf("%o %s\n", entry.kind, entry.name);
  must(ordofs_closedir(list));

  if (ordofs_rmdir(volume, "/notes") != -1 || ordofs_errno() != ENOTEMPTY) return 1;
  printf("rmdir: %s\n", ordofs_error());
  if (ordofs_close_file(file) != -1 || ordofs_errno() != EBADF) return 1;
  must(ordofs_unlink(volume, "/notes/latest"));
  must(ordofs_close(volume));
  if (ordofs_sync(volume) != -1 || ordofs_errno() != EBADF) return 1;
  puts("closed");
  return 0;
}
