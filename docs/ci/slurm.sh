#!/bin/bash
#SBATCH --job-name=plumbline
#SBATCH --cpus-per-task=16
#SBATCH --requeue
# bash slurm.sh, where jobs are submitted: builds once, then submits an array, a shard of the deep
# profile per task, and after it a job that merges the shards into merged/. SHARDS is 8 by default.
# A task whose node dies begins again on another one, and goes on where it was (--resume).
set -e
root=third_party/plumbline
case ${1:-submit} in
  submit)
    "$root/scripts/plumbline" explain mine --kernel kernels/mine.toml # compiles the kernel, too
    array=$(sbatch --parsable --array="1-${SHARDS:-8}" "$0" shard)
    sbatch --dependency="afterany:${array%%;*}" "$0" merge
    ;;
  shard) # runs the program itself, since tasks that all build would disturb each other
    i=$SLURM_ARRAY_TASK_ID
    "$root/build/release/bin/plumbline" verify mine --kernel kernels/mine.toml --profile deep \
      --shard "$i/$SLURM_ARRAY_TASK_COUNT" --resume --out "shards/$i" --jobs "${SLURM_CPUS_PER_TASK:-1}"
    ;;
  merge) "$root/build/release/bin/plumbline" report shards/*/latest --out merged ;;
esac
