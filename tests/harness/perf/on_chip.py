# SPDX-License-Identifier: MIT
"""What perf counts is what Nsight Compute counted on an H100: on_chip.py PROGRAM SOURCE.

The chip's counters are those of docs/evidence (scripts/gpu/counters.py wrote them). Requests and sectors of global memory, products,
registers, and what loads and ldmatrix read of shared memory agree to the unit. Stores to shared memory agree within a hundredth: some
of the chip's own go the same way. What cp.async writes is not compared: the chip counts that as the data arrive, otherwise in each
launch. If this fails, a counter no longer is what the hardware does.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
COUNTERS = SOURCE / "docs/evidence/2026-11-26-nvidia-h100-80gb-hbm3/counters.csv"
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"


def counted(launch, name, *instructions):
    """A counter of all lines of a launch, or of the instructions whose names begin so."""
    lines = [line for line in launch["lines"] if not instructions or line["instruction"].startswith(instructions)]
    return sum(line["counts"].get(name, 0) for line in lines)


def main():
    launches_of = {}
    with open(COUNTERS, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            launches_of.setdefault(row["case"], []).append(row)
    compared = failed = launches = 0
    with tempfile.TemporaryDirectory() as folder:
        for case, rows in launches_of.items():
            kernel, _, fields = case.partition(" ")
            problem = fields.split(" value=")[0]
            ended = subprocess.run(
                [PROGRAM, "perf", kernel, "--problem", problem, "--sm", "90", "--out", folder, "-q"], capture_output=True, text=True)
            if ended.returncode != 0:
                sys.exit(f"{case}: {ended.stdout}{ended.stderr}")
            (entry,) = json.loads(pathlib.Path(folder, "latest-perf/perf.json").read_text(encoding="utf-8"))["entries"]
            for launch, row in zip(entry["launches"], rows):
                def chip(name):
                    return int(row[name].replace(",", "") or 0)

                # Atomics that return nothing are reductions there, whose sectors have no column.
                atomics = counted(launch, "global_requests", "atom", "red")
                atomic_sectors = counted(launch, "global_sectors", "atom", "red")
                totals = launch["totals"]
                pairs = {
                    "global requests": (totals.get("global_requests", 0),
                                        chip(GLOBAL.format("requests", "ld")) + chip(GLOBAL.format("requests", "st")) +
                                        chip("smsp__inst_executed_op_global_red.sum")),
                    "global sectors": (totals.get("global_sectors", 0) - atomic_sectors,
                                       chip(GLOBAL.format("sectors", "ld")) + chip(GLOBAL.format("sectors", "st"))),
                    "reductions": (atomics, chip("smsp__inst_executed_op_global_red.sum")),
                    "wavefronts of loads": (counted(launch, "shared_wavefronts", "ld"), chip(SHARED.format("ld"))),
                }
                if "compiled" in launch and "V13.0.88" in entry["compiler"]:  # the same ptxas; a thread has at least 16
                    pairs["registers"] = (max(launch["compiled"]["registers"], 16), chip("launch__registers_per_thread"))
                if bf16 := chip("sm__ops_path_tensor_src_bf16_dst_fp32.sum"):
                    pairs["products"] = (2 * totals["tensor_macs"], bf16)
                stores = counted(launch, "shared_wavefronts", "st"), chip(SHARED.format("st"))
                close = 0 <= stores[1] - stores[0] <= stores[0] / 100
                for name, (ours, theirs) in pairs.items():
                    compared += 1
                    if ours != theirs:
                        failed += 1
                        print(f"FAILED: {case}, {launch['entry']}: {name}: {ours} counted, {theirs} on the chip")
                compared += 1
                if not close:
                    failed += 1
                    print(f"FAILED: {case}, {launch['entry']}: wavefronts of stores: {stores[0]} counted, {stores[1]} on the chip")
                launches += 1
    print(f"{launches} launches of {len(launches_of)} cases: {compared} counters compared, {failed} failed")
    sys.exit(1 if failed or compared < 100 else 0)


main()
