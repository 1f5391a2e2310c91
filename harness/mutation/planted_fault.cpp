// SPDX-License-Identifier: MIT
#include "harness/mutation/planted_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "harness/emulator/decode/control_flow.h"
#include "harness/mutation/operators.h"
#include "oracles/base/hash.h"
#include "oracles/base/random.h"

namespace plumbline {
namespace {

using emulator::Function;
using emulator::Instruction;
using emulator::PtxModule;

// Which instructions a thread can come to.
std::vector<bool> reachable(const Function& function) {
  std::vector<bool> reached(function.instructions.size(), false);
  if (reached.empty()) return reached;
  const emulator::ControlFlow flow = emulator::control_flow(function);
  std::vector<bool> seen(flow.blocks.size(), false);
  std::vector<int> left = {0};
  seen[0] = true;
  while (!left.empty()) {
    const emulator::BasicBlock& block = flow.blocks[static_cast<std::size_t>(left.back())];
    left.pop_back();
    for (int i = block.first; i < block.last; ++i) reached[static_cast<std::size_t>(i)] = true;
    for (const int next : block.successors) {
      if (seen[static_cast<std::size_t>(next)]) continue;
      seen[static_cast<std::size_t>(next)] = true;
      left.push_back(next);
    }
  }
  return reached;
}

void name_source(const PtxModule& module, const Instruction& instruction, PlantedFault& fault) {
  const auto file = static_cast<std::size_t>(instruction.source.file);
  if (instruction.source.file < 0 || file >= module.files.size()) return;
  fault.source_path = module.files[file];
  fault.source_line = instruction.source.line;
  fault.source = fmt::format("{}:{}", std::filesystem::path(fault.source_path).filename().string(),
                             fault.source_line);
}

}  // namespace

Result<std::vector<PlantedFault>> possible_faults(std::string_view text, std::string_view file) {
  const Result<PtxModule> module = emulator::parse_ptx(text, file);
  if (!module) return module.error();
  const StatementPlaces places(text);
  const std::vector<FaultOperator> operators = fault_operators();
  std::vector<PlantedFault> faults;
  for (const Function& function : module->functions) {
    if (!function.has_body) continue;
    const std::vector<bool> reached = reachable(function);
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const Instruction& instruction = function.instructions[i];
      if (!reached[i] || instruction.opcode == "call") continue;
      const Site site{function, instruction, places.statement(instruction)};
      if (site.statement.operands.size() != instruction.operands.size()) continue;
      const StatementPlaces::Place place = places.of(instruction);
      std::set<std::string> seen = {site.statement.text()};
      for (const FaultOperator& one : operators) {
        Replacements replacements;
        one.apply(site, replacements);
        for (const std::string& after : replacements.texts()) {
          if (!seen.insert(after).second) continue;
          PlantedFault fault;
          fault.kind = one.name;
          fault.line = instruction.line;
          name_source(*module, instruction, fault);
          fault.before = site.statement.text();
          fault.after = after;
          fault.begin = place.begin;
          fault.end = place.end;
          fault.id = short_name(
              fingerprint(fmt::format("{} {} {} {}", place.begin, one.name, fault.before, after)));
          faults.push_back(std::move(fault));
        }
      }
    }
  }
  return faults;
}

std::string plant(std::string_view text, const PlantedFault& fault) {
  const std::string_view replaced = text.substr(fault.begin, fault.end - fault.begin);
  const auto lines = static_cast<std::size_t>(std::count(replaced.begin(), replaced.end(), '\n'));
  return fmt::format("{}{}{}{}", text.substr(0, fault.begin), fault.after, std::string(lines, '\n'),
                     text.substr(fault.end));
}

std::string fault_diff(std::string_view text, const PlantedFault& fault, std::string_view file) {
  // Whole lines, from the one the fault begins in to the one it ends in.
  const std::size_t begin = text.rfind('\n', fault.begin) + 1;  // npos + 1 == 0: the first line
  const std::size_t end = std::min(text.find('\n', fault.end), text.size());
  const auto count = [&](std::size_t from, std::size_t to) {
    return std::count(text.begin() + static_cast<std::ptrdiff_t>(from),
                      text.begin() + static_cast<std::ptrdiff_t>(to), '\n');
  };
  const auto first = count(0, begin) + 1, lines = count(begin, end) + 1;
  std::string diff =
      fmt::format("--- a/{0}\n+++ b/{0}\n@@ -{1},{2} +{1},{2} @@\n", file, first, lines);
  const auto add = [&](char sign, std::string_view part) {
    for (std::size_t at = 0; at <= part.size();) {
      const std::size_t next = std::min(part.find('\n', at), part.size());
      diff += fmt::format("{}{}\n", sign, part.substr(at, next - at));
      at = next + 1;
    }
  };
  add('-', text.substr(begin, end - begin));
  const std::string planted = plant(text, fault);
  add('+', std::string_view(planted).substr(begin, planted.size() - (text.size() - end) - begin));
  return diff;
}

std::vector<PlantedFault> sample_faults(const std::vector<PlantedFault>& faults, int count,
                                        std::uint64_t seed,
                                        const std::function<bool(const PlantedFault&)>& wanted) {
  std::map<std::string_view, std::vector<const PlantedFault*>> by_operator;
  for (const PlantedFault& fault : faults) {
    if (wanted(fault)) by_operator[fault.kind].push_back(&fault);
  }

  // `round`: which time this operator comes to this source line; `turn`: how many of the operator
  // come before in the same round.
  struct Drawn {
    int round = 0, turn = 0;
    const PlantedFault* fault = nullptr;
  };

  std::vector<Drawn> drawn;
  for (auto& [kind, all] : by_operator) {
    Random random = Random(seed).fork(fingerprint(kind));
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    std::map<std::string, int> rounds;
    std::map<int, int> turns;
    for (const PlantedFault* fault : all) {
      const int round =
          rounds[fault->source.empty() ? std::to_string(fault->line) : fault->source]++;
      drawn.push_back({round, turns[round]++, fault});
    }
  }
  std::stable_sort(drawn.begin(), drawn.end(), [](const Drawn& a, const Drawn& b) {
    return a.round != b.round ? a.round < b.round : a.turn < b.turn;
  });
  std::vector<PlantedFault> sample;
  for (const Drawn& one : drawn) {
    if (static_cast<int>(sample.size()) == count) break;
    sample.push_back(*one.fault);
  }
  return sample;
}

}  // namespace plumbline
