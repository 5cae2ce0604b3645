#!/usr/bin/env bash
# What a mount costs: the same programs on an OrdoFS volume (async), on an empty in-memory file system behind the same
# transport, on fuse2fs, and on the ext4 that holds the images. Alternating runs, medians, one Markdown table each.
#
#   benches/mounts.sh [RUNS]          needs root, /dev/fuse, fuse2fs, mkfs.ext4; PIN=0 pins programs and servers to a CPU
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-5}
cargo build --profile dist --quiet
cargo build --profile dist --quiet -p ordo-model --example memfs
target=${CARGO_TARGET_DIR:-target}/dist
ordo=$(realpath "$target/ordo") memfs=$(realpath "$target/examples/memfs")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-bench.XXXXXX")
pin() { if [[ -n ${PIN:-} ]]; then taskset -c "$PIN" "$@"; else "$@"; fi; }
cleanup() {
  "$ordo" umount "$work/ordo" 2>/dev/null || true
  umount "$work/memory" "$work/fuse2fs" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work"/{ordo,memory,fuse2fs,ext4}

"$ordo" mkfs --size 4G "$work/o.img" >/dev/null
pin "$ordo" mount -o scheme=async,noatime "$work/o.img" "$work/ordo"
pin "$memfs" "$work/memory" noxattr acl 2>/dev/null &
truncate -s 4G "$work/e.img"; mkfs.ext4 -q -F "$work/e.img"; pin fuse2fs "$work/e.img" "$work/fuse2fs" -o fakeroot 2>/dev/null
until mountpoint -q "$work/memory"; do sleep 0.1; done

median() { sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
# rate WORKLOAD PHASE DIR: one run's operations a second
rate() { pin "$ordo" bench --workload "$1" --disk "dir:$work/$3" 2>/dev/null | awk -v p="$2" '$2 == p {print $6; exit}'; }

echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg); $runs alternating runs${PIN:+, all pinned to CPU $PIN}"
echo
echo "| program | phase | ordo async | memory | fuse2fs | ordo/memory | ordo/fuse2fs |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for pair in create-delete:create-delete small-files:create small-files:read small-files:delete postmark:transactions; do
  w=${pair%%:*} p=${pair##*:}
  : >"$work/r"
  for ((i = 0; i < runs; i++)); do
    for d in ordo memory fuse2fs; do echo "$d $(rate "$w" "$p" $d)" >>"$work/r"; done
  done
  get() { grep "^$1 " "$work/r" | cut -d' ' -f2 | median; }
  o=$(get ordo) m=$(get memory) f=$(get fuse2fs)
  awk -v w="$w" -v p="$p" -v o="$o" -v m="$m" -v f="$f" \
    'BEGIN {printf "| %s | %s | %d/s | %d/s | %d/s | %.2f | %.2f |\n", w, p, o, m, f, o/m, o/f}'
done

echo
# The data path uses both CPUs: nothing is pinned here.
for d in ordo memory; do for pid in $(pgrep -f "$work/$d\$|$work/$d "); do taskset -apc 0-$(($(nproc) - 1)) "$pid" >/dev/null 2>&1 || true; done; done
echo "| 1 GiB, 1 MiB at a time | ordo async | ordo async,direct | memory | ext4 | ordo/ext4 | best ordo/ext4 |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
"$ordo" mkfs --size 4G "$work/d.img" >/dev/null; mkdir "$work/direct"
"$ordo" mount -o scheme=async,noatime,direct "$work/d.img" "$work/direct"
trap '"$ordo" umount "$work/direct" 2>/dev/null || true; cleanup' EXIT
cold() { sync; echo 3 >/proc/sys/vm/drop_caches; }
seconds() { local t=$EPOCHREALTIME; "$@" 2>/dev/null; awk -v a="$t" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.3f\n", b-a}'; }
: >"$work/w"; : >"$work/r"
for ((i = 0; i < runs; i++)); do
  for d in ordo direct memory ext4; do
    cold; echo "$d $(seconds dd if=/dev/zero of="$work/$d/f" bs=1M count=1024 conv=fsync)" >>"$work/w"
    cold; echo "$d $(seconds dd if="$work/$d/f" of=/dev/null bs=1M)" >>"$work/r"
    rm "$work/$d/f"
  done
done
for kind in w:write+fsync r:read,cold; do
  get() { grep "^$1 " "$work/${kind%%:*}" | cut -d' ' -f2 | median; }
  awk -v k="${kind##*:}" -v o="$(get ordo)" -v d="$(get direct)" -v m="$(get memory)" -v e="$(get ext4)" 'BEGIN {
    b = o < d ? o : d
    printf "| %s | %d MB/s | %d MB/s | %d MB/s | %d MB/s | %.2f | %.2f |\n", k, 1073.7/o, 1073.7/d, 1073.7/m, 1073.7/e, e/o, e/b}'
done

echo
"$ordo" mkfs --size 1T "$work/t.img" >/dev/null; mkdir "$work/t"
"$ordo" mount -o scheme=async "$work/t.img" "$work/t"; sleep 3
pid=$(pgrep -nf "mount -o scheme=async $work/t.img")
echo "Idle mount of a sparse 1 TiB volume: $(awk '/VmRSS/ {print $2}' "/proc/$pid/status") KiB resident."
"$ordo" umount "$work/t"
