#!/usr/bin/env bash
# The layout lfs beside ffs under soft updates: small files in process and through a mount, overwrites on modelled disks,
# a mount of a large volume after a crash, and fsck. Alternating runs.
#
#   benches/lfs.sh [small|mounted|overwrites|mount|fsck ...]    all parts, or these; needs root, /dev/fuse, 8 GiB of disk
#                                                               FILES=500000 RUNS=5 ORDO=PATH say how much and of what
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUNS:-5} files=${FILES:-500000}
[[ -n ${ORDO:-} ]] || cargo build --profile dist --quiet
ordo=$(realpath "${ORDO:-${CARGO_TARGET_DIR:-target}/dist/ordo}")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-bench.XXXXXX")
cleanup() {
  "$ordo" umount "$work/mnt" 2>/dev/null || umount -l "$work/mnt" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/mnt"
echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg)"

seconds() { local from to; from=$(date +%s%N); "$@" > /dev/null; to=$(date +%s%N); echo $(((to - from) / 1000000)); }
make() {
  local kind=()
  [[ $1 != lfs ]] || kind=(--type lfs)
  "$ordo" mkfs "${kind[@]}" --size "$3" "$2" > /dev/null
}
# fill DIR N: so many empty files, a thousand in each directory.
fill() {
  python3 - "$1" "$2" << 'PYTHON'
import os, sys
for d in range(int(sys.argv[2]) // 1000):
    path = f"{sys.argv[1]}/d{d}"
    os.mkdir(path)
    for i in range(1000):
        os.close(os.open(f"{path}/f{i}", os.O_CREAT | os.O_WRONLY))
PYTHON
}

small() {
  echo "small files in process:"
  "$ordo" bench --scheme softupdates,lfs --workload small-files --runs "$runs"
}

mounted() {
  echo "small files through a mount, each phase's median of $runs:"
  local all=$work/rows.json layout run options
  : > "$all"
  for ((run = 0; run < runs; run++)); do
    for layout in ffs lfs; do
      make "$layout" "$work/image" 2G
      [[ $layout == ffs ]] && options=scheme=softupdates || options=rw
      "$ordo" mount -o "$options" "$work/image" "$work/mnt"
      "$ordo" bench --workload small-files --param files=8192 --disk "dir:$work/mnt" --json |
        python3 -c 'import json, sys; [print(sys.argv[1], r["phase"], r["rate"]) for r in json.load(sys.stdin) if r["ops"]]' "$layout" >> "$all"
      "$ordo" umount "$work/mnt"
      rm "$work/image"
    done
  done
  python3 - "$all" << 'PYTHON'
import collections, statistics, sys
rates = collections.defaultdict(list)
for line in open(sys.argv[1]):
    layout, phase, rate = line.split()
    rates[phase, layout].append(float(rate))
print("| phase | softupdates on ffs | lfs | lfs/softupdates |\n| --- | ---: | ---: | ---: |")
for phase in dict.fromkeys(phase for phase, _ in rates):
    ffs, lfs = (statistics.median(rates[phase, layout]) for layout in ("ffs", "lfs"))
    print(f"| {phase} | {ffs:,.0f}/s | {lfs:,.0f}/s | {lfs / ffs:.2f} |")
PYTHON
}

overwrites() {
  for disk in hp_c2447 nearline_sata_7200 nvme_ssd_plp; do
    echo "overwrites of 4 KiB on $disk:"
    "$ordo" bench --scheme softupdates,lfs --workload overwrites --bsize 4k --machine today --disk "sim:$disk"
  done
}

mount() {
  make lfs "$work/image" 1T
  "$ordo" mount "$work/image" "$work/mnt"
  fill "$work/mnt" "$files"
  python3 -c 'import os, sys; fd = os.open(sys.argv[1], os.O_WRONLY); os.write(fd, b"x"); os.fsync(fd)' "$work/mnt/d0/f0"
  pkill -9 -f "mount $work/image" && sleep 1
  umount -l "$work/mnt"
  echo "mount of 1 TiB with $files files after a crash: $(seconds "$ordo" mount "$work/image" "$work/mnt") ms"
  "$ordo" umount "$work/mnt"
  rm "$work/image"
}

fsck() {
  local layout run
  for layout in ffs lfs; do
    make "$layout" "$work/$layout" 8G
    "$ordo" mount "$work/$layout" "$work/mnt"
    fill "$work/mnt" "$files"
    "$ordo" umount "$work/mnt"
  done
  for ((run = 0; run < runs; run++)); do
    for layout in ffs lfs; do
      echo "fsck -n, $layout, $files files: $(seconds "$ordo" fsck -n "$work/$layout") ms"
    done
  done
}

for part in "${@:-small mounted overwrites mount fsck}"; do for one in $part; do "$one"; done; done
