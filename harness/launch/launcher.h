// SPDX-License-Identifier: MIT
// Launcher: the devices of one thread and the kernels that are loaded on them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "harness/launch/interrupt.h"
#include "harness/launch/launch.h"
#include "harness/launch/loop_budget.h"
#include "harness/launch/target.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

class CodeCoverage;

struct RunnerOptions {
  int threads = 1;  // inside one case: emulator, oracle and judge
  int repeat = 1;   // launches; more than one judges determinism
  // A case whose launch leaves a variable of its module changed is mistrusted.
  bool stateless = false;
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

class Launcher {
 public:
  explicit Launcher(RunnerOptions options);

  const RunnerOptions& options() const { return options_; }

  // The kernel's build for the target, loaded once, also where that fails. An Error when there is
  // none, or when its PTX contradicts the contract.
  Result<const Module*> module(const Manifest& kernel, const Target& target);

  Result<LaunchResult> launch(const Case& test_case, CaseTensors& tensors, const Target& target,
                              const LaunchChoices& choices = {});

  // How approximate instructions err in all launches of the case, and of problems related to it.
  ApproximationErrors approximation_of(const Case& test_case) const;

  // Whether every chip gives the bits that the emulator does. What approximate instructions give is
  // the chip's own: the emulator's are off by as much as is documented, and contracts allow for it.
  bool bits_are_fixed(const Manifest& kernel, int sm) const;

 private:
  struct Loaded {
    std::unique_ptr<Device> device;
    std::map<std::string, Result<std::unique_ptr<Module>>> modules;  // by kernel path
  };

  Result<Loaded*> loaded_for(const Target& target);
  Result<std::unique_ptr<Module>> load(const Manifest& kernel, const Target& target,
                                       Device& device) const;

  RunnerOptions options_;
  std::map<std::string, Loaded> devices_;  // by target name
};

// Reads the PTX a manifest names for a chip, from its build or install folder.
Result<std::string> read_image(const Manifest& kernel, int sm);

}  // namespace plumbline
