// SPDX-License-Identifier: MIT
#include "harness/propagation/decoding.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/launch/interrupt.h"
#include "oracles/base/assert.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {
namespace {

using Rows = std::vector<double>;

// StepState::memory: token by token, layer by layer, the key and the value.
class Decoder {
 public:
  explicit Decoder(const DecodingOptions& options) : fed_back_(options.fed_back) {
    StackShape shape = options.shape;
    shape.tokens = options.steps;  // their embeddings are the stack's input
    shape.residual_scale = 1 / std::sqrt(2.0 * static_cast<double>(shape.layers));
    stack_ = random_stack(shape, options.seed);
    new_part_ = std::sqrt(1 - fed_back_ * fed_back_);
  }

  const Stack& stack() const { return stack_; }

  StepState start() const { return {token(0), {}}; }

  // In FP64, the cache as `store` keeps it.
  template <typename Store>
  void step_exactly(std::size_t index, StepState& state, const Store& store) const {
    if (index > 0) {
      Rows x = stack_definition::normalized(stack_, nullptr, 0, state.x);
      const Rows next = token(index);
      for (std::size_t p = 0; p < x.size(); ++p) x[p] = fed_back_ * x[p] + new_part_ * next[p];
      state.x = std::move(x);
    }
    each_layer(state, [&](std::size_t layer, KeyValues<double>& cache) {
      defined_layer(stack_, layer, state.x, cache, store);
    });
  }

  // In the arithmetic of kernels; the next input is mixed in f32 and stored as the stream is.
  void step_low(std::size_t index, StepState& state, const StagedStack& staged,
                FormatId residual) const {
    if (index > 0) {
      Rows x = staged.normalized(state.x);
      const Rows next = token(index);
      const Format& f = format(residual);
      for (std::size_t p = 0; p < x.size() && new_part_ > 0; ++p) {
        const float added = static_cast<float>(next[p] * new_part_);
        const float mixed =
            f32_fma(x[p], static_cast<float>(fed_back_), static_cast<double>(added));
        x[p] = to_double(f, encode(f, static_cast<double>(mixed)));
      }
      state.x = std::move(x);
    }
    each_layer(state, [&](std::size_t layer, KeyValues<double>& cache) {
      state.x = staged.layer(layer, state.x, cache);
    });
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(stack_.shape.width); }

  Rows token(std::size_t index) const {
    const auto first = stack_.input.begin() + static_cast<std::ptrdiff_t>(index * width());
    return {first, first + static_cast<std::ptrdiff_t>(width())};
  }

  // run(layer, cache) appends one row to a layer's cache, which goes to memory.
  template <typename Run>
  void each_layer(StepState& state, const Run& run) const {
    const auto row = static_cast<std::ptrdiff_t>(width());
    const std::size_t layers = stack_.layers.size(), of_token = layers * 2 * width();
    Rows added;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      KeyValues<double> cache;
      for (std::size_t at = layer * 2 * width(); at < state.memory.size(); at += of_token) {
        const auto key = state.memory.begin() + static_cast<std::ptrdiff_t>(at);
        cache.append({key, key + row}, {key + row, key + 2 * row});
      }
      run(layer, cache);
      for (const Rows* rows : {&cache.keys, &cache.values})
        added.insert(added.end(), rows->end() - row, rows->end());
    }
    state.memory.insert(state.memory.end(), added.begin(), added.end());
  }

  Stack stack_;
  double fed_back_, new_part_ = 0;
};

struct Arithmetic {
  std::string_view name;
  StackArithmetic low;
  bool cache_alone = false;  // all but the cache exact
};

constexpr const char *kBf16 = "bf16", *kF32 = "f32 stream", *kFp8 = "bf16, FP8 cache",
                     *kBf16Alone = "bf16 cache alone", *kFp8Alone = "FP8 cache alone";

DepthCurve curve_of(const Decoder& decoder, const ExactSteps& exact, const Arithmetic& how) {
  const StagedStack staged(decoder.stack(), how.low);
  const auto store = [&](const Rows& rows) { return staged.cached(rows); };
  LowSteps low;
  low.step = [&](std::size_t index, StepState& state) {
    if (how.cache_alone) {
      decoder.step_exactly(index, state, store);
    } else {
      decoder.step_low(index, state, staged, how.low.residual);
    }
  };
  low.enter = [&](StepState& state) { state.memory = store(state.memory); };
  return step_curve(std::string(how.name), low, exact);
}

void tell(DepthRecord& record) {
  record.findings = growth_findings(
      record.curves,
      {.of = "steps",
       .step = "step",
       .cause = "a biased conversion or weights that err alike in every step make it",
       .alone = "random ones beside an exact past: the rest is what the cache "
                "remembers"});
  record.findings.push_back(gain_finding(record.curves.front(), "decode step"));
  record.findings.push_back(fmt::format(
      "By itself an FP8 cache adds {:.1f} times as much error to a step as a bf16 one (unit "
      "roundoffs: 16 times). With all else in bf16 it makes errors {:.1f} times larger over the "
      "second half of the steps; a residual stream in f32 makes them {:.1f} times smaller.",
      injected_ratio(record, kFp8Alone, kBf16Alone), late_ratio(record, kFp8, kBf16),
      late_ratio(record, kBf16, kF32)));
}

}  // namespace

DepthRecord run_decoding(const DecodingOptions& options) {
  PLUMB_ASSERT(options.fed_back >= 0 && options.fed_back <= 1);
  const Decoder decoder(options);
  DepthRecord record;
  record.steps = "decode steps";
  record.layers = options.steps;
  record.stack = options.model.describe(
      fmt::format("pre-norm transformer blocks, {:.0f} % of the next input is the output",
                  100 * options.fed_back * options.fed_back),
      {"layers", "width", "heads", "hidden"}, decoder.stack().shape);
  const auto as_it_is = [](const Rows& rows) { return rows; };
  const ExactSteps exact = run_exactly(
      decoder.start(), static_cast<std::size_t>(options.steps),
      [&](std::size_t index, StepState& state) { decoder.step_exactly(index, state, as_it_is); },
      options.probes, options.seed);
  std::vector<Arithmetic> arithmetics = {
      {kBf16, {}},
      {kF32, {.residual = FormatId::f32}},
      {kFp8, {.cache = FormatId::e4m3}},
      {kBf16Alone, {}, true},
      {kFp8Alone, {.cache = FormatId::e4m3}, true},
  };
  if (const auto given = options.model.arithmetic())
    arithmetics.push_back({kGivenArithmetic, *given});
  for (const Arithmetic& how : arithmetics) {
    DepthCurve curve = curve_of(decoder, exact, how);
    if (interrupted()) return record;
    record.curves.push_back(std::move(curve));
  }
  tell(record);
  options.model.tell(record, kBf16);
  return record;
}

}  // namespace plumbline
