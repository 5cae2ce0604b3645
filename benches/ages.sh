#!/usr/bin/env bash
# What an age of 5 s costs against one of 30 s (commit=): PostMark, and a program unpacked, configured and built again and
# again, on a softupdates mount. Alternating runs; a line for each: age, program, seconds, server's CPU seconds, writes,
# rollbacks, flushes.
#
#   benches/ages.sh [PAIRS]            needs root and /dev/fuse; ORDO=PATH measures that program
set -euo pipefail
pairs=${1:-5}
. "$(dirname "$0")/one-mount.sh"

# once AGE PROGRAM OPTION...
once() {
  local age=$1 program=$2
  rm -f "$work/v.img"
  "$ordo" mkfs --size 1G "$work/v.img" >"$work/mkfs"
  "$ordo" mount -f -o "scheme=softupdates,commit=$age" "$work/v.img" "$work/m" &
  local server=$!
  until mountpoint -q "$work/m"; do sleep 0.05; done
  local began=$EPOCHREALTIME
  "$ordo" bench --workload "$program" --disk "dir:$work/m" --json "${@:3}" >"$work/rows"
  local ended=$EPOCHREALTIME cpu
  cpu=$(awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$server/stat")
  "$ordo" info --json "$work/v.img" >"$work/info"
  echo "$age $program $(awk "BEGIN { print $ended - $began }") $cpu" \
    "$(grep -oE '"(writes|rollbacks|flushes)": *[0-9]+' "$work/info" | tr -d '" ' | tr '\n' ' ')"
  "$ordo" umount "$work/m"
  wait "$server"
}

for pair in $(seq "$pairs"); do
  ages="30 5"
  ((pair % 2)) || ages="5 30"
  for program in postmark ssh; do
    for age in $ages; do
      case $program in
        postmark) once "$age" postmark --param files=2000,transactions=10000 ;;
        ssh) once "$age" ssh --runs 20 ;;
      esac
    done
  done
done
