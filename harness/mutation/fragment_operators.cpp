// SPDX-License-Identifier: MIT
// Wrong fragments: matrix instructions and vector accesses whose registers are in another order
// than the data, matrix instructions left out, shuffles that read another lane.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "harness/mutation/operators.h"

namespace plumbline {
namespace {

using emulator::OperandKind;

bool is_mma(const Site& site) {
  return site.is("mma") && site.operands() >= 4 && site.kind(0) == OperandKind::vector;
}

bool is_wgmma(const Site& site) { return site.is("wgmma") && site.has("mma_async"); }

void leave_out_mma(const Site& site, Replacements& out) {
  if (is_wgmma(site)) out.remove();
  if (!is_mma(site)) return;
  if (site.text(0) == site.text(3)) return out.remove();
  const std::vector<std::string> to = vector_elements(site.text(0));
  const std::vector<std::string> from = vector_elements(site.text(3));
  if (to.size() != from.size()) return;
  std::vector<std::string> moves;
  for (std::size_t i = 0; i < to.size(); ++i) {
    Statement move = site.statement;
    move.words = {"mov", "b32"};
    move.operands = {to[i], from[i]};
    moves.push_back(move.text());
  }
  out.add(fmt::format("{}", fmt::join(moves, " ")));
}

void swap_fragment_registers(const Site& site, Replacements& out) {
  const auto swap = [&](std::size_t operand) {
    out.add(site.with_swapped_elements(operand, 0, 1));
    out.add(site.with_swapped_elements(operand, 1, 2));
  };
  if (is_mma(site)) {
    for (const std::size_t operand : {0, 1, 2}) swap(operand);
  }
  if (is_wgmma(site)) {
    swap(0);
    swap(1);  // A, where it is in registers
  }
  if (site.is("ldmatrix")) {
    swap(0);
    if (site.has("trans")) out.add(site.without_word("trans"));
  }
  const bool vector = site.has("v2") || site.has("v4");
  if (site.is("ld") && vector) swap(0);
  if (site.is("st") && vector) swap(1);
}

void change_shuffle(const Site& site, Replacements& out) {
  if (!site.is("shfl") || site.operands() < 4) return;
  // Another lane: the offset or index with its lowest bit flipped.
  int lane = 0;
  const std::string& given = site.text(2);
  const auto [end, code] = std::from_chars(given.data(), given.data() + given.size(), lane);
  if (code == std::errc{}) {
    out.add(site.with_operand(2, fmt::format("{}", lane ^ 1)));
  } else {
    Statement shuffle = site.statement;
    shuffle.guard.clear();
    shuffle.operands[2] = "%mutant";
    std::string text = shuffle.text();
    text.pop_back();
    out.add(site.in_scope("b32", {fmt::format("xor.b32 %mutant, {}, 1", given), text}));
  }
  // Half of a butterfly.
  if (site.has("bfly")) out.add(site.with_word("bfly", "down"));
  if (site.has("down")) out.add(site.with_word("down", "bfly"));
}

constexpr std::array<FaultOperator, 3> kOperators = {{
    {"mma", "a matrix instruction is left out", leave_out_mma},
    {"fragment",
     "two registers of a fragment or vector change places; a transposition is forgotten",
     swap_fragment_registers},
    {"shuffle", "a shuffle reads another lane", change_shuffle},
}};

}  // namespace

std::span<const FaultOperator> fragment_operators() { return kOperators; }

std::vector<FaultOperator> fault_operators() {
  std::vector<FaultOperator> all;
  for (const auto part : {control_operators(), arithmetic_operators(), memory_operators(),
                          order_operators(), fragment_operators()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace plumbline
