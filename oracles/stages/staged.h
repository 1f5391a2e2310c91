// SPDX-License-Identifier: MIT
// StagedComputation: one case as a pipeline of named stages, each with an exact implementation and
// the low-precision one its contract asks for, so that any subset of them can be low while the rest
// is exact. Where an error comes from (attribution.h) is asked of this interface alone; there is
// one implementation per operation.
//
// "Exact" is FP64: every exact stage is right to 1e-13 of the magnitudes it adds up. "Low" is the
// arithmetic that oracles/bounds and oracles/models promise, bit for bit; a low stage that follows
// an exact one takes operands that its formats do not have (oracles/models/real_dot.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

// What a stage's error is called in the split of the total error.
enum class StageKind : std::uint8_t {
  quantization,  // of the inputs: not the kernel's doing
  mandated,      // roundings inside that the contract asks for (P to bf16)
  arithmetic,    // sums, exponentials, scales: what is left to the kernel
  output,        // the conversion to the stored format
};

struct Stage {
  std::string name;  // "softmax argument"
  StageKind kind = StageKind::arithmetic;
};

// Stage i is in low precision where bit i is set.
using StageSet = std::uint32_t;

// Another low-precision implementation of a stage: what a faulty kernel may do there.
struct StageFault {
  int stage = 0;
  std::string words;  // "rounded toward zero instead of to nearest"
};

// The values of each output, row-major.
using StagedValues = std::vector<std::vector<double>>;

class StagedComputation {
 public:
  virtual ~StagedComputation() = default;
  virtual const std::vector<Stage>& stages() const = 0;
  virtual std::vector<std::string> outputs() const = 0;  // names, in the order of the values

  // All outputs with these stages in low precision. `fault`: an index into faults() whose stage, if
  // it is low, is done that way; -1 for none. Any thread may ask.
  virtual StagedValues evaluate(StageSet low, int fault = -1) const = 0;

  virtual const std::vector<StageFault>& faults() const = 0;

  // How much a relative change of the inputs can be magnified, for each element of an output: at a
  // change of every input by a factor of at most 1 + e, the output changes by at most e * condition
  // * |output|, to first order. Infinite where the exact output is 0; empty where it is not known.
  virtual std::vector<double> condition(int output) const = 0;

  // All stages of some kind.
  StageSet stages_of(StageKind kind) const {
    StageSet set = 0;
    for (std::size_t i = 0; i < stages().size(); ++i)
      if (stages()[i].kind == kind) set |= StageSet{1} << i;
    return set;
  }

  StageSet all_stages() const { return (StageSet{1} << stages().size()) - 1; }
};

}  // namespace plumbline
