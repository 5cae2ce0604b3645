#!/usr/bin/env bash
# Images from a tree: `ordo mkfs -d` beside makefs(8), alternating runs. Then what is in both images, and what the checks
# of either say.
#
#   benches/images.sh [TREE]     TREE: /usr/share unless given; needs makefs and about four times the tree's size of disk
#                                RUNS=5 ORDO=PATH say how often and of what
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$(realpath "${1:-/usr/share}") runs=${RUNS:-5}
[[ -n ${ORDO:-} ]] || cargo build --profile dist --quiet
ordo=$(realpath "${ORDO:-${CARGO_TARGET_DIR:-target}/dist/ordo}")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-images.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg)"
# A copy, so that nothing else writes to it.
cp -a "$tree" "$work/tree"
echo "Tree: $(find "$work/tree" | wc -l) files, $(du -sm --apparent-size "$work/tree" | cut -f1) MB"
export SOURCE_DATE_EPOCH=1700000000 PATH=$PATH:/usr/sbin

# What makefs says of its progress is not looked at.
timed() { /usr/bin/env time -f '%e %U %S' -o "$work/time" "$@" >/dev/null 2>&1; cat "$work/time"; }
ours() { timed "$ordo" mkfs -q --type "ufs$1" --block-size 32k --frag-size 4k -d "$work/tree" "$work/ours.img"; }
theirs() { timed makefs -t ffs -o "version=$1,bsize=32768,fsize=4096" "$work/theirs.img" "$work/tree"; }
for version in 1 2; do
  : >"$work/rows"
  for ((run = 0; run < runs; run++)); do
    rm -f "$work"/*.img
    echo "ours $(ours $version)" >>"$work/rows"
    mv "$work/ours.img" "$work/ours.kept"
    echo "makefs $(theirs $version)" >>"$work/rows"
    mv "$work/ours.kept" "$work/ours.img"
  done
  python3 - "UFS$version" "$work/rows" <<'PYTHON'
import collections, statistics, sys
rows = collections.defaultdict(list)
for line in open(sys.argv[2]):
    who, *numbers = line.split()
    rows[who].append([float(number) for number in numbers])
median = {who: [statistics.median(column) for column in zip(*of)] for who, of in rows.items()}
for who, (wall, user, system) in median.items():
    print(f"{sys.argv[1]}: {who:7} {wall:.2f} s, {user + system:.2f} s of CPU")
ours, theirs = median["ours"], median["makefs"]
print(f"{sys.argv[1]}: ours over makefs: {ours[0] / theirs[0]:.2f} of its time, "
      f"{(ours[1] + ours[2]) / (theirs[1] + theirs[2]):.2f} of its CPU")
PYTHON
  for image in ours theirs; do
    echo "UFS$version: $image: $(stat -c '%s bytes' "$work/$image.img"); fsck -n: $("$ordo" fsck -n "$work/$image.img" | tail -1 | sed 's/^[^:]*: //')"
    "$ordo" hash "$work/$image.img" 2>/dev/null | sort -k2 >"$work/$image.hash" || true
  done
  "$ordo" info "$work/ours.img" | grep '^fit for' || true
  echo "UFS$version: files with the same name and bytes: $(comm -12 "$work/ours.hash" "$work/theirs.hash" | wc -l);" \
    "only in ours: $(comm -23 "$work/ours.hash" "$work/theirs.hash" | wc -l);" \
    "only in makefs's: $(comm -13 "$work/ours.hash" "$work/theirs.hash" | wc -l)"
done
