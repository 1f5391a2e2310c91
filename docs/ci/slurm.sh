#!/bin/bash
#SBATCH --job-name=plumbline
#SBATCH --array=1-8
#SBATCH --cpus-per-task=16
# sbatch slurm.sh: a shard of the deep profile per task. Then, once all are done, in one place:
#   plumbline report shards/*/latest --out merged
set -e
n=${SLURM_ARRAY_TASK_COUNT:-8} i=${SLURM_ARRAY_TASK_ID:?run it with sbatch}
third_party/plumbline/scripts/plumbline verify mine --kernel kernels/mine.toml --profile deep \
  --shard "$i/$n" --out "shards/$i" --jobs "${SLURM_CPUS_PER_TASK:-1}"
