#!/bin/bash
# What a volume costs by its size (sparse) and by its files: seconds and peak memory of mkfs, a read, a change and fsck.
# benches/scale.sh DIR [ORDO]: DIR is on a file system with long sparse files (XFS, tmpfs); 1P takes 14 GiB there.
# SIZES and FILES choose the rows: words as `16T:64k:64k` (size:block:fragment), and numbers of files.
set -euo pipefail
dir=$1 ordo=${2:-ordo} image=$1/scale.img
trap 'rm -f "$image"' EXIT
cost() { # NAME COMMAND...: seconds and MiB, on one line
    python3 - "$@" <<'PY'
import os, subprocess, sys, time
began = time.time()
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
print(f"  {sys.argv[1]:6} {time.time() - began:8.2f} s {used.ru_maxrss // 1024:6} MiB" + ("" if status == 0 else f" status {status >> 8}"))
PY
}
rest() {
    du -h "$image" | cut -f1; "$ordo" info "$image" | grep ^groups
    cost read "$ordo" ls "$image:/.snap"; cost change "$ordo" mkdir "$image:/new"; cost fsck "$ordo" fsck -n "$image"
    rm -f "$image"
}
for row in ${SIZES-64G:32k:4k 1T:32k:4k 16T:32k:4k 16T:64k:64k 256T:64k:64k}; do
    IFS=: read -r size block frag <<<"$row"
    echo "$row"; cost mkfs "$ordo" mkfs -q --size "$size" --block-size "$block" --frag-size "$frag" "$image"; rest
done
for files in ${FILES-10000 100000}; do
    echo "$files files"
    python3 - "$files" "$dir/scale.tar" <<'PY'
import sys, tarfile
with tarfile.open(sys.argv[2], "w", format=tarfile.USTAR_FORMAT) as out:
    for n in range(int(sys.argv[1])):
        if n % 1000 == 0:
            top = tarfile.TarInfo(f"d{n // 1000}"); top.type = tarfile.DIRTYPE; top.mode = 0o755; out.addfile(top)
        out.addfile(tarfile.TarInfo(f"d{n // 1000}/f{n}"))
PY
    cost mkfs "$ordo" mkfs -q -d "$dir/scale.tar" "$image"; rm -f "$dir/scale.tar"; rest
done
