// SPDX-License-Identifier: MIT
// A contract in words, and whether a chip can keep it.
#include "oracles/bounds/contract/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracles/bounds/contract/activation_range.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/bounds/contract/epilogue_steps.h"

namespace plumbline {
namespace {

std::string_view describe_node_output(NodeOutput output) {
  switch (output) {
    case NodeOutput::f32_toward_zero:
      return "f32 toward zero";
    case NodeOutput::e8m13_toward_zero:
      return "1+13 bits toward zero";
    case NodeOutput::f16_nearest_even:
      break;
  }
  return "f16 to nearest even";
}

std::string operand_words(FormatId a, FormatId b) {
  if (a == b) return std::string(format(a).name);
  return fmt::format("{} x {}", format(a).name, format(b).name);
}

std::string unit_line(const Contract& contract, int sm, FormatId a, FormatId b) {
  switch (contract.unit) {
    case Unit::fma_f32:
      return fmt::format("products: one f32 fma per {} product, to nearest even",
                         operand_words(a, b));
    case Unit::int32:
      if (contract.exact_integers())
        return fmt::format("products: {} exactly, modulo 2^32", operand_words(a, b));
      return fmt::format("products: {} exactly in int32, p = float(sum)", operand_words(a, b));
    case Unit::tensor_core:
      break;
  }
  const std::string_view name = word_of(unit_of(contract));
  const auto model = contract.unit_model(sm, a, b);
  if (!model)
    return fmt::format("products: {} of {}, which sm_{} does not have", name, operand_words(a, b),
                       sm);
  std::string line = fmt::format(
      "products: {} {} on sm_{}, nodes of {} products and {} fraction bits, each result {}", name,
      operand_words(a, b), sm, model->node.products, model->node.fraction_bits,
      describe_node_output(model->node.output));
  if (contract.block_scale) {
    line += "; products are multiplied by the scales of their block of k";
    if (model->node.group > 1)
      line += fmt::format(" and added exactly in groups of {}", model->node.group);
  }
  if (model->chaining == Chaining::hopper_fp8) {
    line += "; two nodes from zero per instruction, then one f32 addition to nearest even";
  }
  return line;
}

// More than these many products of 8-bit integers with zero points may reach 2^31.
constexpr std::int64_t kMostIntegers = 8192;

std::string schedule_line(const Contract& contract) {
  switch (contract.schedule) {
    case Schedule::sequential:
      break;
    case Schedule::promote:
      if (contract.promotion == Promotion::scaled) {
        return fmt::format(
            "order: increasing k, a fresh accumulator p every {} of k, each added to an f32 sum "
            "times the scales that change along k, one after the other or their product, with or "
            "without fma",
            contract.interval);
      }
      if (contract.promotion == Promotion::scaled_fma) {
        return fmt::format(
            "order: increasing k, a fresh accumulator p every {} of k, each taken into an f32 sum "
            "by sum = fma(p, s, sum), s = fl(scale_a * scale_b) of the scales that change along k",
            contract.interval);
      }
      return fmt::format(
          "order: increasing k, a fresh accumulator every {} of k added to an f32 sum to nearest "
          "even",
          contract.interval);
    case Schedule::split_k: {
      const std::string ranges =
          contract.interval > 1
              ? fmt::format("{} ranges of whole blocks of {}", contract.parts, contract.interval)
              : fmt::format("{} ranges", contract.parts);
      if (contract.parts == 1 && contract.join != Join::f32_atomic)
        return "order: increasing k, one accumulator";
      switch (contract.join) {
        case Join::f32_ordered:
          return fmt::format("order: k in {}, partial sums added in order in f32 to nearest even",
                             ranges);
        case Join::f32_any_order:
          return fmt::format(
              "order: k in {}, partial sums added in any order in f32 to nearest even", ranges);
        case Join::f32_atomic:
          return fmt::format(
              "order: k in {}, partial sums added in any order by f32 atomics, which flush "
              "subnormals",
              ranges);
        case Join::bf16:
          break;
      }
      return fmt::format(
          "order: k in {}, partial sums rounded to bf16 and added in any order in bf16", ranges);
    }
    case Schedule::runs:
      return fmt::format(
          "order: increasing k in runs of any length, added in f32 to nearest even in order; at "
          "most "
          "{} such sums are added in any order",
          contract.parts);
    case Schedule::any:
      return fmt::format("order: any, in {}, added in any order in f32 to nearest even",
                         contract.parts > 0 ? fmt::format("at most {} accumulators", contract.parts)
                                            : "any number of accumulators");
  }
  return "order: increasing k, one accumulator";
}

std::string epilogue_line(const Contract& contract) {
  std::string line = "epilogue: ";
  if (contract.exact_integers()) line += "x = float(sum) unless stored as s32, ";
  for (const EpilogueStep step : contract.epilogue)
    line += fmt::format("{}, ", row_of(step).sentence);
  line += fmt::format("then converted rounding {}", word_of(contract.output.rounding));
  if (contract.output.overflow == Overflow::saturate) line += ", saturating";
  if (contract.subnormals_flushed)
    line += "; f32 numbers below 2^-126 may count as 0 outside of the unit";
  return line;
}

}  // namespace

std::optional<DotModel> Contract::unit_model(int sm, FormatId a, FormatId b) const {
  std::optional<DotModel> model = dot_model(sm, instruction, a, b, accumulator);
  if (block_scale) {
    const bool narrow = format(a).storage_bits == 8 && format(b).storage_bits == 8;
    if (!model || !narrow || accumulator != FormatId::f32) return std::nullopt;
    const std::optional<NodeModel> node =
        scaled_node_model(sm, instruction, scale_depth(a, b) == 16 ? 64 : 32);
    return node ? std::optional(DotModel{*node}) : std::nullopt;
  }
  if (model && instruction_k > 0) {
    const std::int64_t nodes = model->chaining == Chaining::hopper_fp8 ? 2 : 1;
    model->node.products =
        static_cast<int>(std::min<std::int64_t>(model->node.products, instruction_k / nodes));
  }
  return model;
}

std::int64_t Contract::scale_depth(FormatId a, FormatId b) const {
  return a == FormatId::e2m1 && b == FormatId::e2m1 && instruction_k != 32 ? 16 : 32;
}

std::string Contract::describe(int sm, FormatId a, FormatId b) const {
  std::string flags = "promises:";
  flags += deterministic ? " deterministic" : " not deterministic";
  if (odd_symmetric) flags += ", odd in A and B";
  if (position_independent) flags += ", the same at every position";
  std::string operands;
  if (dequantize_b) {
    operands = fmt::format("operands: b becomes {}(fl((b - zero_b) * scale_b))\n",
                           format(*dequantize_b).name);
  }
  return fmt::format("{}{}\n{}\n{}\n{}\n", operands, unit_line(*this, sm, a, multiplied_b(b)),
                     schedule_line(*this), epilogue_line(*this), flags);
}

Status Contract::check(int sm, FormatId a, FormatId stored_b) const {
  const FormatId b = multiplied_b(stored_b);
  const auto bad = [](std::string message, std::string hint) {
    return Error{ErrorKind::bad_input, std::move(message), "", std::move(hint)};
  };
  if (unit != Unit::int32 && (format(a).is_integer || format(b).is_integer)) {
    const std::string words = operand_words(a, b);
    if (format(a).is_integer && format(b).is_integer)
      return bad(fmt::format("{} operands need unit int32", words), "");
    if (format(b).is_integer)
      return bad(fmt::format("no unit multiplies {}", words),
                 "say what B becomes first: dequantize_b = \"bf16\" or \"f16\"");
    return bad(fmt::format("no unit multiplies {}", words),
               "only B can be dequantized (dequantize_b): exchange the operands");
  }
  if (dequantize_b && std::any_of(epilogue.begin(), epilogue.end(), [](EpilogueStep step) {
        return step == EpilogueStep::scale_b || step == EpilogueStep::scale_ab;
      })) {
    return bad(
        "B's scales are applied twice: before the product (dequantize_b) and in the epilogue",
        "remove \"scale_b\" and \"scale_ab\" from the epilogue");
  }
  if (unit == Unit::tensor_core && !unit_model(sm, a, b)) {
    return bad(fmt::format("sm_{} has no {} for {} with an {} accumulator", sm,
                           word_of(unit_of(*this)), operand_words(a, b), format(accumulator).name),
               "choose another target or another unit");
  }
  if (accumulator != FormatId::f32 && unit != Unit::tensor_core) {
    return bad(fmt::format("unit \"{}\" has no {} accumulator", word_of(unit_of(*this)),
                           format(accumulator).name),
               "leave `accumulator` out");
  }
  if (accumulator != FormatId::f32 && order_is_open()) {
    return bad(fmt::format("with {} accumulators a contract has to say how k is added up",
                           format(accumulator).name),
               "write schedule = \"sequential\", \"promote\" or \"split_k\"");
  }
  if (unit == Unit::int32 && !(format(a).is_integer && format(b).is_integer)) {
    return bad(fmt::format("unit int32 cannot take {}", operand_words(a, b)),
               dequantize_b ? "a B that was dequantized needs a unit for floating-point operands"
                            : "integer operands are s8 and u8");
  }
  if (block_scale) {
    const std::int64_t length = unit_model(sm, a, b)->node.products;
    if (scales_sums()) {
      return bad(fmt::format("scales are applied twice: by {} and by promotion \"{}\"",
                             word_of(unit_of(*this)), word_of(promotion)),
                 "keep the one the kernel does");
    }
    if (interval % length != 0 || (schedule == Schedule::split_k && interval == 0)) {
      return bad(fmt::format("an interval of {} cuts instructions of {} products into parts",
                             interval, length),
                 fmt::format("use a multiple of {}", length));
    }
  }
  if (schedule == Schedule::promote && interval <= 0) {
    return bad(fmt::format("schedule promote has interval {}", interval),
               "give the k per fresh accumulator, as 128");
  }
  if (scales_sums() && schedule != Schedule::promote) {
    return bad(fmt::format("promotion \"{}\" has nothing to promote under schedule {}",
                           word_of(promotion), word_of(schedule)),
               "block scales need schedule promote");
  }
  if (unit == Unit::int32 && !exact_integers() && interval > kMostIntegers) {
    return bad(fmt::format("int32 sums of {} products may wrap before they are scaled", interval),
               fmt::format("promote after at most {}", kMostIntegers));
  }
  if (unit == Unit::int32 && exact_integers() && schedule == Schedule::promote) {
    return bad("unit int32 has nothing to promote without scales: its sums are exact",
               "give promotion \"scaled fma\", or schedule sequential");
  }
  if (schedule == Schedule::any && parts < 0) {
    return bad(fmt::format("schedule any has {} parts", parts),
               "give the most accumulators there may be, or leave parts out");
  }
  if (schedule == Schedule::runs && parts <= 0) {
    return bad(fmt::format("schedule runs has {} parts", parts),
               "give at least one, or leave parts out");
  }
  if (schedule == Schedule::split_k && (parts <= 0 || interval < 0)) {
    return bad(fmt::format("schedule split_k has {} parts in blocks of {}", parts, interval),
               "give at least one part and blocks of at least 0");
  }
  for (std::size_t i = 0; i < epilogue.size(); ++i) {
    if (std::find(epilogue.begin() + static_cast<std::ptrdiff_t>(i) + 1, epilogue.end(),
                  epilogue[i]) != epilogue.end()) {
      return bad(fmt::format("epilogue names \"{}\" twice", word_of(epilogue[i])),
                 "name each step once");
    }
  }
  for (const EpilogueStep step : epilogue) {
    const Activation function = activation_of(step);
    for (const EpilogueStep other : epilogue) {
      if (function == Activation::none || step >= other || activation_of(other) != function)
        continue;
      return bad(fmt::format("epilogue computes {} twice: as \"{}\" and as \"{}\"",
                             word_of(function), word_of(step), word_of(other)),
                 "keep the one the kernel does");
    }
  }
  const auto has = [this](EpilogueStep step) {
    return std::find(epilogue.begin(), epilogue.end(), step) != epilogue.end();
  };
  if (has(EpilogueStep::beta_c) && has(EpilogueStep::beta_c_fma)) {
    return bad("epilogue adds beta * c twice: as \"beta_c\" and as \"beta_c fma\"",
               "keep the one the kernel does");
  }
  if (has(EpilogueStep::alpha_beta_c_fma) &&
      (has(EpilogueStep::alpha) || has(EpilogueStep::beta_c) || has(EpilogueStep::beta_c_fma))) {
    return bad("epilogue has alpha or beta * c twice: in \"alpha beta_c fma\" and by itself",
               "keep the one the kernel does");
  }
  if (has(EpilogueStep::bias) && has(EpilogueStep::bias_fma)) {
    return bad("epilogue adds the bias twice: as \"bias\" and as \"bias fma\"",
               "keep the one the kernel does");
  }
  if (has(EpilogueStep::scale_ab) && (has(EpilogueStep::scale_a) || has(EpilogueStep::scale_b))) {
    return bad("epilogue scales twice: by \"scale_ab\" and by one of its factors",
               "keep the one the kernel does");
  }
  return {};
}

}  // namespace plumbline
