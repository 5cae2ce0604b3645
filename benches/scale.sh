#!/bin/bash
# What a volume costs by its size (sparse) and by its files: seconds and peak memory of mkfs, a read, a change and fsck.
# benches/scale.sh DIR [ORDO]: DIR is on a file system with long sparse files (XFS, tmpfs); 1P takes 14 GiB there.
# SIZES and FILES choose the rows: words as `16T:64k:64k` (size:block:fragment), and numbers of files.
set -euo pipefail
dir=$1 ordo=${2:-ordo} image=$1/scale.img
trap 'rm -f "$image"' EXIT
cost() { # NAME COMMAND...: seconds and MiB, on one line
    python3 /dev/fd/3 "$@" 3<<'PY'
import os, subprocess, sys, time
began = time.time()
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
print(f"  {sys.argv[1]:7} {time.time() - began:8.2f} s {used.ru_maxrss // 1024:6} MiB" + ("" if status == 0 else f" status {status >> 8}"))
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
    # The archive goes through a pipe: of 10^7 files it has 5 GB.
    tree() {
        python3 - "$files" <<'PY'
import sys, tarfile
def head(name, kind):
    info = tarfile.TarInfo(name); info.type = kind; info.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    return info.tobuf(tarfile.USTAR_FORMAT)
# tarfile takes 20 us for a header: here only the name and the sum change from file to file.
plain = head("x", tarfile.REGTYPE)
base = sum(plain[100:148]) + 8 * 32 + sum(plain[156:])
for first in range(0, int(sys.argv[1]), 1000):
    out = [head(f"d{first // 1000}", tarfile.DIRTYPE)]
    for n in range(first, min(first + 1000, int(sys.argv[1]))):
        name = b"d%d/f%d" % (n // 1000, n)
        out.append(name.ljust(100, b"\0") + plain[100:148] + b"%06o\0 " % (base + sum(name)) + plain[156:])
    sys.stdout.buffer.write(b"".join(out))
sys.stdout.buffer.write(bytes(10240))
PY
    }
    tree | cost mkfs "$ordo" mkfs -q -d - "$image"
    # A server that is killed leaves the volume in use: the next change looks for what that has left, and frees it.
    coproc SERVER { exec "$ordo" serve nfs "$image" --listen 127.0.0.1:0; }
    server=$SERVER_PID
    read -r _ <&"${SERVER[0]}"
    kill -9 "$server"; wait "$server" 2>/dev/null || true
    cost reclaim "$ordo" mkdir "$image:/left"
    rest
done
