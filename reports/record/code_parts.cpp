// SPDX-License-Identifier: MIT
#include "reports/record/code_parts.h"

#include <algorithm>
#include <iterator>

namespace plumbline {
namespace {

constexpr std::size_t kMostHoles = 10;

using Names = std::vector<std::string>;

Names in_one(const Names& a, const Names& b) {
  Names out;
  std::ranges::set_union(a, b, std::back_inserter(out));
  return out;
}

}  // namespace

CodeParts either(const CodeParts& a, const CodeParts& b) {
  CodeParts out{a.instructions, {}, in_one(a.reached, b.reached), in_one(a.repeated, b.repeated)};
  for (const auto& [where, lines] : a.missing) {
    const auto other = b.missing.find(where);
    if (other == b.missing.end()) continue;
    std::vector<int> both;
    std::ranges::set_intersection(lines, other->second, std::back_inserter(both));
    if (!both.empty()) out.missing[where] = std::move(both);
  }
  return out;
}

void add_parts(const std::map<std::string, CodeParts>& more, std::map<std::string, CodeParts>& to) {
  for (const auto& [device, parts] : more) {
    const auto [known, added] = to.emplace(device, parts);
    if (!added) known->second = either(known->second, parts);
  }
}

CodeRecord code_of(const CodeParts& all) {
  CodeRecord record;
  record.instructions = record.executed = all.instructions;
  for (const auto& [where, lines] : all.missing) {
    record.holes.push_back({where, std::ssize(lines)});
    record.executed -= std::ssize(lines);
  }
  std::ranges::stable_sort(record.holes, std::greater(), &CodeHole::instructions);
  if (record.holes.size() > kMostHoles) record.holes.resize(kMostHoles);
  std::ranges::set_difference(all.reached, all.repeated, std::back_inserter(record.unrepeated));
  return record;
}

}  // namespace plumbline
