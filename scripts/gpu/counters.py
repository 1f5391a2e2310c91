# SPDX-License-Identifier: MIT
"""Hardware counters of kernels by Nsight Compute: counters.py PROGRAM CASES OUT.csv

CASES has a case text a line. Every launch is a row of OUT.csv, in the order of the cases: the
kernel's name, grid and block, and a column for each of METRICS that this chip has.
"""
import csv
import io
import pathlib
import subprocess
import sys
import tempfile

METRICS = """
gpu__time_duration.sum
smsp__inst_executed.sum
smsp__thread_inst_executed.sum
smsp__thread_inst_executed_per_inst_executed.ratio
smsp__thread_inst_executed_pred_on_per_inst_executed.ratio
smsp__inst_executed_op_global_ld.sum
smsp__inst_executed_op_global_st.sum
smsp__inst_executed_op_global_red.sum
smsp__inst_executed_op_global_atom.sum
smsp__inst_executed_op_shared_ld.sum
smsp__inst_executed_op_shared_st.sum
smsp__inst_executed_op_ldsm.sum
smsp__inst_executed_op_ldgsts.sum
smsp__inst_executed_op_local_ld.sum
smsp__inst_executed_op_local_st.sum
smsp__inst_executed_pipe_tensor.sum
sm__inst_executed_pipe_tensor_op_hmma.sum
sm__inst_executed_pipe_tensor_op_imma.sum
sm__inst_executed_pipe_tensor_op_gmma.sum
sm__ops_path_tensor_src_bf16_dst_fp32.sum
sm__ops_path_tensor_src_fp16_dst_fp32.sum
sm__ops_path_tensor_src_fp8_dst_fp32.sum
sm__ops_path_tensor_src_int8.sum
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum
l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_cmd_read.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_cmd_write.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum
l1tex__m_xbar2l1tex_read_sectors.sum
l1tex__m_l1tex2xbar_write_sectors.sum
lts__t_sectors_op_read.sum
lts__t_sectors_op_write.sum
dram__sectors_read.sum
dram__sectors_write.sum
smsp__warps_launched.sum
launch__registers_per_thread
launch__shared_mem_per_block_static
launch__shared_mem_per_block_dynamic
launch__occupancy_limit_registers
launch__occupancy_limit_shared_mem
launch__occupancy_limit_warps
launch__occupancy_limit_blocks
launch__waves_per_multiprocessor
sm__maximum_warps_per_active_cycle_pct
""".split()


def known_metrics():
    listing = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=True)
    names = {line.split()[0] for line in listing.stdout.splitlines() if "__" in line.split(" ")[0]}
    return [
        metric for metric in METRICS
        if metric.startswith("launch__") or metric.split(".")[0] in names or metric.endswith("_pct")
    ]


def main(program, cases, out):
    metrics = known_metrics()
    print(f"metrics: {len(metrics)} of {len(METRICS)}; unknown: {' '.join(sorted(set(METRICS) - set(metrics)))}", flush=True)
    command = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--metrics", ",".join(metrics),
               program, "replay", "--on", "gpu", "--sm", "90", "-j", "1", "-q", "--out", tempfile.mkdtemp(),
               *pathlib.Path(cases).read_text().splitlines()]
    run = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    if not lines:
        print(f"no counters\n{run.stdout[-1500:]}\n{run.stderr[-1500:]}")
        return 1
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]  # the first one has the units
    with open(out, "w", newline="") as file:
        writer = csv.DictWriter(file, ["Kernel Name", "Grid Size", "Block Size", *metrics], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows)} launches of {len({row['Kernel Name'] for row in rows})} kernels")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
