// SPDX-License-Identifier: MIT
// What `plumbline propagate` found out, as data of the record (record.h): where an output's error
// comes from, how much of it the inputs ask for, how it grows through a deep stack, and what it
// does to training. docs/propagation.md defines every number. "Relative" is to the norm of the
// exact output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

struct StageRecord {
  std::string name;    // "accumulate"
  std::string kind;    // "quantization", "mandated", "arithmetic", "output"
  double alone = 0;    // relative error when this stage alone is low
  double without = 0;  // relative change when this stage alone is exact
  // Shares of the error of the output seen, and of the kernel's own (inputs as stored): with the
  // stages made low one after the other in their order, and on average over all orders (sampled
  // ones with a standard error). Each adds up to 1 with its `unexplained`; quantization has no own
  // share.
  double in_order = 0, own_in_order = 0;
  double any_order = 0, any_order_error = 0;
  double own_any_order = 0, own_any_order_error = 0;
};

struct ErrorPartRecord {
  std::string name;  // "quantization", "mandated", "arithmetic", "output", "unexplained"
  double relative = 0, share = 0;
};

// Elements of one range of condition numbers.
struct ConditionBand {
  double low = 0, high = 0;  // condition in [low, high)
  std::int64_t elements = 0;
  double forward = 0;   // median |error| / |exact|, of the kernel's own error
  double backward = 0;  // median of that over the condition
};

struct ConditionRecord {
  double median = 0, largest = 0;
  double worst_forward = 0;  // largest |error| / |exact|, and the condition of that element
  double worst_condition = 0;
  double worst_backward = 0;     // largest |error| / (condition |exact|)
  double expected_backward = 0;  // the same of the contract's model
  std::vector<ConditionBand> bands;
};

struct PropagationRecord {
  std::string kernel, text, device;  // of the case
  std::string output;                // "d"
  std::string swept;                 // "keys=64": of a sweep over keys; else empty
  double magnitude = 0;              // root mean square of the exact output
  double error = 0;      // relative error of the output seen, quantization of the inputs included
  double own_error = 0;  // the same against exact arithmetic on the inputs as stored
  double modelled = 0;   // own_error as the contract's model has it
  double unexplained = 0, own_unexplained = 0;  // shares that no stage explains
  double interaction = 0;      // of the kernel's own stages; about 0 where they are independent
  double root_sum_square = 0;  // of single stages over the joint error; about 1
  std::string fault_stage,
      fault;                  // what a faulty kernel does there; empty where nothing of the kind
  double fault_explains = 0;  // of what the contract leaves unexplained
  std::vector<StageRecord> stages;
  std::vector<ErrorPartRecord> parts;  // what the error is made of
  ConditionRecord condition;           // no bands where it is not known
  std::vector<std::string> findings;   // sentences for people
};

// The curve of the arithmetic that people ask for; the others are always there.
inline constexpr std::string_view kGivenArithmetic = "as --model says";

// One way of running a deep stack.
struct DepthCurve {
  std::string name;              // "bf16 residual stream"
  std::vector<double> relative;  // error after each layer
  std::vector<double> injected;  // error each layer adds to exact inputs
  std::vector<double> gain;      // what each layer multiplies an error by
  double exponent = 0;           // b of error ~ depth^b
  double growth = 0;             // of a perturbation, ln per layer
  double predicted = 0;          // error at the end from `injected` and `gain`
  // Of gradients: the error of those by each layer's weights, all seven together.
  std::vector<double> weights;
};

struct DepthRecord {
  std::string stack;  // what was stacked, in words
  std::string steps;  // what the curves run over: "decode steps", "denoising steps"; empty: layers
  std::string swept;  // as in PropagationRecord, a word of `stack`
  std::int64_t layers = 0;
  std::vector<DepthCurve> curves;
  std::vector<std::string> findings;
};

// An output under Monte Carlo arithmetic: the kernel run many times, its roundings moved at random.
// Beside what is certified, never a verdict.
struct StochasticRecord {
  std::string kernel, text, device, output, swept;  // as in PropagationRecord
  std::int64_t draws = 0;
  std::int64_t elements = 0;  // finite in every draw
  std::int64_t steady = 0;    // of those, the same in every draw
  // Significant bits -log2(deviation / |mean|) of the median element and of the tenth from below;
  // infinite where nothing moves.
  double bits = 0, bits_low = 0;
  // What so many draws leave open: at least `bits - uncertainty` of them, in 99 % of runs, with
  // 95 % confidence, if results are normally distributed.
  double uncertainty = 0;
  // Bits that every draw shares with the mean (median element), for every distribution: they hold
  // in `shared_probability` of runs with 95 % confidence.
  double shared_bits = 0, shared_probability = 0;
  double deviation = 0;  // root mean square, relative to the exact output
  double of_bound = 0;   // median of deviation / certified bound; NaN where there is none
  // Root mean square of mean - exact, less what so many draws leave to chance, over that of the
  // deviation (0 where nothing moves); and how much of it is toward zero: 1 all of it, 0 as
  // much as away from it.
  double bias = 0, toward_zero = 0;
  double unbiased_nodes_bias = 0;  // the same when tensor cores round to nearest; NaN: not asked
  std::vector<std::string> findings;
};

// One gradient against the exact one.
struct GradientRecord {
  std::string kernel, text, device, output, swept;  // as in PropagationRecord
  std::int64_t draws = 0;
  double relative = 0;    // norm of the difference over that of the exact gradient
  double cosine_gap = 0;  // 1 - cosine
  // The same two where the exact gradient is that of the data before they were quantized.
  double source_relative = 0, source_cosine_gap = 0;
  double parallel = 0, orthogonal = 0;  // of the difference, relative
  double parallel_error = 0;            // standard error of `parallel` over the draws
  double row_median = 0, row_99 = 0, row_largest = 0;  // of rows' relative differences
  // The same of whole heads, and of channels (of each head); 0 where a gradient has none.
  double head_median = 0, head_99 = 0, head_largest = 0;
  double channel_median = 0, channel_99 = 0, channel_largest = 0;
  double of_spread = 0;  // squared difference over the variance of exact gradients among draws
  double bias = 0, bias_noise = 0;  // U-statistic over the draws, and what chance makes of it
  double expected = 0;              // relative difference that the contract's model has
  double descent = 0;               // SGD: <g^, g> / <g, g>
  double adam_difference = 0, adam_flips = 0;  // of Adam's updates: relative; signs, weighted
  // Of weights kept in 16 bits: the learning rate, over their root mean square, below which half of
  // them stay as they are. 0: no such weights.
  double stagnation_rate = 0;
  double lost = 0;        // exact elements that are not 0 and were stored as 0
  double not_finite = 0;  // finite ones that were stored as NaN or infinities
  std::vector<std::string> findings;
};

}  // namespace plumbline
