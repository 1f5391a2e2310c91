// SPDX-License-Identifier: MIT
// What became of a planted fault, and the score that a kernel's planted faults add up to. The score
// says how good the gate is, not how good the kernel is (docs/detection.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

enum class MutantOutcome : std::uint8_t {
  caught,     // a planned case fails, or the device found something, or the kernel never ended
  survived,   // outputs differ from the unmutated kernel's, and all of them are admissible
  no_effect,  // no output bit of any planned case changed
  duplicate,  // the same changes on the same cases as another one's
  refused,    // the device does not load it: no kernel at all
};

std::string_view name(MutantOutcome outcome);  // "caught", "survived", "no-effect", ...
bool by_name(std::string_view word, MutantOutcome& outcome);

struct MutantRecord {
  std::string kernel, id;
  std::string kind;  // the operator, or what the patch says of itself
  MutantOutcome outcome = MutantOutcome::refused;
  // Caught: which claim broke, "bound"; "population" only where no case breaks another one.
  std::string claim;
  std::string finding;        // and what was found, where that was it: "race", "unwritten"
  std::string reason;         // in one line; refused: why
  std::string text, device;   // the case that caught it
  std::int64_t cases = 0;     // that ran until it was caught, or in all
  std::int64_t changed = 0;   // of these, with other outputs or findings than the unmutated kernel
  double worst_share = 0;     // survived: the largest error, as a share of its bound
  std::string same_as;        // duplicate: of which
  std::string effect;         // fingerprint of everything that changed
  int line = 0;               // in the PTX; 0 for a patch of the source
  std::string source;         // "main_loop.cuh:47"
  std::string before, after;  // the PTX statement
  // Caught ones, where rules of other projects were asked: those that accept every case that the
  // kernel completed. nullopt where it completed none, since there are no outputs then.
  std::optional<std::vector<std::string>> accepted_by;
  double elapsed_ms = 0;  // goes to the object `circumstances`
};

// How a caught one was: the claim, and what the device found. "population alone": nothing but tests
// of all errors at once.
std::string caught_by(const MutantRecord& mutant);

// A tolerance rule of another project, on the outputs of the kernel without a fault.
struct PeerRecord {
  std::string kernel, rule, formula;
  std::int64_t cases = 0;         // that it applies to
  std::int64_t false_alarms = 0;  // of these, rejected
};

struct MutantScore {
  std::int64_t caught = 0, survived = 0, no_effect = 0, duplicates = 0, refused = 0;
  std::int64_t by_population = 0;  // of the caught ones: by tests of all errors at once alone

  // Those that count: different from each other and from the unmutated kernel.
  std::int64_t effective() const { return caught + survived; }

  double percent() const;  // 100 where nothing counts
};

// Of one kernel; of all with an empty name.
MutantScore score(const std::vector<MutantRecord>& mutants, std::string_view kernel = {});

// Of a kernel's caught mutants, how many a rule of another project was asked about, and how many of
// these it would have let through.
struct PeerScore {
  std::int64_t asked = 0, let_through = 0;
};

PeerScore peer_score(const std::vector<MutantRecord>& mutants, const PeerRecord& rule);

// Marks every mutant whose effect an earlier one of the same kernel had. Where nothing changed
// there is no effect to compare.
void mark_duplicates(std::vector<MutantRecord>& mutants);

}  // namespace plumbline
