#!/usr/bin/env bash
# docs/ci/slurm.sh on a real Slurm: four nodes on this machine, an array of shards, and one node killed while its task runs. Its
# task goes on elsewhere, nothing is lost, and the merged record is that of one run.
# Usage: slurm.sh PROGRAM SOURCE KERNEL_FOLDER [PROFILE]
set -u
program=$1 source=$2 kernels=$3 profile=${4:-quick}
for tool in munged slurmctld slurmd sbatch; do
  command -v $tool >/dev/null || { echo "skipped, there is no $tool: apt-get install munge slurmctld slurmd slurm-client"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped, slurmd needs root"; exit 77; }
. "$(dirname "$(realpath "$0")")/expect.sh"
trap 'kill $(cat "$work"/cluster/*.pid 2>/dev/null) 2>/dev/null; sleep 1; rm -rf "$work"' EXIT

# The cluster: ports and sockets of its own, so that it meets no other.
export SLURM_CONF=$work/cluster/slurm.conf
mkdir -p cluster/state
dd if=/dev/urandom of=cluster/key bs=128 count=1 2>/dev/null
chmod 400 cluster/key
host=$(hostname -s) port=$((20000 + RANDOM % 10000))
cat >cluster/slurm.conf <<CONF
ClusterName=plumbline
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/cluster/munge,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=$work/cluster/state
SlurmdSpoolDir=$work/cluster/%n
SlurmctldPidFile=$work/cluster/controller.pid
SlurmdPidFile=$work/cluster/%n.pid
SlurmctldLogFile=$work/cluster/controller.log
SlurmdLogFile=$work/cluster/%n.log
SlurmctldPort=$port
SlurmdTimeout=5
MinJobAge=3600
MpiDefault=none
NodeName=n[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 4))] CPUs=1
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
munged --force --socket="$work/cluster/munge" --key-file="$work/cluster/key" --log-file="$work/cluster/munge.log" \
  --pid-file="$work/cluster/munge.pid" --seed-file="$work/cluster/seed" 2>/dev/null || { echo "munged does not start"; exit 1; }
slurmctld -c
for i in 1 2 3 4; do slurmd -N n$i; done
for _ in $(seq 60); do [ "$(sinfo -h -t idle -o %D)" = 4 ] && break; sleep 0.5; done
[ "$(sinfo -h -t idle -o %D)" = 4 ] || { echo "the cluster does not start"; cat cluster/*.log; exit 1; }

# A project as docs/ci/README.md expects it; nodes with one core.
mkdir -p third_party/plumbline/scripts third_party/plumbline/build/release/bin
printf '#!/bin/sh\nexec %s "$@"\n' "$program" | tee third_party/plumbline/scripts/plumbline >third_party/plumbline/build/release/bin/plumbline
chmod +x third_party/plumbline/scripts/plumbline third_party/plumbline/build/release/bin/plumbline
copy mine gemm_bf16 ''
mv mine kernels
options="--profile $profile --on emulator --no-corpus"
sed -e 's/--cpus-per-task=16/--cpus-per-task=1/' -e "s/--profile deep/$options/" -e 's/explain mine .*/list >list.txt/' \
  "$source/docs/ci/slurm.sh" >slurm.sh

begin=$SECONDS
# shellcheck disable=SC2086
"$program" verify mine --kernel kernels/mine.toml $options -j 1 --out whole >whole.txt || { cat whole.txt; exit 1; }
echo "one run on one core: $((SECONDS - begin)) s"

begin=$SECONDS
SHARDS=8 bash slurm.sh >submitted.txt 2>&1 || { cat submitted.txt; exit 1; }
# The node of a task that has results already, and everything on it, as if the power went.
busy() {
  squeue -h -r -t R -o '%N %K' | while read -r node task; do
    [ "$(cat "shards/$task"/*/record.jsonl 2>/dev/null | wc -l)" -gt 20 ] && { echo "$node"; break; }
  done
}
for _ in $(seq 200); do
  node=$(busy)
  [ -n "$node" ] && break
  sleep 0.1
done
tree() { for child in $(pgrep -P "$1"); do tree "$child"; done; echo "$1"; }
slurmd=$(cat "cluster/$node.pid")
steps=$(pgrep -f "slurmstepd" | while read -r step; do grep -qzx "SLURMD_NODENAME=$node" "/proc/$(pgrep -P "$step" | head -n 1)/environ" 2>/dev/null && tree "$step"; done)
# shellcheck disable=SC2086
kill -9 "$slurmd" $steps
echo "killed $node with $(echo "$steps" | wc -w) processes"
for _ in $(seq 7200); do [ -z "$(squeue -h)" ] && break; sleep 0.5; done
echo "array with a node killed: $((SECONDS - begin)) s"
[ -z "$(squeue -h)" ] || { echo "FAILED: jobs are left"; squeue; failed=$((failed + 1)); }
grep -q "requeue\|Requeue" cluster/controller.log || { echo "FAILED: no task was requeued"; cat cluster/controller.log; failed=$((failed + 1)); }

grep -q "passed before the run was interrupted, and are taken over" slurm-*.out ||
  { echo "FAILED: the task that was killed began anew"; failed=$((failed + 1)); }
python3 - <<'PY' && passed=$((passed + 1)) || { failed=$((failed + 1)); cat slurm-*.out; }
import json
def load(path):
    record = json.load(open(path + "/record.json"))
    return {key: value for key, value in record.items() if key != "circumstances"} # command, dates, machines
whole, merged = load("whole/latest"), load("merged")
different = [key for key in whole.keys() | merged.keys() if whole.get(key) != merged.get(key)]
assert not different, "the records differ in " + ", ".join(different)
assert whole["planned"] > 500, "few cases"
print(whole["planned"], "cases, the same record as of one run")
PY
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
