// SPDX-License-Identifier: MIT
// A small record with every verdict in it, for the tests of the report writers.
#pragma once

#include <limits>

#include "oracles/reference/output_tally.h"
#include "reports/record/record.h"

namespace plumbline {

inline CaseRecord sample_case(std::string text, Verdict verdict, std::string value_class) {
  CaseRecord c;
  c.kernel = "gemm_bf16";
  c.text = std::move(text);
  c.device = "emulator sm_90";
  c.value_class = std::move(value_class);
  c.shape_class = "tile";
  c.verdict = verdict;
  c.claims = {
      {Claim::in_bounds, Verdict::pass}, {Claim::bound, verdict}, {Claim::specials, Verdict::pass}};
  if (verdict != Verdict::pass) c.reason = "3 of 64 outputs <d> are \"off\" & more";
  OutputVerdict v;
  v.elements = v.compared = 64;
  v.nonzero = 60;
  v.refereed = 8;
  v.worst_ulp = verdict == Verdict::fail ? std::numeric_limits<double>::infinity() : 0.5;
  v.worst_share = verdict == Verdict::fail ? 17 : 0.25;
  v.histogram.assign(OutputTally::kCells, 0);
  v.histogram[OutputTally::kCells / 2] = 40;  // exact, or less than an eighth of an ulp above
  v.histogram[OutputTally::kCells / 2 + 3] = 24;
  v.magnitudes.assign(OutputTally::kBinades, 0);
  v.magnitudes[0] = 40;
  v.magnitudes[OutputTally::kFirstBinade - 1] = 24;  // from 1/4 to 1/2 ulp
  c.outputs.push_back({"d", "bf16", v});
  c.elapsed_ms = 12;
  return c;
}

// A wrong access, as the emulator sees it.
inline FindingRecord sample_finding(int line) {
  FindingRecord finding;
  finding.kind = "race";
  finding.text = "race: two lanes write `st.shared.u32`";
  finding.ptx_file = "/repo/k.ptx";
  finding.ptx_line = 120;
  finding.source_file = "/repo/src/a b.cu";
  finding.source_line = line;
  return finding;
}

inline RunRecord sample_record() {
  RunRecord r;
  r.plumbline_version = "0.1.0";
  r.verb = "verify";
  r.profile = "quick";
  r.seed = 42;
  r.run_id = "2f9c41";
  r.devices = {"emulator sm_90"};
  r.planned = 4;
  KernelRecord k;
  k.name = "gemm_bf16";
  k.known = {{"race: of <two>", "both write the same", 0}, {"race: of three", "mended", 0}};
  r.kernels.push_back(k);
  r.cases = {sample_case("gemm_bf16 m=8 n=8 k=8 value=normal seed=0x1", Verdict::pass, "normal"),
             sample_case("gemm_bf16 m=9 n=8 k=8 value=normal seed=0x1", Verdict::pass, "normal"),
             sample_case("gemm_bf16 m=8 n=8 k=33 value=ties seed=0x1", Verdict::fail, "ties"),
             sample_case("gemm_bf16 m=8 n=8 k=0 value=ones seed=0x1", Verdict::mistrusted, "ones")};
  for (std::size_t i = 0; i < r.cases.size(); ++i) r.cases[i].position = static_cast<int>(i);
  r.cases[0].known = r.cases[3].known = {"race: of <two>"};
  Counterexample c;
  c.kernel = "gemm_bf16";
  c.device = "emulator sm_90";
  c.claim = "bound";
  c.value_class = "ties";
  c.original = r.cases[2].text;
  c.text = "gemm_bf16 m=1 n=1 k=2";
  c.steps = 5;
  c.tried = 40;
  c.case_file = "fuzz/corpus/gemm_bf16/9a41c7.case";
  c.headline = "m=1 n=1 k=2: one output is off";
  c.elements = {"d[0,0]  expected 1", "        got      2"};
  c.excerpts = {{"which stored it", "gemm.cu", 48, 47, {"if (row < m) {", "  d[row] = sum;", "}"}}};
  r.counterexamples.push_back(c);
  summarize(r);
  return r;
}

// The first of the findings in two cases.
inline RunRecord record_with_findings(const std::vector<int>& lines) {
  RunRecord r = sample_record();
  for (const int line : lines) r.cases[2].findings.push_back(sample_finding(line));
  r.cases[3].findings = {r.cases[2].findings.front()};
  return r;
}

}  // namespace plumbline
