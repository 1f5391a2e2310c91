// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/sum_schedule.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

std::string describe_tree(SumSchedule::Tree tree) {
  switch (tree) {
    case SumSchedule::Tree::in_order:
      return "added in order";
    case SumSchedule::Tree::reverse:
      return "added from the last to the first";
    case SumSchedule::Tree::pairwise:
      break;
  }
  return "added pairwise";
}

}  // namespace

std::string SumSchedule::words() const {
  std::string text;
  if (ways > 1) {
    text = fmt::format("blocks of {} of k in turn to {} accumulators, {}", grain, ways,
                       describe_tree(tree));
  } else if (parts > 1) {
    text = fmt::format("split-K of {}{}, {}", parts,
                       block > 1 ? fmt::format(" in whole blocks of {}", block) : "",
                       describe_tree(tree));
  }
  if (promote > 0) {
    text += fmt::format("{}a fresh accumulator every {} of k, added in f32",
                        text.empty() ? "" : ", ", promote);
  }
  if (text.empty()) text = "sequential: one accumulator, k increasing";
  if (instruction_k > 0) text += fmt::format(", by instructions of k = {}", instruction_k);
  return text;
}

std::optional<SumSchedule> fixed_schedule(const Contract& contract) {
  if (contract.exact_integers() || contract.subnormals_flushed || contract.order_is_open() ||
      contract.promotion == Promotion::scaled || contract.output.rounding == Rounding::stochastic)
    return std::nullopt;
  SumSchedule schedule;
  schedule.instruction_k = contract.instruction_k;
  switch (contract.schedule) {
    case Schedule::sequential:
      return schedule;
    case Schedule::promote:
      schedule.promote = contract.interval;
      return schedule;
    case Schedule::split_k:
      schedule.parts = contract.parts;
      schedule.block = contract.interval > 0 ? contract.interval : 1;
      if (contract.join == Join::f32_ordered ||
          (contract.parts == 1 && contract.join == Join::f32_any_order))
        return schedule;
      break;
    case Schedule::runs:
    case Schedule::any:
      break;
  }
  return std::nullopt;
}

std::vector<SumSchedule> candidate_schedules(const Contract& contract, std::int64_t k) {
  using Tree = SumSchedule::Tree;
  std::vector<SumSchedule> all;
  std::vector<std::int64_t> shapes = {contract.instruction_k};
  if (contract.unit == Unit::tensor_core) {
    for (const std::int64_t shape : {8, 16}) {
      if (shape != contract.instruction_k) shapes.push_back(shape);
    }
  }
  for (const std::int64_t shape : shapes) {
    const auto add = [&](SumSchedule schedule) {
      schedule.instruction_k = shape;
      all.push_back(schedule);
    };
    add({});
    if (contract.unit == Unit::fma_f32 && k > 1) add({.parts = k});  // products without fma
    for (const std::int64_t interval : {128, 64, 32, 256, 512, 16})
      if (interval < k) add({.promote = interval});
    for (const std::int64_t block : {1, 16, 32, 64, 128}) {
      for (std::int64_t parts = 2; parts <= 64 && parts * block <= k; parts += parts < 8 ? 1 : 4) {
        for (const Tree tree : {Tree::in_order, Tree::reverse, Tree::pairwise}) {
          if (parts == 2 && tree != Tree::in_order) continue;  // the same sum
          add({.parts = parts, .block = block, .tree = tree});
        }
      }
    }
    for (const std::int64_t parts : {2, 4, 8}) {
      for (const std::int64_t interval : {64, 128})
        if (parts * interval <= k) add({.promote = interval, .parts = parts, .block = interval});
    }
    std::vector<std::int64_t> grains = {8, 16, 32, 64, 128};
    if (contract.unit == Unit::fma_f32) grains.insert(grains.begin(), {1, 2, 4});
    for (const std::int64_t grain : grains) {
      for (const std::int64_t ways : {2, 4, 8}) {
        if (grain * ways > k) continue;
        for (const Tree tree : {Tree::in_order, Tree::reverse, Tree::pairwise}) {
          if (ways == 2 && tree != Tree::in_order) continue;
          add({.ways = ways, .grain = grain, .tree = tree});
        }
      }
    }
  }
  return all;
}

}  // namespace plumbline
