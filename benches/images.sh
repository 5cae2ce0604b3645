#!/usr/bin/env bash
# Images from a tree: `ordo mkfs -d` beside makefs(8), alternating runs. Then what is in both images, and what the checks
# of either say.
#
#   benches/images.sh [TREE]     TREE: /usr/share unless given; needs makefs and about four times the tree's size of disk
#                                RUNS=5 ORDO=PATH say how often and of what
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$(realpath "${1:-/usr/share}") runs=${RUNS:-5}
[[ -n ${ORDO:-} ]] || cargo build --release --quiet
ordo=$(realpath "${ORDO:-${CARGO_TARGET_DIR:-target}/release/ordo}")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-images.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg)"
# A copy, so that nothing else writes to it.
cp -a "$tree" "$work/tree"
echo "Tree: $(find "$work/tree" | wc -l) files, $(du -sm --apparent-size "$work/tree" | cut -f1) MB"
export SOURCE_DATE_EPOCH=1700000000 PATH=$PATH:/usr/sbin

both() { /usr/bin/env time -f '%e %U %S' -o "$work/time" "$@" >/dev/null 2>&1; cat "$work/time"; }
ours() { both "$ordo" mkfs -q --for "$1" -d "$work/tree" "$work/ours.img"; }
theirs() { both makefs -t ffs -o version=2 "$work/theirs.img" "$work/tree"; }
for system in freebsd netbsd; do
  : >"$work/rows"
  for ((run = 0; run < runs; run++)); do
    rm -f "$work"/*.img; echo "ours $(ours $system)" >>"$work/rows"
    rm -f "$work/theirs.img"; echo "makefs $(theirs)" >>"$work/rows"
  done
  python3 - "$system" "$work/rows" <<'PYTHON'
import collections, statistics, sys
rows = collections.defaultdict(list)
for line in open(sys.argv[2]):
    who, *numbers = line.split()
    rows[who].append([float(number) for number in numbers])
median = {who: [statistics.median(column) for column in zip(*of)] for who, of in rows.items()}
for who, (wall, user, system) in median.items():
    print(f"for {sys.argv[1]}: {who:7} {wall:.2f} s, {user + system:.2f} s of CPU")
print(f"for {sys.argv[1]}: ours over makefs: {median['ours'][0] / median['makefs'][0]:.2f} of its time")
PYTHON
  ls -ls "$work"/*.img | awk '{print $NF, $6, "bytes,", $1, "blocks used"}' | sed "s|$work/||"
  "$ordo" fsck -n "$work/ours.img" | tail -1
  "$ordo" info "$work/ours.img" | grep -i '^fit for' || true
  for image in ours theirs; do
    "$ordo" hash "$work/$image.img" | sort -k2 >"$work/$image.hash"
  done
  cmp "$work/ours.hash" "$work/theirs.hash" && echo "for $system: the same files with the same bytes: $(wc -l <"$work/ours.hash")"
done
