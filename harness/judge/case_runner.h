// SPDX-License-Identifier: MIT
// CaseRunner: runs one case on one target, from input bits to verdict. It keeps its devices and
// loaded modules, so each worker thread has a runner of its own. verify, fuzz, replay, explain and
// shrinking all go through it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "harness/judge/interrupt.h"
#include "harness/judge/judge.h"
#include "harness/judge/launch.h"
#include "harness/judge/loop_budget.h"
#include "harness/judge/target.h"
#include "harness/population/population.h"

namespace plumbline {

class CodeCoverage;

struct RunnerOptions {
  int threads = 1;  // inside one case: emulator, oracle and judge
  int repeat = 1;   // launches; more than one judges determinism
  JudgeOptions judge;
  // Metamorphic relations: one for some of the cases, or all that bind a case (replay, explain,
  // shrinking).
  bool all_relations = false;
  CodeCoverage* coverage = nullptr;  // hears what every case executed
  bool keep_reached = false;         // records say what ran (CaseRecord::reached)
  bool keep_writers = false;         // LaunchResult::writers
  // How approximate instructions err on the emulator, where not as a case's seed chooses.
  std::optional<ApproximationErrors> approximation;
  // Shared by all runners of a run.
  std::shared_ptr<LoopBudget> loops = std::make_shared<LoopBudget>();
  // Reads a kernel's PTX for a chip; replaced in tests and for planted faults.
  std::function<Result<std::string>(const Manifest&, int sm)> image;
  // Once it is true, the case at work is given up.
  const std::atomic<bool>* give_up = &interrupt_flag();
};

// A launch, and the tensors with what it stored.
struct Launched {
  CaseTensors tensors;
  LaunchResult launch;
};

// A case that ran and was not judged yet.
struct Execution : Launched {
  std::uint64_t first = 0;         // fingerprint of the first launch
  int different = 0;               // of the launches after it, those that gave other bits
  std::optional<Launched> beside;  // on the emulator, beside a GPU
  double kernel_ms = 0;            // on a GPU, the least of its launches
  bool reordered = false;          // `launch` had its CTAs in another order than the first
  bool same_in_any_order = true;
  bool called_again = false;  // `launch` came after one with other inputs, and found what that left
  bool same_when_called_again = true;

  // Whether judging it would say what was said of the other: no verdict looks at anything else.
  bool same_as(const Execution& other) const;
};

// A case that ran, with everything needed to explain it.
struct Examined : Execution {
  CaseRecord record;
  std::unique_ptr<CaseOracle> oracle;  // refers to tensors
};

class CaseRunner {
 public:
  explicit CaseRunner(RunnerOptions options);

  // Never fails: what could not run becomes a record with Verdict::error and its reason. Nothing
  // when it was given up.
  std::optional<CaseRecord> run(const Case& test_case, const Target& target);

  // The same, keeping tensors and oracle. Errors are what run() would have recorded, or
  // nothing.
  Result<std::unique_ptr<Examined>> examine(const Case& test_case, const Target& target);

  // The two halves of it: all launches a verdict looks at, and the verdict.
  Result<Execution> execute(const Case& test_case, const Target& target,
                            std::uint64_t instruction_budget = 0);
  Result<std::unique_ptr<Examined>> judge(const Case& test_case, const Target& target,
                                          Execution execution);

  // Whether the kernel's image can be loaded for this target.
  Status load(const Manifest& kernel, const Target& target);

 private:
  struct Loaded {
    std::unique_ptr<Device> device;
    std::map<std::string, std::unique_ptr<Module>> modules;  // by kernel path
  };

  // load(), execute() and judge(), which may throw.
  Status try_load(const Manifest& kernel, const Target& target);
  Result<Execution> try_execute(const Case& test_case, const Target& target,
                                std::uint64_t instruction_budget);
  Result<std::unique_ptr<Examined>> try_judge(const Case& test_case, const Target& target,
                                              Execution execution);
  Result<const Module*> module_for(Loaded& loaded, const Manifest& kernel, int sm);
  Result<Loaded*> loaded_for(const Target& target);
  ApproximationErrors approximation_of(const Case& test_case) const;
  bool bits_are_fixed(const Manifest& kernel, int sm) const;
  Result<LaunchResult> launch_on(const Case& test_case, CaseTensors& tensors, const Target& target,
                                 const LaunchChoices& choices = {});
  // Takes reads of unwritten memory out of the findings when they are all there are and neither an
  // output bit nor the kernel's end depends on what was read.
  Status discard_harmless_uninitialized_reads(const Case& test_case, const Target& target,
                                              LaunchChoices choices, Launched& launched);
  // Adds reads of registers that nothing wrote where an output bit or the kernel's end depends on
  // what is in them.
  Status find_unwritten_registers(const Case& test_case, const Target& target,
                                  LaunchChoices choices, Execution& execution);
  // Launches again, with the bytes traced in which races of shared memory met: they then name both
  // accesses.
  Status name_other_accesses(const Case& test_case, const Target& target, std::uint64_t cta_order,
                             Launched& launched);
  // Runs the case on the emulator of the same chip, whatever became of it on the GPU.
  Status run_beside(const Case& test_case, const Target& target, LaunchChoices choices,
                    Execution& execution);
  // What the emulator's copy says of the case: its findings, its values where they are others than
  // the GPU's, and whether both are the same. Where only the emulator's outputs break a promise,
  // `examined` becomes the emulator's.
  void judge_beside(const Case& test_case, const Target& target, Examined& examined);
  // The first relation that the outputs break, in words; empty when all that were tried hold;
  // nothing when none was tried.
  Result<std::optional<std::string>> broken_relation(const Case& test_case, const Target& target,
                                                     const Examined& examined);

  // Of what all errors at once made suspect, what is suspect again on every fresh draw of inputs.
  struct FreshDraws {
    std::vector<Suspicion> suspicions;
    std::string finding;  // what the device found on one of them; then nothing else is known
  };

  Result<FreshDraws> still_suspect(const Case& test_case, const Target& target,
                                   std::vector<Suspicion> suspicions);
  // Another legal order of CTAs: always where they exchange data, for every fourth case elsewhere.
  // Leaves in `execution` the launch to judge, and whether both agreed.
  bool wants_other_order(const Case& test_case, const LaunchResult& launch) const;
  Status reorder_ctas(const Case& test_case, const Target& target, LaunchChoices choices,
                      Execution& execution);

  // A kernel that left something in variables of its module is called with other inputs, then with
  // its own again: counters that are not reset, results kept from the call before. Leaves in
  // `execution` that last launch, to be judged.
  Status call_again(const Case& test_case, const Target& target, LaunchChoices choices,
                    Execution& execution);

  RunnerOptions options_;
  std::map<std::string, Loaded> devices_;  // by target name
};

// An Error when the kernel's domain excludes the case's problem.
Status check_domain(const Case& test_case);

// The record of a case that could not run.
CaseRecord error_record(const Case& test_case, const Target& target, const Error& error);

// Reads the PTX a manifest names for a chip, from its build or install folder.
Result<std::string> read_image(const Manifest& kernel, int sm);

}  // namespace plumbline
