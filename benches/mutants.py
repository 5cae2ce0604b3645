#!/usr/bin/env python3
"""How soon random scripts alone find a rule that is switched off: CPU seconds until the first violation, drawn and steered.

    benches/mutants.py [--scheme SCHEME] [--limit SECONDS] [--seed K] [RULE...]

Parts of 128 scripts, 120 states each, one thread, recoveries not cut, one seed after the other, until a part is convicted or the
limit (300) is over. ORDO names another program.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys


def until_found(ordo, scheme, rule, steer, seed, limit):
    """CPU seconds and scripts until a violation, or None and the scripts."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    scripts = 0
    while True:
        told = subprocess.run(
            [ordo, "crash", "--scheme", scheme, "--without", rule, "--workload", "random", "--sample", "128", "--states", "120",
             "--jobs", "1", "--no-shrink", "--seed", str(seed), "--set", f"recovery=0,steer={steer}", "--json"],
            stdout=subprocess.PIPE, check=False)
        if told.returncode not in (0, 1):
            sys.exit(f"{' '.join(told.args)}: exit code {told.returncode}")
        scripts += 128
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
        if json.loads(told.stdout)["violations_total"]:
            return seconds, scripts
        if seconds > limit:
            return None, scripts
        seed += 1


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--scheme", default="softupdates")
    args.add_argument("--limit", type=float, default=300)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("rules", nargs="*")
    args = args.parse_args()
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    ordo = os.environ.get("ORDO") or target / "dist" / "ordo"
    listed = json.loads(subprocess.run([ordo, "crash", "--list-rules", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    rules = args.rules or [rule["rule"] for rule in listed if rule["scheme"] == args.scheme]
    print("| rule | drawn: CPU s, scripts | steered: CPU s, scripts |\n| --- | ---: | ---: |")
    for rule in rules:
        cells = []
        for steer in ("no", "yes"):
            seconds, scripts = until_found(ordo, args.scheme, rule, steer, args.seed, args.limit)
            cells.append(f"{seconds:.1f}, {scripts}" if seconds is not None else f"not within {args.limit:.0f}, {scripts}")
        print(f"| `{rule}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
