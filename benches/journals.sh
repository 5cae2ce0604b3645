#!/usr/bin/env bash
# What a log costs on a real disk, through the mount, beside the ext4 that holds the images and beside the bare server, which
# does nothing but pwrite and fdatasync on its thread: many programs that make files and fsync each, and how long a full log takes
# to replay. Alternating runs, medians, one Markdown table each.
#
#   benches/journals.sh [RUNS]          needs root and /dev/fuse; TMPDIR=DIR is on the disk that is measured (ext4,
#                                       data=ordered, for the comparison); ORDO=PATH measures that program
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-5} users=8 files=500
target=${CARGO_TARGET_DIR:-target}/dist
[[ -n ${ORDO:-} ]] || cargo build --profile dist --quiet
[[ -n ${EXAMPLES:-} ]] || cargo build --profile dist --quiet -p ordo-fuse -p ordo-model --examples
ordo=$(realpath "${ORDO:-$target/ordo}") bare=$(realpath "${EXAMPLES:-$target/examples}/bare")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-bench.XXXXXX")
cleanup() {
  "$ordo" umount "$work/m" 2>/dev/null || umount -l "$work/m" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/m" "$work/ext4"
median() { sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }

# volume: a new image, all of it on the disk, so that no write has to find room first.
volume() {
  rm -f "$work/v.img"
  "$ordo" mkfs --size 2G "$work/v.img" >/dev/null
  fallocate -l 2G "$work/v.img"
  "$ordo" tune -o log=128M "$work/v.img" >/dev/null
  sync -f "$work"
}

# rate DIR: files that the users make and fsync there in a second, all together
rate() {
  local began ended u program programs=()
  for ((u = 0; u < users; u++)); do mkdir "$1/u$u"; done
  began=$(date +%s%N)
  for ((u = 0; u < users; u++)); do
    "$ordo" bench --workload create-files --param "files=$files,fsync=1" --disk "dir:$1/u$u" >/dev/null &
    programs+=($!)
  done
  for program in "${programs[@]}"; do wait "$program"; done
  ended=$(date +%s%N)
  rm -rf "$1"/u*
  echo $((users * files * 1000000000 / (ended - began)))
}

# mounted OPTIONS: the rate on a new volume that is mounted so
mounted() {
  volume
  "$ordo" mount -o "$1" "$work/v.img" "$work/m"
  rate "$work/m"
  "$ordo" umount "$work/m"
}

# floor: the rate on the bare server
floor() {
  "$bare" "$work/m" "$work/bare.img" 2>/dev/null &
  until mountpoint -q "$work/m"; do sleep 0.05; done
  rate "$work/m"
  umount "$work/m"
  wait
  rm "$work/bare.img"
}

# inside OPTIONS: the same users in one program, which has the volume open itself
inside() {
  local set=()
  [[ $1 != *,* ]] || set=(--set "${1#*,}")
  local scheme=${1%%,*}
  "$ordo" bench --scheme "${scheme#scheme=}" "${set[@]}" --users "$users" --workload create-files \
    --param "files=$files,fsync=1" --size 2G --disk "file:$work/b.img" --json 2>/dev/null |
    awk -F'[:,]' '/"rate"/ {printf "%d\n", $2; exit}'
}

echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg); $runs alternating runs"
echo
cases=(scheme=sync scheme=softupdates scheme=wafs,logmode=sync scheme=wafs,logmode=group scheme=wafs,logmode=async
  scheme=journal-file scheme=block-journal)
for ((i = 0; i < runs; i++)); do
  rate "$work/ext4" >>"$work/r.ext4"
  floor >>"$work/r.bare"
  for options in "${cases[@]}"; do
    mounted "$options" >>"$work/r.$options"
    inside "$options" >>"$work/i.$options"
  done
done
ext4=$(median <"$work/r.ext4")
echo "$users programs, each makes $files files of 1 KB and fsyncs each; a row is the median of all runs."
echo
echo "| | files a second | against ext4 | in one program, without a mount | against ext4 |"
echo "| --- | --- | --- | --- | --- |"
echo "| ext4 | $ext4 | 1.00 | | |"
awk -v r="$(median <"$work/r.bare")" -v e="$ext4" 'BEGIN {printf "| bare server | %d | %.2f | | |\n", r, r / e}'
for of in "${cases[@]}"; do
  awk -v o="$of" -v r="$(median <"$work/r.$of")" -v i="$(median <"$work/i.$of")" -v e="$ext4" \
    'BEGIN {printf "| %s | %d | %.2f | %d | %.2f |\n", o, r, r / e, i, i / e}'
done

echo
echo "A log of 128 MiB after a kill, replayed by fsck -p; what was in it is what the check says."
echo
echo "| | seconds | replayed |"
echo "| --- | --- | --- |"
# full OPTIONS PROGRAM...: the replay of the log that the program fills
full() {
  volume
  "$ordo" mount -f -o "$1" "$work/v.img" "$work/m" & server=$!
  until mountpoint -q "$work/m"; do sleep 0.05; done
  "${@:2}" >/dev/null
  kill -9 "$server"; wait "$server" 2>/dev/null || true
  umount -l "$work/m" 2>/dev/null || true
  sync -f "$work"; echo 3 >/proc/sys/vm/drop_caches
  local began ended said
  began=$(date +%s%N)
  said=$("$ordo" fsck -p "$work/v.img" | tail -1 | sed "s|^$work/v.img: ||")
  ended=$(date +%s%N)
  awk -v o="$1" -v s=$(((ended - began) / 1000000)) -v w="$said" 'BEGIN {printf "| %s | %.2f | %s |\n", o, s / 1000, w}'
}
full scheme=block-journal,data=journal,commit=1 dd if=/dev/urandom of="$work/m/big" bs=1M count=88
full scheme=wafs,logmode=async,data=journal dd if=/dev/urandom of="$work/m/big" bs=1M count=60
full scheme=wafs,logmode=async "$ordo" bench --workload create-files --param files=250000,size=0 --disk "dir:$work/m"
