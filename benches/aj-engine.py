#!/usr/bin/env python3
"""The tables of docs/papers/aj-engine.md: the six traces on modelled drives, in the simulator and in the engine, the
volume prepared as a user's is (files copied, then active=on and ordo scrub --adopt). Virtual time; about five minutes.

  benches/aj-engine.py [ORDO]     the program `ordo`, with `ordo-lab` beside it"""
import json, subprocess, sys

ORDO = sys.argv[1] if len(sys.argv) > 1 else "target/release/ordo"
TRACES = ["cscope", "gcc", "viewperf", "multi1", "multi2", "tpc-r"]
FAR, SLOW = ("<1281", ">1281"), ("<7", "<8", ">8")


def asked(*words):
    return json.loads(subprocess.run([ORDO, *words, "--json"], check=True, capture_output=True, text=True).stdout)


def memory(trace):
    return ["--cache", "384M"] if trace == "tpc-r" else []


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


rows = {}
for trace in TRACES:
    # tpc-r changes next to nothing: one mode shows both.
    modes = ["ordered", "journal"] if trace != "tpc-r" else ["ordered"]
    systems = "ext3,ext3-journal,active,lfs"
    for row in asked("sim", "--layout", "own", "--system", systems, "--trace", trace, *memory(trace)):
        rows[trace, "simulator", row["system"]] = row
    for mode in modes:
        runs = {"active": [], "active, nothing learned": ["learning=no"]}
        words = ["trace", "replay", "--adopted", *memory(trace), trace]
        [rows[trace, "engine", f"block-journal, {mode}"]] = asked(
            *words, "--scheme", "block-journal", "--set", f"data={mode}")
        for name, more in runs.items():
            settings = ",".join([f"data={mode}", *more])
            [rows[trace, "engine", f"{name}, {mode}"]] = asked(*words, "--scheme", "active", "--set", settings)
    [rows[trace, "engine", "lfs"]] = asked("trace", "replay", "--scheme", "lfs", *memory(trace), trace)


def over(trace, where, one, other):
    if (trace, where, one) not in rows or (trace, where, other) not in rows:
        return "-"
    return f'{rows[trace, where, one]["mean_response_ms"] / rows[trace, where, other]["mean_response_ms"]:.2f}'


print("| trace | simulator | ordered | ordered, nothing learned | journal | journal, nothing learned | "
      "lfs, simulator | lfs, engine |")
print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
for trace in TRACES:
    cells = [over(trace, "simulator", "active", "ext3")]
    for mode in ["ordered", "journal"]:
        cells += [over(trace, "engine", f"{name}, {mode}", f"block-journal, {mode}")
                  for name in ["active", "active, nothing learned"]]
    cells += [over(trace, "simulator", "lfs", "ext3"), over(trace, "engine", "lfs", "block-journal, ordered")]
    print(f"| {trace} | {' | '.join(cells)} |")

print("\n| trace | | | mean ms | 95 % ms | movements | far | slow | fragments in replicas | reads from them |")
print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
for (trace, where, system), row in rows.items():
    distance, time = row["seeks"]["distance_cylinders"], row["seeks"]["time_ms"]
    cells = [number(row["mean_response_ms"]), number(row["p95_ms"]), f"{sum(distance.values()):,}",
             f"{sum(distance[bin] for bin in FAR):,}", f"{sum(time[bin] for bin in SLOW):,}",
             *(f"{count:,}" for count in row.get("replicas", [0, 0]))]
    print(f"| {trace} | {where} | {system} | {' | '.join(cells)} |")
print("\n| bin | sim, ext3 | sim, active | over | engine, block-journal | engine, active | over |")
print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
four = [rows["cscope", where, system]["seeks"] for where, system in [
    ("simulator", "ext3"), ("simulator", "active"), ("engine", "block-journal, ordered"), ("engine", "active, ordered")]]
for half in ["time_ms", "distance_cylinders"]:
    for bin in four[0][half]:
        a, b, c, d = (seeks[half][bin] for seeks in four)
        name = half.split("_")[0]
        print(f"| seek {name} {bin} | {a:,} | {b:,} | {b / max(a, 1):.2f} | {c:,} | {d:,} | {d / max(c, 1):.2f} |")

refused = sum(row.get("refused", 0) for row in rows.values())
print(f"\nCalls that were refused: {refused}.")
