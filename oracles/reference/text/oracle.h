// SPDX-License-Identifier: MIT
// TextOracle: the verdict on an operation that a text says. An output is admissible when it is the
// rounding of a value that its form allows (reference/text/forms.h); the referee evaluates the same
// text with MPFR. Integers are exact, but for a choice (top[...]): any index is admissible that a
// conforming kernel may find at this rank, and what reads it is judged by what the kernel stored.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oracles/reference/named_faults.h"
#include "oracles/reference/oracle.h"
#include "oracles/reference/text/forms.h"

namespace plumbline::text {

class TextOracle final : public CaseOracle {
 public:
  struct Output {
    std::string name;
    int step = 0;
    FormatId format = FormatId::f32;
    const Tensor* stored = nullptr;  // what the kernel stored; of a choice it is needed
  };

  TextOracle(Instance instance, Inputs inputs, Arithmetic arithmetic, std::vector<Output> outputs);

  int outputs() const override { return static_cast<int>(outputs_.size()); }

  std::string output_name(int output) const override { return of(output).name; }

  OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const override;
  ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const override;
  Explanation explain(int output, std::int64_t index, const Tensor& got) const override;
  std::vector<double> reference_values(int output, Reference reference, int threads) const override;

 private:
  const Output& of(int output) const { return outputs_[static_cast<std::size_t>(output)]; }

  const StepTensor& step_of(int output) const {
    return instance_.program().steps[static_cast<std::size_t>(of(output).step)];
  }

  bool is_integer(int output) const { return step_of(output).type == Type::integer; }

  Evaluator<Forms> forms_of(const Instance& instance, const Arithmetic& arithmetic) const {
    Evaluator<Forms> evaluator(instance, inputs_, Forms(arithmetic, instance));
    evaluator.give(given_);
    return evaluator;
  }

  Evaluator<Forms> forms() const { return forms_of(instance_, arithmetic_); }

  ElementVerdict element(Evaluator<Forms>& evaluator, int output, std::int64_t index,
                         std::uint64_t got) const;
  ElementVerdict integer_element(Evaluator<Forms>& evaluator, int output, std::int64_t index,
                                 std::uint64_t got) const;
  bool is_repeated(int output, std::int64_t index, std::int64_t choice) const;

  // An output's element; those of a step that has one for each row stay known, as other outputs are
  // computed from them.
  Form judged(int output, std::int64_t index) const;

  // As many elements as options.referee_samples says, or all, in order: what is computed again with
  // MPFR.
  std::vector<std::int64_t> sampled(int output, const JudgeOptions& options) const;
  bool agrees(int output, std::int64_t index, double referee) const;

  bool is_truncated(int step, const Format& f, const Tensor& got) const;

  // What of an output a fault is tried on, and whether some of it is wrong.
  struct Tried {
    const Tensor* stored;
    std::vector<std::int64_t> places;
    bool is_wrong;
  };

  Tried tried_of(int output, const Tensor& got) const;
  class Fit;

  // The simple faults that would give what is tried of these outputs.
  NamedFaults faults(int output, std::int64_t index, const Tensor& got) const;

  std::vector<double> defined(int output, std::span<const std::int64_t> elements, int bits) const;

  Instance instance_;
  Inputs inputs_;
  Arithmetic arithmetic_;
  std::vector<Output> outputs_;
  std::vector<std::vector<std::int64_t>> given_;  // by step: a kernel's choices
  mutable Evaluator<Forms> judge_;                // of all outputs, one after the other
};

}  // namespace plumbline::text
