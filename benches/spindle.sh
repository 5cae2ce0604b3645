#!/usr/bin/env bash
# A mount on a modelled drive in real time (ordo disks serve), under block-journal and under active: 8 threads that create
# and fsync files of 1 KB, files a second, and how far the arm went for that, which is a run with files less one without.
# Alternating runs, medians, one Markdown table.
#
#   benches/spindle.sh [RUNS [DRIVE]]     needs root and /dev/fuse; FILES=100 of each thread, in DIRS=8 directories;
#                                         DATA=ordered or journal; ORDO=PATH measures that program
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-3} drive=${2:-quantum_atlas_10k} files=${FILES:-100} data=${DATA:-ordered} dirs=${DIRS:-8}
ordo=$(realpath "${ORDO:-${CARGO_TARGET_DIR:-target}/release/ordo}")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-spindle.XXXXXX")
cleanup() {
  umount "$work/m" 2>/dev/null || true
  kill %% 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/m"
url="nbd+unix:///?socket=$work/s"

# once SCHEME FILES: "SCHEME FILES RATE CYLINDERS"
once() {
  "$ordo" disks serve "$drive" --socket "$work/s" --json >"$work/arm" 2>/dev/null &
  local server=$!
  until [[ -S $work/s ]]; do sleep 0.05; done
  local log=log
  [[ $1 != active ]] || log=active
  "$ordo" mkfs -q --size 1G "$url"
  "$ordo" tune -o "$log=on" "$url" >/dev/null
  "$ordo" mount -o "scheme=$1,data=$data" "$url" "$work/m" 2>/dev/null
  local rate
  rate=$(python3 - "$work/m" "$2" "$dirs" <<'PYTHON'
import os, sys, threading, time
place, files, dirs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def work(user):
    for i in range(files):
        file = os.open(f"{place}/d{user % dirs}/{user}.{i}", os.O_CREAT | os.O_WRONLY)
        os.write(file, b"x" * 1024)
        os.fsync(file)
        os.close(file)
[os.mkdir(f"{place}/d{n}") for n in range(dirs)]
began = time.monotonic()
users = [threading.Thread(target=work, args=(user,)) for user in range(8)]
[user.start() for user in users]
[user.join() for user in users]
print(8 * files / (time.monotonic() - began))
PYTHON
  )
  "$ordo" umount "$work/m"
  kill -TERM "$server"
  wait "$server"
  echo "$1 $2 $rate $(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["cylinders"])' "$work/arm")"
}

for ((i = 0; i < runs; i++)); do
  for scheme in block-journal active; do
    once "$scheme" "$files"
    once "$scheme" 0
  done
done | python3 -c '
import statistics, sys
rates, arms = {}, {}
for line in sys.stdin:
    scheme, files, rate, arm = line.split()
    arms.setdefault((scheme, files != "0"), []).append(int(arm))
    if files != "0":
        rates.setdefault(scheme, []).append(float(rate))
print("| scheme | files a second | cylinders |\n| --- | ---: | ---: |")
for scheme in rates:
    arm = statistics.median(arms[scheme, True]) - statistics.median(arms[scheme, False])
    print(f"| {scheme} | {statistics.median(rates[scheme]):.1f} | {arm:,.0f} |")'
