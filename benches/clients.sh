#!/usr/bin/env bash
# Many clients at once: calls a second of 1, 2, 4, 8 and 16 clients on mounts, beside ext4 and beside the bare server,
# which does the same pwrite and fdatasync on its thread and nothing else (the ceiling of one client); and MB/s of a
# large file. Alternating runs, medians, one Markdown table.
#
#   benches/clients.sh [RUNS [SCHEME...]]     needs root and /dev/fuse; DIR (TMPDIR) on ext4; SCHEME [softupdates]
#
# PROGRAMS="overwrite pairs create read" and CLIENTS="1 2 4 8 16" choose; MB=512: the size of the large file.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-3}
shift || true
schemes=("$@")
((${#schemes[@]})) || schemes=(softupdates)
target=${CARGO_TARGET_DIR:-target}/dist
[[ -n ${ORDO:-} ]] || cargo build --profile dist --quiet
[[ -n ${EXAMPLES:-} ]] || cargo build --profile dist --quiet -p ordo-fuse -p ordo-model --examples
ordo=$(realpath "${ORDO:-$target/ordo}") examples=$(realpath "${EXAMPLES:-$target/examples}")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-clients.XXXXXX")
names=(ext4 bare "${schemes[@]}")
cleanup() {
  for name in "${names[@]}"; do umount "$work/$name" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap cleanup EXIT
for name in "${names[@]}"; do
  dir=$work/$name
  mkdir "$dir"
  case $name in
    ext4) continue ;;
    bare) "$examples/bare" "$dir" "$dir.file" 2>/dev/null & ;;
    *)
      "$ordo" mkfs --size 4G "$dir.img" >/dev/null
      case $name in wafs* | *journal*) "$ordo" tune -o log=on "$dir.img" >/dev/null ;; esac
      "$ordo" mount -f -o "scheme=$name,noatime" "$dir.img" "$dir" &
      ;;
  esac
  until mountpoint -q "$dir"; do
    kill -0 $! || { echo "$name cannot be mounted" >&2; exit 1; }
    sleep 0.1
  done
done

# rate COMMAND...: MB a second
rate() { local t=$EPOCHREALTIME; "$@" 2>/dev/null >&2; awk -v a="$t" -v b="$EPOCHREALTIME" -v m="${MB:-512}" 'BEGIN {print m / (b - a)}'; }
# once PROGRAM CLIENTS: one run on $dir
once() {
  case $1 in
    write) rate dd if=/dev/zero of="$dir/large" bs=1M count="${MB:-512}" conv=fsync ;;
    cold)
      [[ -e $dir/large ]] || rate dd if=/dev/zero of="$dir/large" bs=1M count="${MB:-512}" conv=fsync >/dev/null
      sync
      echo 3 >/proc/sys/vm/drop_caches
      rate dd if="$dir/large" of=/dev/null bs=1M
      rm "$dir/large"
      ;;
    *) "$examples/callers" "$dir" "$1" "$2" 500 ;;
  esac
}
median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg); $runs alternating runs, medians"
echo
echo "| program | clients |$(printf ' %s |' "${names[@]}") ${names[2]}/ext4 | ${names[2]}/bare |"
echo "| --- | ---: |$(printf ' ---: |%.0s' "${names[@]}") ---: | ---: |"
row() {
  local program=$1 clients=$2 name
  for ((run = 0; run < runs; run++)); do
    for name in "${names[@]}"; do
      dir=$work/$name
      once "$program" "$clients" >>"$work/$program.$clients.$name.txt"
    done
  done
  local cells=()
  for name in "${names[@]}"; do cells+=("$(median <"$work/$program.$clients.$name.txt")"); done
  awk -v p="$program" -v c="$clients" 'BEGIN {
    printf "| %s | %s |", p, c
    for (i = 1; i < ARGC; i++) printf " %.0f |", ARGV[i]
    printf " %.2f | %.2f |\n", ARGV[3] / ARGV[1], ARGV[3] / ARGV[2]
  }' "${cells[@]}"
}
for program in ${PROGRAMS:-overwrite pairs create read}; do
  for clients in ${CLIENTS:-1 2 4 8 16}; do row "$program" "$clients"; done
done
row write 1
row cold 1
