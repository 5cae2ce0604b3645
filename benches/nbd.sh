#!/usr/bin/env bash
# What the network block device costs: PostMark on a volume over qemu-nbd on a local file, and on the same file opened
# directly. Alternating pairs; the median of the pairs' ratios. docs/beyond.md has figures.
#
#   benches/nbd.sh [PAIRS] [SCHEME]     needs qemu-utils; ORDO=PATH takes a program that is built already
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${1:-7} scheme=${2:-softupdates}
command -v qemu-nbd >/dev/null || { echo "skipped: no qemu-nbd (package qemu-utils)"; exit 0; }
if [[ -z ${ORDO:-} ]]; then
  cargo build --profile dist --quiet
  ORDO=${CARGO_TARGET_DIR:-target}/dist/ordo
fi
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-nbd.XXXXXX")
server=
cleanup() { [[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$work"; }
trap cleanup EXIT
truncate -s 1G "$work/v.img"
# run DISK: operations a second of the whole program, and the requests that the disk got
run() {
  "$ORDO" bench --workload postmark --scheme "$scheme" --size 1G --disk "$1" \
    --param "files=${FILES:-20000},transactions=${TRANSACTIONS:-100000}" | awk '$2 == "total" {printf "%.0f %s %s\n", $6, $8, $9}'
}
over() {
  rm -f "$work/socket"
  qemu-nbd -t -f raw --cache=writeback --discard=unmap -k "$work/socket" "$work/v.img" & server=$!
  until [[ -S $work/socket ]]; do sleep 0.05; done
  run "erase:nbd+unix:///?socket=$work/socket"
  kill "$server"; wait "$server" 2>/dev/null || true; server=
}
echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg); $pairs pairs, $scheme"
echo
echo "| direct, operations/s | over qemu-nbd | ratio | reads and writes, direct | over qemu-nbd |"
echo "| --- | --- | --- | --- | --- |"
for ((i = 0; i < pairs; i++)); do
  # Each first in every other pair.
  if ((i % 2)); then n=$(over); d=$(run "erase:$work/v.img"); else d=$(run "erase:$work/v.img"); over >"$work/n"; n=$(<"$work/n"); fi
  read -r dr dreads dwrites <<<"$d"; read -r nr nreads nwrites <<<"$n"
  awk -v d="$dr" -v n="$nr" -v a="$dreads and $dwrites" -v b="$nreads and $nwrites" \
    'BEGIN {printf "| %d | %d | %.2f | %s | %s |\n", d, n, n / d, a, b}' | tee -a "$work/rows"
done
echo
cut -d'|' -f4 "$work/rows" | sort -n | awk '{v[NR] = $1} END {printf "median ratio: %.2f (the goal is 0.7)\n", v[int((NR + 1) / 2)]}'
