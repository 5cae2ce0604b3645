#!/bin/bash
#SBATCH --job-name=ordo-sweep
#SBATCH --array=1-200
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=01:00:00
#SBATCH --requeue
# A sweep as a Slurm job array: each task does one shard. A task that was killed goes on where its file ends, so
# `sbatch --array=7,31 slurm.sh` does again what `ordo merge out` misses; SHARDS=200 must then say the whole number.
set -euo pipefail
: "${SWEEP:=crash --scheme softupdates --workload seq2 --states 60 --set recovery=0}"
: "${OUT:=out}"
: "${SHARDS:=$SLURM_ARRAY_TASK_COUNT}"
mkdir -p "$OUT"
# Violations are results: ordo merge tells of them.
# shellcheck disable=SC2086
ordo $SWEEP --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" --jsonl "$OUT/$SLURM_ARRAY_TASK_ID.jsonl" || [[ $? == 1 ]]
