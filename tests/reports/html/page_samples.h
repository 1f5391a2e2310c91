// SPDX-License-Identifier: MIT
// Whole records for the tests of report.html: one with a fault and everything a page can draw of
// it, and one of sixty kernels and twenty thousand cases.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tests/reports/record/record_samples.h"

namespace plumbline {

// A kernel's cases: lengths, value classes and shapes in turn, errors that grow as the square root
// of the length.
inline void add_kernel(RunRecord& r, const std::string& name, int cases, bool failing) {
  constexpr std::array<std::string_view, 8> kValues = {
      "normal", "normal", "ones", "cancelling", "wide", "specials", "subnormal", "ties"};
  constexpr std::array<std::string_view, 6> kShapes = {"tile", "one", "edge",
                                                       "tail", "odd", "long"};
  KernelRecord k;
  k.name = name;
  k.summary = "D = A B, tensor cores, tiles of 128 by 128";
  k.operation = "gemm";
  k.formats = "a bf16, b bf16, d {out}";
  k.source_hash = "0123456789abcdef";
  k.ptx_hashes = {{"sm_80", "0123456789abcdef"}, {"sm_90", "fedcba9876543210"}};
  k.contracts = {{"sm_90", "adds products of 16 in a node that truncates\nrounds d once"}};
  r.kernels.push_back(k);
  for (int i = 0; i < cases; ++i) {
    const std::int64_t length = std::int64_t{8} << (i % 9);
    const std::string_view values = kValues[static_cast<std::size_t>(i) % kValues.size()];
    const bool wrong = failing && i % 3 == 0;
    CaseRecord c =
        sample_case(fmt::format("{} m=64 n=64 k={} value={} seed=0x{:x}", name, length, values, i),
                    wrong ? Verdict::fail : Verdict::pass, std::string(values));
    c.kernel = name;
    c.position = static_cast<std::int64_t>(r.cases.size());
    c.shape_class = kShapes[static_cast<std::size_t>(i / 2) % kShapes.size()];
    c.length_name = "k";
    c.length = length;
    c.claims[Claim::deterministic] = Verdict::pass;
    OutputVerdict& v = c.outputs[0].verdict;
    v.bounded = 64;
    v.median_bound_ulp = 0.01 * static_cast<double>(length);
    v.worst_ulp = wrong ? 300 : 0.05 * std::sqrt(static_cast<double>(length));
    v.worst_share = wrong ? 40 : 0.1;
    const int binade = std::clamp(std::ilogb(v.worst_ulp) + 1 + OutputTally::kFirstBinade, 1, 35);
    v.histogram.assign(OutputTally::kCells, 0);
    v.histogram[OutputTally::kCells / 2] = 20;
    v.histogram[static_cast<std::size_t>(std::min(v.worst_ulp * 8 + 32, 63.0))] += 44;
    v.magnitudes.assign(OutputTally::kBinades, 0);
    v.magnitudes[0] = 20;
    v.magnitudes[static_cast<std::size_t>(binade)] = 44;
    r.cases.push_back(std::move(c));
  }
}

inline RunRecord failing_record() {
  RunRecord r = sample_record();
  r.kernels.clear();
  r.cases.clear();
  r.counterexamples.clear();
  add_kernel(r, "gemm_bf16_G01", 60, true);
  add_kernel(r, "gemm_bf16", 60, false);
  Counterexample c = sample_record().counterexamples[0];
  c.kernel = "gemm_bf16_G01";
  c.original = r.cases[0].text;
  c.faults.names = {"the last product of k is missing"};
  c.explanation = {"exact -0.25, got 0.125"};
  c.difference_stride = 1;
  for (int i = 0; i < 33; ++i) c.differences.push_back(i < 32 ? 0.125 * (i % 3) : 13);
  r.counterexamples = {c};
  ErrorMap p;
  p.kernel = c.kernel;
  p.text = c.original;
  p.device = "emulator sm_90";
  p.output = "d";
  p.rows = p.columns = p.tile_rows = p.tile_columns = 64;
  for (int i = 0; i < 64; ++i) p.heat.push_back(std::string(60, i % 7 == 0 ? 'b' : '.') + "hijk");
  // Four warps of 16 rows each; the lanes that hold the last columns are wrong.
  for (int i = 0; i < 64; ++i) p.warps.push_back(std::string(64, static_cast<char>('0' + i / 16)));
  p.threads.assign(4, std::string(24, 'b') + "hhhhkkkk");
  for (int e = -6; e < 4; ++e) p.binades.push_back({e, 100, 0.25, std::ldexp(1.0, 2 - e)});
  r.error_maps = {p};
  r.planned = static_cast<std::int64_t>(r.cases.size());
  summarize(r);
  return r;
}

inline RunRecord passing_record() {
  RunRecord r = failing_record();
  std::erase_if(r.cases, [](const CaseRecord& c) { return c.kernel != "gemm_bf16"; });
  r.kernels.erase(r.kernels.begin());
  r.counterexamples.clear();
  r.error_maps.clear();
  r.kernels[0] = [&] {
    KernelRecord k;
    k.name = "gemm_bf16";
    return k;
  }();
  summarize(r);
  return r;
}

inline RunRecord large_record(int failing = 10) {
  RunRecord r = failing_record();
  const ErrorMap error_map = r.error_maps[0];
  r.kernels.clear();
  r.cases.clear();
  r.counterexamples.resize(failing > 0);
  for (int i = 0; i < 60; ++i) {
    add_kernel(r, fmt::format("kernel_number_{}", i), 334, i < failing);
    ErrorMap p = error_map;
    p.kernel = r.kernels.back().name;
    r.error_maps.push_back(p);
  }
  summarize(r);
  return r;
}

}  // namespace plumbline
