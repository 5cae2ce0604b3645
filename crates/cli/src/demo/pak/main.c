/* pak c ARCHIVE DIR packs a directory, x ARCHIVE DIR takes one out, l ARCHIVE lists it, t ARCHIVE tests it. */
#include "pak.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
  int files, wants_dir = argc == 4 && (!strcmp(argv[1], "c") || !strcmp(argv[1], "x"));
  if (!wants_dir && !(argc == 3 && (!strcmp(argv[1], "l") || !strcmp(argv[1], "t")))) {
    fputs("usage: pak c|x ARCHIVE DIR, pak l|t ARCHIVE\n", stderr);
    return 2;
  }
  if (*argv[1] == 'c') {
    printf("%d files\n", archive_pack(argv[2], argv[3]));
    return 0;
  }
  if (*argv[1] == 'x' && mkdir(argv[3], 0777) && errno != EEXIST) die("%s: %s", argv[3], strerror(errno));
  files = archive_walk(argv[2], wants_dir ? argv[3] : NULL, *argv[1] == 'l' ? stdout : NULL);
  if (files < 0) die("%s: no archive, or a damaged one", argv[2]);
  printf("%d files\n", files);
  return 0;
}
