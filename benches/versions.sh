#!/usr/bin/env bash
# One scheme under two builds of ordo, in process on a disk in memory: what a change costs. Alternating runs, medians; the two
# must have been built in the same way.
#
#   benches/versions.sh BEFORE AFTER [PAIRS] [SCHEME]
set -euo pipefail
cd "$(dirname "$0")/.."
before=$(realpath "$1") after=$(realpath "$2")
pairs=${3:-5} scheme=${4:-softupdates}

# once NAME PROGRAM WORKLOAD PARAMETERS: lines "WORKLOAD PHASE NAME RATE". The first of three runs pays for memory.
once() {
  "$2" bench --scheme "$scheme" --workload "$3" ${4:+--param "$4"} --runs 3 --disk ram 2>/dev/null |
    awk -v w="$3" -v n="$1" '$1 == w && $2 != "total" && $2 != "sync" {print w, $2, n, $6}'
}

echo "Machine: $(nproc) CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg); $scheme, $pairs alternating pairs"
echo
echo "| program | phase | before | after | ratio |"
echo "| --- | --- | --- | --- | --- |"
for each in create-delete: small-files: copy-tree:files=2140 remove-tree:files=2140 postmark:files=5000,transactions=20000; do
  for ((i = 0; i < pairs; i++)); do
    if ((i % 2)); then
      once after "$after" "${each%%:*}" "${each#*:}"
      once before "$before" "${each%%:*}" "${each#*:}"
    else
      once before "$before" "${each%%:*}" "${each#*:}"
      once after "$after" "${each%%:*}" "${each#*:}"
    fi
  done
done | python3 -c '
import statistics, sys
rates = {}
for line in sys.stdin:
    workload, phase, name, rate = line.split()
    rates.setdefault((workload, phase), {}).setdefault(name, []).append(float(rate))
ratios = []
for (workload, phase), by in rates.items():
    before, after = (statistics.median(by[name]) for name in ("before", "after"))
    ratios.append(after / before)
    print(f"| {workload} | {phase} | {before:.0f}/s | {after:.0f}/s | {ratios[-1]:.3f} |")
print(f"\nmean of the ratios {statistics.mean(ratios):.3f}, lowest {min(ratios):.3f}")'
