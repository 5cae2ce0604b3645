#!/usr/bin/env bash
# What a mount does with little memory: a million names in one directory within 256 MiB, and as many as go into 96 MiB, where
# the call that finds no room must fail with ENOMEM and the mount must go on.
#
#   benches/names.sh [NAMES]           needs root and /dev/fuse; ORDO=PATH measures that program
set -euo pipefail
names=${1:-1000000}
. "$(dirname "$0")/one-mount.sh"

# under KIBIBYTES NAMES: makes names until there is no memory, and says how many there are
under() {
  rm -f "$work/v.img"
  "$ordo" mkfs --size 8G "$work/v.img" >"$work/mkfs"
  (ulimit -v "$1" && exec "$ordo" mount -f "$work/v.img" "$work/m") &
  local server=$!
  until mountpoint -q "$work/m"; do sleep 0.05; done
  mkdir "$work/m/d"
  python3 - "$work/m/d" "$2" <<'PY'
import errno, os, sys, time
began, made = time.monotonic(), 0
try:
    for made in range(int(sys.argv[2])):
        os.mknod(f"{sys.argv[1]}/name-{made:07}", 0o100644)
    made += 1
    end = "all"
except OSError as error:
    end = errno.errorcode[error.errno]
print(f"{made} names, {end}, {time.monotonic() - began:.0f} s")
PY
  grep -E '^Vm(Peak|HWM)' "/proc/$server/status"
  ls "$work/m/d" | wc -l
  "$ordo" umount "$work/m"
  wait "$server"
  "$ordo" fsck -n "$work/v.img"
}

echo "ulimit -v 262144"
under 262144 "$names"
echo "ulimit -v 98304"
under 98304 "$names"
