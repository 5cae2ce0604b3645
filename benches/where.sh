#!/usr/bin/env bash
# Where the server runs: programs on a mount whose server follows its caller (follow=on), on one that stays where the
# scheduler puts it (follow=off), and on one that is pinned to one CPU with the programs. Alternating runs, medians,
# one Markdown table. Calls a second, and the seconds that an archive of 9,000 small files takes to unpack.
#
#   benches/where.sh [RUNS [SERVER...]]     needs root and /dev/fuse; SERVER: memory, async, softupdates [all three]
#
# CPU=N pins to that one, 0 by default; PROGRAMS="pairs:1 ..." chooses programs and clients. BOOST=1 gives the script's
# session the weight of autogroup -20, for a machine with other work: programs and server then run when they want to,
# and the numbers are those of a busy machine.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-5}
shift || true
servers=("$@")
((${#servers[@]})) || servers=(memory async softupdates)
if [[ -n ${BOOST:-} && -z ${BOOSTED:-} ]]; then
  export BOOSTED=1
  exec setsid -w bash -c 'echo -20 >/proc/self/autogroup; exec "$@"' where benches/where.sh "$runs" "${servers[@]}"
fi
cpu=${CPU:-0}
programs=${PROGRAMS:-unpack:1 unzip:1 pairs:1 pairs:2 pairs:8 stat:1 stat:8 think:1 think:2 overwrite:1 overwrite:8}
target=${CARGO_TARGET_DIR:-target}/dist
[[ -n ${ORDO:-} ]] || cargo build --profile dist --quiet
[[ -n ${EXAMPLES:-} ]] || cargo build --profile dist --quiet -p ordo-fuse -p ordo-model --examples
ordo=$(realpath "${ORDO:-$target/ordo}") examples=$(realpath "${EXAMPLES:-$target/examples}")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-where.XXXXXX")
cleanup() {
  for how in off on pinned; do
    for server in "${servers[@]}"; do umount "$work/$server-$how" 2>/dev/null || true; done
  done
  wait
  rm -rf "$work"
}
trap cleanup EXIT

pinned() { if [[ $how == pinned ]]; then taskset -c "$cpu" "$@"; else "$@"; fi; }
for server in "${servers[@]}"; do
  for how in off on pinned; do
    dir=$work/$server-$how
    mkdir "$dir"
    follow=off stay=stay
    [[ $how == on ]] && follow=on stay=
    if [[ $server == memory ]]; then
      # shellcheck disable=SC2086 # no word when it follows
      pinned "$examples/memfs" "$dir" noxattr $stay 2>/dev/null &
    else
      "$ordo" mkfs --size 1G "$dir.img" >/dev/null
      # In the foreground: a server in the background has a session, and a weight, of its own.
      pinned "$ordo" mount -f -o "scheme=$server,noatime,follow=$follow" "$dir.img" "$dir" &
    fi
    until mountpoint -q "$dir"; do sleep 0.1; done
  done
done
mkdir "$work/tree"
for ((d = 0; d < 90; d++)); do
  mkdir "$work/tree/$d"
  for ((f = 0; f < 100; f++)); do printf '%*s' $((f * 40)) x >"$work/tree/$d/$f"; done
done
tar -C "$work" -cf "$work/tree.tar" tree
gzip -k "$work/tree.tar"
rm -r "$work/tree"

seconds() { local t=$EPOCHREALTIME; "$@"; awk -v a="$t" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.3f\n", b - a}'; }
# once PROGRAM CLIENTS: one run on $dir
once() {
  case $1 in
    unpack) seconds pinned tar -C "$dir" -xf "$work/tree.tar"; rm -r "$dir/tree" ;;
    unzip) seconds pinned tar -C "$dir" -xzf "$work/tree.tar.gz"; rm -r "$dir/tree" ;;
    *) pinned "$examples/callers" "$dir" "$1" "$2" 500 ;;
  esac
}
median() { sort -n | awk '{v[NR] = $1} END {printf "%s [%s to %s]", v[int((NR + 1) / 2)], v[1], v[NR]}'; }

echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg); $runs alternating runs"
echo
echo "| server | program | clients | off | on | pinned | on/off | pinned/off |"
echo "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
for server in "${servers[@]}"; do
  for program in $programs; do
    name=${program%%:*} clients=${program##*:}
    rm -f "$work"/r.*
    for ((i = 0; i < runs; i++)); do
      for how in off on pinned; do
        dir=$work/$server-$how
        once "$name" "$clients" >>"$work/r.$how"
      done
    done
    off=$(median <"$work/r.off") on=$(median <"$work/r.on") pin=$(median <"$work/r.pinned")
    # Seconds are better when they are less.
    awk -v s="$server" -v p="$name" -v c="$clients" -v o="$off" -v n="$on" -v q="$pin" 'BEGIN {
      less = p ~ /^un/
      printf "| %s | %s | %s | %s | %s | %s | ", s, p, c, o, n, q
      printf "%.2f | %.2f |\n", less ? o / n : n / o, less ? o / q : q / o}'
  done
done
