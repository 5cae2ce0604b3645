/* OrdoFS for C: volumes of UFS and LFS in image files and on disks, without a mount.

   Volumes, files and lists are numbers above 0, as descriptors are. A call that fails returns -1; then ordofs_errno()
   has the reason as an errno value, and ordofs_error() a text, both for the thread that called. A number that is
   unknown, or closed, is EBADF. Every number may be used from several threads; the calls of one volume run one after
   the other. Paths begin at the volume's root; symbolic links are followed within the volume.

   Made by cbindgen from crates/face/capi; docs/library.md has an example. */

#ifndef ORDOFS_H
#define ORDOFS_H

#include <stddef.h>
#include <stdint.h>

// Open for reading.
#define ORDOFS_READ 1

// Open for writing.
#define ORDOFS_WRITE 2

// Make the file if it is not there.
#define ORDOFS_CREATE 4

// With ORDOFS_CREATE: fail if the name is there.
#define ORDOFS_EXCLUSIVE 8

// With ORDOFS_WRITE: begin with an empty file.
#define ORDOFS_TRUNCATE 16

// Write at the end only.
#define ORDOFS_APPEND 32

// The attributes of a file, as stat(2) has them.
struct ordofs_stat {
  // The inode's number.
  uint64_t ino;
  // Bytes.
  uint64_t size;
  // Allocated space, in units of 512 bytes.
  uint64_t blocks;
  // Kind and permissions, with the bits of stat(2).
  uint32_t mode;
  // Number of names.
  uint32_t nlink;
  // Owner.
  uint32_t uid;
  // Group.
  uint32_t gid;
  // Last read: seconds since 1970.
  int64_t atime;
  // Last change of contents.
  int64_t mtime;
  // Last change of anything.
  int64_t ctime;
  // Nanoseconds of the three times.
  uint32_t atime_nsec;
  // See `atime_nsec`.
  uint32_t mtime_nsec;
  // See `atime_nsec`.
  uint32_t ctime_nsec;
  // Zero.
  uint32_t reserved;
};

// An entry of a directory.
struct ordofs_entry {
  // The inode's number.
  uint64_t ino;
  // The kind of the file, in the bits of a mode.
  uint32_t kind;
  // The length of the name.
  uint32_t name_len;
  // The name, which ends with a zero byte.
  char name[256];
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, as "0.1.0".
const char *ordofs_version(void);

// The errno value of this thread's last call that failed.
int ordofs_errno(void);

// The text of this thread's last call that failed; valid until the next one that fails.
const char *ordofs_error(void);

// Makes a volume of `bytes` bytes in the file `image`. `kind` is "ufs2" or "lfs"; null means ufs2. A file that is
// there and holds anything but zeroes stays, and so does a device with something on it: the call fails with EEXIST,
// unless the word overwrite follows, as in "ufs2,overwrite" or "overwrite".
int ordofs_create(const char *image,
                  uint64_t bytes,
                  const char *kind);

// Opens the volume in a file, a device or a partition ("disk.img@p2"). `options` are those of ordo mount -o, as
// "ro,scheme=sync,cache=64M"; null means none. Returns the volume's number.
int ordofs_open(const char *image,
                const char *options);

// Writes everything, marks the volume clean and closes it. Files that are open are closed.
int ordofs_close(int volume);

// Makes everything durable.
int ordofs_sync(int volume);

// The attributes of a file.
int ordofs_stat(int volume, const char *path, struct ordofs_stat *to);

// The same, of a symbolic link itself.
int ordofs_lstat(int volume, const char *path, struct ordofs_stat *to);

// Reads a directory, without . and ..; returns the number of a list, which ordofs_readdir() goes through.
int ordofs_listdir(int volume,
                   const char *path);

// The next entry of a list: 1, or 0 at its end.
int ordofs_readdir(int list, struct ordofs_entry *to);

// Forgets a list.
int ordofs_closedir(int list);

// Makes a directory.
int ordofs_mkdir(int volume, const char *path, uint32_t mode);

// Removes an empty directory.
int ordofs_rmdir(int volume, const char *path);

// Removes a name that is not a directory.
int ordofs_unlink(int volume, const char *path);

// Renames; what the new name named before is replaced.
int ordofs_rename(int volume, const char *from, const char *to);

// Gives a file another name.
int ordofs_link(int volume, const char *from, const char *to);

// Makes a symbolic link at `path`, to `target`.
int ordofs_symlink(int volume, const char *target, const char *path);

// The target of a symbolic link: as many bytes as fit, without a zero byte. Returns how many.
int64_t ordofs_readlink(int volume, const char *path, char *buffer, size_t len);

// Sets the permission bits.
int ordofs_chmod(int volume, const char *path, uint32_t mode);

// Opens a file with the flags ORDOFS_*; `mode` is for a new one. Returns the file's number.
int ordofs_open_file(int volume, const char *path, uint32_t flags, uint32_t mode);

// Closes a file.
int ordofs_close_file(int file);

// Reads from the position, and moves it. Returns how many bytes; fewer than `len` only at the end.
int64_t ordofs_read(int file, void *buffer, size_t len);

// Writes all of `data` at the position, and moves it. Returns `len`.
int64_t ordofs_write(int file, const void *data, size_t len);

// Reads from `offset`; the position does not change.
int64_t ordofs_pread(int file, void *buffer, size_t len, int64_t offset);

// Writes all of `data` at `offset`; the position does not change.
int64_t ordofs_pwrite(int file, const void *data, size_t len, int64_t offset);

// Moves the position; `whence` as for lseek(2): 0 from the beginning, 1 from the position, 2 from the end.
// Returns the new position.
int64_t ordofs_seek(int file,
                    int64_t offset,
                    int whence);

// Truncates an open file, or extends it with a hole.
int ordofs_ftruncate(int file, int64_t size);

// Makes what was written to a file durable, and its name.
int ordofs_fsync(int file);

// The same, without times.
int ordofs_fdatasync(int file);

// The attributes of an open file.
int ordofs_fstat(int file, struct ordofs_stat *to);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ORDOFS_H */
