// SPDX-License-Identifier: MIT
// RunRecord: everything a run found out, and the only thing report writers read. It is byte-stable:
// two runs with the same inputs give the same record.json but for the one object `circumstances`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"
#include "oracles/reference/named_faults.h"
#include "oracles/reference/oracle.h"
#include "reports/record/mutant_record.h"
#include "reports/record/propagation.h"

namespace plumbline {

enum class Verdict : std::uint8_t { pass, fail, mistrusted, error, skip };

std::string_view name(Verdict verdict);  // "pass", "fail", "mistrusted", "error", "skip"
bool by_name(std::string_view word, Verdict& verdict);
int severity(Verdict verdict);  // a larger one deserves more attention

// What is judged of a case, each with its own verdict.
enum class Claim : std::uint8_t {
  bound,      // every finite output lies in the admissible interval
  bits,       // where the contract leaves nothing open, outputs are its arithmetic's bit for bit
  specials,   // NaN, Inf and finite where they are due
  in_bounds,  // memory and synchronization: device findings, guard bands, padding, unwritten
              // outputs
  deterministic,  // repeated launches agree bit for bit
  agrees,         // GPU and emulator agree bit for bit; `skip` where they do not and need not
  related,        // a metamorphic relation holds: a changed problem changes the outputs as it must
  population,     // all errors together are believable for a conforming kernel
};

// Of a case whose claim `agrees` has the verdict `skip`: its bits differ where approximate
// instructions or any order of additions allow it.
inline constexpr std::string_view kNotAsked = "differs in its last bits; not asked of this kernel";

std::string_view name(
    Claim claim);  // "bound", "bits", "specials", "in-bounds", "deterministic", "agrees", ...
bool by_name(std::string_view word, Claim& claim);

// The second access of a finding that two accesses make.
struct OtherAccessRecord {
  std::string access;  // "read", "write", "atomic", "cp.async", "bulk copy"
  std::string text;    // it and its place in one line
  int warp = 0, lane = 0;
  std::string ptx_file;  // as those of a FindingRecord
  int ptx_line = 0;
  std::string source_file;
  int source_line = 0;
  std::string inlined_at;

  bool operator==(const OtherAccessRecord&) const = default;
};

// What a device saw that no correct kernel does, as far as a report needs it.
struct FindingRecord {
  std::string kind;      // "race"
  std::string text;      // the whole finding in one line
  std::string ptx_file;  // empty where not known, as are the lines (0)
  int ptx_line = 0;
  std::string source_file;
  int source_line = 0;
  // "tile.cuh:31, inlined at gemm.cu:40": the calls by which the source line was inlined.
  std::string inlined_at;
  std::optional<OtherAccessRecord> other = std::nullopt;  // of a race, where it is known

  bool operator==(const FindingRecord&) const = default;
};

struct OutputRecord {
  std::string name;    // "d"
  std::string format;  // "bf16"
  OutputVerdict verdict;
  // The size its sums run over, where that is not the case's: "m" for dw.
  std::string length_name = {};
  std::int64_t length = 0;
};

// Which of a kernel's code the cases of a part of a run reached, so that the parts can be put
// together.
struct CodeParts {
  std::int64_t instructions = 0;
  // PTX lines that no case executed, in order, by the source line they stand for.
  std::map<std::string, std::vector<int>> missing = {};
  std::vector<std::string> reached = {}, repeated = {};  // loops, in order

  bool operator==(const CodeParts&) const = default;
};

struct CaseRecord {
  std::int64_t position = 0;  // in the whole plan, also where this run was a part of it
  std::string kernel;
  std::string text;    // canonical case text: replays with `plumbline replay`
  std::string device;  // "emulator sm_90"
  std::string shape_class, layout_class, value_class, origin;
  Verdict verdict = Verdict::pass;
  std::map<Claim, Verdict> claims;  // those judged
  std::string reason;               // one line; empty for pass
  std::string length_name;          // the size its sums run over ("k"); empty where there is none
  std::int64_t length = 0;
  std::vector<OutputRecord> outputs;
  std::vector<FindingRecord> findings;
  std::vector<std::string> known;      // what the manifest's [[known]] findings say that were met
  std::string population;              // the smallest effects its tests would have seen
  std::string fingerprint;             // of all output bits
  std::vector<std::uint32_t> reached;  // for searches; not part of the file
  // Of the kernel's code, by this case and those that ended before it, where this one added some.
  // In record.jsonl only: record.json has that of all cases (KernelRecord::code_parts).
  std::optional<CodeParts> code_parts;
  double elapsed_ms = 0;  // goes to the object `circumstances`
  double kernel_ms = 0;   // of the kernel alone, the fastest of its launches; 0 on the emulator
};

// A failure made small and explained.
// Lines of source code (reports/excerpt.h).
struct SourceExcerpt {
  std::string what;  // "where it happens"
  std::string file;
  int line = 0, first = 0;        // the line that is meant, and the first one of the text
  std::vector<std::string> text;  // readable, without what all lines are indented by

  bool operator==(const SourceExcerpt&) const = default;
};

struct Counterexample {
  std::string kernel, device, claim, value_class;
  std::string original, text;  // case texts before and after shrinking
  int steps = 0, tried = 0;
  std::string case_file;              // as printed in the replay line
  std::string manifest;               // which --kernel it needs; empty for shipped kernels
  std::string headline;               // "1x1x2: one output is 64 ulp from the exact value"
  std::vector<std::string> elements;  // aligned lines: place, expected, got
  std::vector<std::string> explanation;
  NamedFaults faults;
  std::vector<FindingRecord> findings;
  // Where there are none: where the worst wrong output was stored. Without a kind: not known.
  FindingRecord store;
  std::vector<SourceExcerpt> excerpts;
  // Accumulator minus exact, in accumulator ulp, after every `difference_stride` steps of k, the
  // last step included; empty where the operation has no such steps.
  std::vector<double> differences;
  int difference_stride = 0;
};

// The errors of one output tensor of one case, small enough to draw: where they are in a tile, and
// how large they are for small and large results.
struct ErrorMap {
  struct Binade {
    int exponent = 0;  // results with 2^exponent <= |exact| < 2^(exponent + 1)
    std::int64_t outputs = 0;
    double median_ulp = 0, worst_ulp = 0;
  };

  std::string kernel, text, device, output;
  std::int64_t rows = 0, columns = 0;  // of the output
  std::int64_t tile_rows = 0, tile_columns = 0;
  // The worst error per (row mod tile_rows, column mod tile_columns): a string per row, a letter
  // per column. '.' is at most half an ulp (as good as exact), 'd' below 1 ulp, 'e' below 2,
  // ... 'z' 2^21 and more, or of the wrong class.
  std::vector<std::string> heat;
  // The warp that stored each of these cells, as a digit of base 32 ('0' to '9', 'a' to 'v'); '.'
  // where it is not known or several did. Empty where no device could tell.
  std::vector<std::string> warps;
  // A string per warp: the letter of the worst error that each of its 32 lanes stored, ' ' for
  // none.
  std::vector<std::string> threads;
  std::vector<Binade> binades;
};

// Instructions that no case of a run executed, by the source line they stand for.
struct CodeHole {
  std::string where;  // "epilogue.cuh:150"
  std::int64_t instructions = 0;

  bool operator==(const CodeHole&) const = default;
};

// What of a kernel's code a run executed.
struct CodeRecord {
  std::int64_t instructions = 0, executed = 0;
  std::vector<CodeHole> holes;  // the largest
  // Loops that cases reached and whose body none ran twice in a row: "gemm.cu:91".
  std::vector<std::string> unrepeated = {};

  bool operator==(const CodeRecord&) const = default;
};

// A finding of the device's that the manifest says is known, and why that is all right.
struct KnownRecord {
  std::string says, reason;
  std::int64_t cases = 0;  // that met it

  bool operator==(const KnownRecord&) const = default;
};

struct KernelRecord {
  std::string name, summary;
  std::string operation;
  std::string formats;   // "bf16·bf16 → bf16, f32"
  std::string manifest;  // which --kernel it needs; empty for shipped kernels
  std::string source_hash;
  std::map<std::string, std::string> ptx_hashes;  // "sm_80" -> hash
  std::map<std::string, std::string> contracts;   // "sm_80" -> the contract in words
  std::map<std::string, std::string> arithmetic;  // "emulator sm_80" -> what probes found, in words
  std::map<std::string, CodeRecord> code;         // by device; of whole plans only
  std::map<std::string, CodeParts> code_parts;    // by device; of shards
  std::vector<KnownRecord> known;
  std::string population;  // the smallest effects that tests of many errors would have seen
  std::string failing;     // what tells its failing cases from the others, where one thing does
  Verdict verdict = Verdict::pass;
  std::vector<std::string> reasons;  // why skipped; what probes of its arithmetic found against it
  std::vector<std::string> mistrusted_because;  // why passing proves too little
  // What no longer ran or did not come to run: saved cases that its manifest no longer fits; probes.
  std::string left_out;
  std::int64_t not_run = 0;  // planned cases that did not run, where the run ended early
  std::int64_t cases = 0, passed = 0, failed = 0, mistrusted = 0, errors = 0, skipped = 0;
  std::int64_t outputs = 0, compared = 0, bounded = 0, nonzero = 0, undecided = 0, refereed = 0,
               confirmed = 0, disagreements = 0;
  // Large outputs of which only a stratified sample was bounded: their cases, and the elements that
  // were and were not.
  std::int64_t sampled_cases = 0, sampled = 0, unsampled = 0;
  double worst_ulp = 0, worst_share = 0;
  std::string worst_case;           // text of the case with the largest share
  double worst_relative = 0;        // largest of an output that is_coarse; 0 where none is
  std::string least_accurate_case;  // where that is, with its device
  double elapsed_ms = 0;            // goes to the object `circumstances`
};

// More machines than any run is spread over; what counts shards stays small.
inline constexpr int kMostShards = 10'000;

// Which part of a plan a run was: --shard 3/8.
struct ShardRecord {
  int index = 1, count = 1;
  std::int64_t plan = 0;       // cases of the whole plan; 0 where that is open (fuzz)
  std::string plan_hash = {};  // of their texts and devices, in order; empty where that is open
};

// When and where a run, or a shard of one, was made.
struct PlaceRecord {
  std::string date;                  // "2026-11-25T19:16:21Z"
  std::string processor;             // "AMD EPYC 7763 64-Core Processor"
  std::string instruction_set;       // "x86_64, AVX3"
  std::string commit;                // of the repository that holds the current folder; else empty
  bool uncommitted_changes = false;  // in that repository

  bool operator==(const PlaceRecord&) const = default;
};

struct RunRecord {
  std::string plumbline_version, git_hash;
  std::string command;  // as typed; kept with what differs between equal runs
  std::string verb;
  std::string profile;
  std::uint64_t seed = 0;
  std::string filter;  // what left cases of the plan out: "--sm 90 --only 'k>512'"
  std::string run_id;  // six hex digits
  std::vector<std::string> devices;
  std::map<std::string, std::string> environment;  // mpfr, openblas, models, vector target, os
  bool interrupted = false;
  std::int64_t stopped_after = 0;  // so many failing cases, as asked; 0: nothing stopped it
  std::int64_t planned = 0;
  std::optional<ShardRecord> shard;         // none for a whole run and a merged one
  std::vector<std::string> missing_shards;  // of a merged run: "3/4"
  std::vector<KernelRecord> kernels;
  std::vector<CaseRecord> cases;
  std::vector<Counterexample> counterexamples;
  std::vector<ErrorMap> error_maps;
  std::vector<MutantRecord> mutants;            // of `plumbline mutants`
  std::vector<PeerRecord> peers;                // and with --peers
  std::vector<PropagationRecord> propagations;  // of `plumbline propagate`
  std::vector<DepthRecord> depths;
  std::vector<GradientRecord> gradients;
  std::vector<StochasticRecord> stochastics;
  std::vector<PlaceRecord> places;  // one, or one for each shard that was merged
  double elapsed_ms = 0;

  // Whether planned cases did not run.
  bool ended_early() const { return interrupted || stopped_after > 0; }
};

// The errors of a case that passed, to six digits: no report shows more, and records are shorter.
void shorten_figures(CaseRecord& record);

// What a kernel's record says apart from its cases.
KernelRecord without_cases(const KernelRecord& kernel);

// How a run ended that was to end with so many failures: "stopped at its first failure".
std::string stop_text(std::int64_t failures);

// Why a record is not all of its plan: "the run did not end: 4 of 9 planned cases are here". Empty
// where it is; a search has no plan.
std::string describe_incomplete(const RunRecord& record);

// Whether the contract's own arithmetic loses so much that an engineer wants to know: of a case
// that passes, with values of one sign, at least half of the output is 1 % or more from exact. A
// few elements say nothing of it: a term may be nearly 0 there, or an activation.
bool is_coarse(const CaseRecord& test_case, const OutputRecord& output);

// Adds up the cases of each kernel into its KernelRecord (counts and worst values; not the
// verdict's evidence rules).
void summarize(RunRecord& record);

// The claim a failed case broke first. Memory comes first: values after a wrong access explain
// nothing.
Claim broken_claim(const CaseRecord& record);

// The failures worth a counterexample: the first of each kernel and claim, at most `per_kernel` of
// a kernel, in the order of the cases.
constexpr int kExplainedPerKernel = 3;
std::vector<const CaseRecord*> failures_to_explain(const RunRecord& record,
                                                   int per_kernel = kExplainedPerKernel);

// The failures of one claim of a kernel that are described; further ones are counted.
constexpr int kDescribedFailures = 20;
// Leaves of a failure what is counted.
void keep_counts(CaseRecord& failed);

// The cases that get a error_map: the failures that are explained, and of each kernel without any
// the case closest to its bound.
std::vector<const CaseRecord*> cases_with_error_maps(const RunRecord& record);

}  // namespace plumbline
