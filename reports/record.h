// SPDX-License-Identifier: MIT
// RunRecord: everything a run found out, and the only thing report writers read. It is byte-stable:
// two runs with the same inputs give the same record.json but for the one `timing` object.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"
#include "oracles/reference/oracle.h"
#include "reports/mutant_record.h"
#include "reports/propagation.h"

namespace plumbline {

enum class Verdict : std::uint8_t { pass, fail, mistrusted, error, skip };

std::string_view name(Verdict verdict);  // "pass", "fail", "mistrusted", "error", "skip"

// What is judged of a case, each with its own verdict.
enum class Claim : std::uint8_t {
  bound,          // every finite output lies in the admissible interval
  specials,       // NaN, Inf and finite where they are due
  in_bounds,      // memory and synchronisation: device findings, guard bands, padding, unwritten
                  // outputs
  deterministic,  // repeated launches agree bit for bit
  agrees,         // GPU and emulator agree bit for bit
  related,        // a metamorphic relation holds: a changed problem changes the outputs as it must
  population,     // all errors together are believable for a conforming kernel
};

std::string_view name(
    Claim claim);  // "bound", "specials", "in-bounds", "deterministic", "agrees", ...

struct OutputRecord {
  std::string name;    // "d"
  std::string format;  // "bf16"
  OutputVerdict verdict;
};

struct CaseRecord {
  std::string kernel;
  std::string text;    // canonical case text: replays with `plumbline replay`
  std::string device;  // "emulator sm_90"
  std::string shape_class, layout_class, value_class, origin;
  Verdict verdict = Verdict::pass;
  std::map<Claim, Verdict> claims;  // those judged
  std::string reason;               // one line; empty for pass
  std::vector<OutputRecord> outputs;
  std::vector<std::string> findings;   // one line each
  std::string population;              // the smallest effects its tests would have seen
  std::string fingerprint;             // of all output bits
  std::vector<std::uint32_t> reached;  // for searches; not part of the file
  double elapsed_ms = 0;               // goes to the timing object
};

// A failure made small and explained.
struct Counterexample {
  std::string kernel, device, claim, value_class;
  std::string original, text;  // case texts before and after shrinking
  int steps = 0, tried = 0;
  std::string case_file;              // as printed in the replay line
  std::string headline;               // "1x1x2: one output is 64 ulp from the exact value"
  std::vector<std::string> elements;  // aligned lines: place, expected, got
  std::vector<std::string> explanation;
  std::vector<std::string> faults;  // simple faults that fit, the most telling first
  std::vector<std::string> findings;
};

struct KernelRecord {
  std::string name, summary;
  std::string operation;
  std::string formats;  // "bf16·bf16 → bf16, f32"
  std::string source_hash;
  std::map<std::string, std::string> ptx_hashes;  // "sm_80" -> hash
  std::map<std::string, std::string> contracts;   // "sm_80" -> the contract in words
  std::map<std::string, std::string> arithmetic;  // "emulator sm_80" -> what probes found, in words
  std::string population;  // the smallest effects that tests of many errors would have seen
  Verdict verdict = Verdict::pass;
  std::vector<std::string> reasons;  // why mistrusted or error
  std::int64_t cases = 0, passed = 0, failed = 0, mistrusted = 0, errors = 0, skipped = 0;
  std::int64_t outputs = 0, compared = 0, bounded = 0, nonzero = 0, undecided = 0, refereed = 0,
               disagreements = 0;
  std::int64_t sampled_cases = 0;  // large outputs of which only a stratified sample was bounded
  double worst_ulp = 0, worst_share = 0;
  std::string worst_case;  // text of the case with the largest share
  double worst_relative =
      0;  // of admissible outputs whose terms hardly cancel, beyond output rounding
  std::string least_accurate_case;  // where that is, with its device
  double elapsed_ms = 0;            // goes to the timing object
};

struct RunRecord {
  std::string plumbline_version, git_hash;
  std::string command;  // as typed
  std::string verb;
  std::string profile;
  std::uint64_t seed = 0;
  std::string run_id;  // six hex digits
  std::vector<std::string> devices;
  std::map<std::string, std::string> environment;  // mpfr, openblas, models, vector target, os
  bool interrupted = false;
  std::int64_t planned = 0;
  std::vector<KernelRecord> kernels;
  std::vector<CaseRecord> cases;
  std::vector<Counterexample> counterexamples;
  std::vector<MutantRecord> mutants;  // of `plumbline mutants`
  std::vector<PeerRecord> peers;      // and with --peers
  std::vector<PropagationRecord> propagations;  // of `plumbline propagate`
  std::vector<DepthRecord> depths;
  std::vector<GradientRecord> gradients;
  double elapsed_ms = 0;
};

// Adds up the cases of each kernel into its KernelRecord (counts and worst values; not the
// verdict's evidence rules).
void summarize(RunRecord& record);

}  // namespace plumbline
