#!/usr/bin/env bash
# What order costs: softupdates beside async, in process on a disk in memory, and through the mount with the images on a
# tmpfs. Alternating runs, medians, one Markdown table each.
#
#   benches/schemes.sh [RUNS]          needs root, /dev/fuse, 4 GiB of memory; PIN=0 pins programs and servers to a CPU,
#                                      ORDO=PATH measures that program
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-5}
tree=files=2140 mail=files=5000,transactions=20000
[[ -n ${ORDO:-} ]] || cargo build --profile dist --quiet
ordo=$(realpath "${ORDO:-${CARGO_TARGET_DIR:-target}/dist/ordo}")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-bench.XXXXXX")
pin() { if [[ -n ${PIN:-} ]]; then taskset -c "$PIN" "$@"; else "$@"; fi; }
cleanup() {
  for s in async softupdates; do "$ordo" umount "$work/$s" 2>/dev/null || true; done
  umount "$work/images" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# rows: lines "WORKLOAD PHASE SCHEME RATE WRITES" become a table of medians, in the order of the first run.
rows() {
  awk 'function median(k,  n, i, j, v, t) {
         n = split(rates[k], v, " ")
         for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
         return v[int((n + 1) / 2)] }
       { p = $1 " | " $2; if (!(p in seen)) { seen[p] = 1; order[++last] = p }
         rates[p, $3] = rates[p, $3] " " $4; writes[p, $3] = $5 }
       END { for (i = 1; i <= last; i++) { p = order[i]; a = median(p SUBSEP "async"); s = median(p SUBSEP "softupdates")
         printf "| %s | %d/s | %d/s | %.3f | %d | %d |\n", p, a, s, s / a, writes[p, "async"], writes[p, "softupdates"] } }'
}
heading() {
  echo "| program | phase | async | softupdates | ratio | writes, async | writes, softupdates |"
  echo "| --- | --- | --- | --- | --- | --- | --- |"
}

echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg); $runs alternating runs${PIN:+, all pinned to CPU $PIN}"
echo
heading
# in_process WORKLOAD PARAMETERS: one program, under both schemes in turn
in_process() {
  for ((i = 0; i < runs; i++)); do
    pin "$ordo" bench --scheme async,softupdates --workload "$1" ${2:+--param "$2"} --disk ram 2>/dev/null |
      awk -v w="$1" '$1 == w && $2 != "total" && $2 != "sync" {print w, $2, $3, $6, $9}'
  done | rows
}
# PostMark and the trees are larger than their defaults, which are over in a few milliseconds here.
in_process create-delete ""
in_process small-files ""
in_process copy-tree "$tree"
in_process remove-tree "$tree"
in_process postmark "$mail"

echo
mkdir "$work"/{images,async,softupdates}
mount -t tmpfs -o size=4G none "$work/images"
for s in async softupdates; do
  "$ordo" mkfs --size 1G "$work/images/$s" >/dev/null
  pin "$ordo" mount -o "scheme=$s,noatime" "$work/images/$s" "$work/$s"
done
heading
# mounted WORKLOAD PARAMETERS NAME: one program, on both mounts in turn
mounted() {
  for ((i = 0; i < runs; i++)); do
    for s in async softupdates; do
      sync -f "$work/$s"
      pin "$ordo" bench --workload "$1" ${2:+--param "$2"} --disk "dir:$work/$s" 2>/dev/null |
        awk -v w="$1" -v n="$3" -v s="$s" '$1 == w && $2 != "total" && $2 != "sync" {print n, $2, s, $6, 0}'
    done
  done | rows
}
mounted create-delete pairs=20000 create-delete
mounted small-files size=0,files=20000 empty-files
mounted copy-tree "$tree" copy-tree
mounted postmark "$mail" postmark
