/* What a careless caller does: null pointers, numbers of nothing, closed twice, names that are none, in each call. */
#include <errno.h>
#include <ordofs.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int wrong;

static void expect(int64_t result, int reason, const char *what) {
  if (result == -1 && ordofs_errno() == reason && *ordofs_error()) return;
  printf("%s: %lld, errno %d, %s\n", what, (long long)result, ordofs_errno(), ordofs_error());
  wrong = 1;
}

/* A child of fork has the numbers and not the volume's thread: each call is an error, and none waits for ever. */
static void fork_is_answered(int volume, int file) {
  struct ordofs_stat is;
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    expect(ordofs_stat(volume, "/", &is), ENOTCONN, "a volume after fork");
    expect(ordofs_write(file, "x", 1), ENOTCONN, "a file after fork");
    expect(ordofs_close(volume), ENOTCONN, "closing after fork");
    fflush(stdout);
    _exit(wrong);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status) {
    printf("the child of fork ended with %d\n", status);
    wrong = 1;
  }
}

int main(int argc, char **argv) {
  struct ordofs_stat is;
  struct ordofs_entry entry;
  char name[400], byte;
  int volume, file, list;
  int lowest = dup(0);
  if (argc != 2 || close(lowest)) return 2;
  if (strcmp(ordofs_version(), VERSION)) return 12;
  expect(ordofs_open("/no/such/image", NULL), ENOENT, "open of no image");
  expect(ordofs_open(NULL, NULL), EINVAL, "open of null");
  expect(ordofs_create(argv[1], 1, NULL), EINVAL, "a volume of one byte");
  expect(ordofs_create(argv[1], 16 << 20, "ext4"), EINVAL, "a volume of no kind");
  if (ordofs_create(argv[1], 16 << 20, "ufs2")) return 3;
  expect(ordofs_create(argv[1], 16 << 20, NULL), EEXIST, "a volume where one is");
  expect(ordofs_create(argv[1], 16 << 20, "lfs"), EEXIST, "another kind of volume where one is");
  expect(ordofs_create(argv[1], 16 << 20, "overwrite,ext4"), EINVAL, "a volume of no kind over one");
  if (ordofs_create(argv[1], 16 << 20, "ufs2,overwrite")) return 3;
  expect(ordofs_open(argv[1], "fast"), EINVAL, "an unknown option");
  expect(ordofs_open(argv[1], "scheme=best"), EINVAL, "an unknown scheme");
  volume = ordofs_open(argv[1], "");
  if (volume < 1) return 4;
  expect(ordofs_open(argv[1], NULL), EBUSY, "opened twice");
  expect(ordofs_stat(volume, NULL, &is), EINVAL, "a null path");
  expect(ordofs_stat(volume, "/", NULL), EINVAL, "a null structure");
  expect(ordofs_stat(volume, "/none", &is), ENOENT, "no such file");
  expect(ordofs_stat(volume + 1, "/", &is), EBADF, "no such volume");
  expect(ordofs_stat(-1, "/", &is), EBADF, "a negative number");
  memset(name, 'x', sizeof name - 1);
  name[0] = '/';
  name[sizeof name - 1] = 0;
  expect(ordofs_mkdir(volume, name, 0755), ENAMETOOLONG, "a long name");
  expect(ordofs_open_file(volume, "/f", 0, 0), EINVAL, "no flags");
  expect(ordofs_open_file(volume, "/f", 64, 0), EINVAL, "an unknown flag");
  expect(ordofs_open_file(volume, "/f", ORDOFS_READ, 0), ENOENT, "no file to read");
  file = ordofs_open_file(volume, "/f", ORDOFS_WRITE | ORDOFS_CREATE | ORDOFS_EXCLUSIVE, 0644);
  if (file < 1) return 5;
  expect(ordofs_open_file(volume, "/f", ORDOFS_WRITE | ORDOFS_CREATE | ORDOFS_EXCLUSIVE, 0644), EEXIST, "there");
  expect(ordofs_read(file, &byte, 1), EACCES, "read of what is open for writing");
  expect(ordofs_write(file, NULL, 1), EINVAL, "a null buffer");
  expect(ordofs_write(file, "x", (size_t)-1), EINVAL, "a huge length");
  if (ordofs_write(file, NULL, 0)) return 6;
  fork_is_answered(volume, file);
  expect(ordofs_pwrite(file, "x", 1, -1), EINVAL, "a negative offset");
  expect(ordofs_pwrite(file, "x", 1, INT64_MAX), EFBIG, "beyond every file");
  expect(ordofs_seek(file, -1, 0), EINVAL, "before the beginning");
  expect(ordofs_seek(file, 0, 9), EINVAL, "no whence");
  expect(ordofs_ftruncate(file, -1), EINVAL, "a negative length");
  expect(ordofs_readlink(volume, "/f", name, sizeof name), EINVAL, "no link");
  list = ordofs_listdir(volume, "/");
  if (list < 1) return 7;
  expect(ordofs_readdir(list, NULL), EINVAL, "a null entry");
  if (ordofs_closedir(list)) return 8;
  expect(ordofs_readdir(list, &entry), EBADF, "a closed list");
  expect(ordofs_closedir(list), EBADF, "closed twice");
  expect(ordofs_listdir(volume, "/f"), ENOTDIR, "a list of a file");
  /* The volume is closed under an open file. */
  if (ordofs_close(volume)) return 9;
  expect(ordofs_write(file, "x", 1), ENOTCONN, "a file of a closed volume");
  if (ordofs_close_file(file)) return 10;
  expect(ordofs_close_file(file), EBADF, "a file closed twice");
  expect(ordofs_close(volume), EBADF, "a volume closed twice");
  volume = ordofs_open(argv[1], "ro");
  if (volume < 1) return 11;
  expect(ordofs_mkdir(volume, "/d", 0755), EROFS, "a change of what is read only");
  if (ordofs_close(volume)) return 13;
  /* Nothing stays open: the lowest free descriptor is the one of the beginning. */
  if (dup(0) != lowest) return 14;
  return wrong;
}
