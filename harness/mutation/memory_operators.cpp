// SPDX-License-Identifier: MIT
// Wrong memory traffic: accesses left out or one element off.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <optional>

#include "harness/emulator/decode/types.h"
#include "harness/mutation/operators.h"

namespace plumbline {
namespace {

using emulator::Operand;
using emulator::OperandKind;

bool is_async_copy(const Site& site) {
  return site.is("cp") && site.has("async") && !site.has("bulk") && site.operands() >= 3;
}

bool is_bulk_copy(const Site& site) {
  return site.is("cp") && site.has("bulk") && site.operands() >= 2;
}

void leave_out_load(const Site& site, Replacements& out) {
  const bool loads = (site.is("ld") && !site.has("param")) || site.is("ldmatrix");
  if (loads) out.add(site.zeroes());
}

void leave_out_store(const Site& site, Replacements& out) {
  const bool stores = site.is("st") && !site.has("param");
  const bool copies = is_async_copy(site) || is_bulk_copy(site);
  if (stores || copies || site.is("red") || site.is("stmatrix")) out.remove();
}

// --- addresses ---

// Bytes of one lane's access: what an index that is one too large adds.
std::int64_t access_bytes(const Site& site) {
  if (is_async_copy(site)) return std::strtoll(site.text(2).c_str(), nullptr, 0);
  if (site.is("ldmatrix") || site.is("stmatrix")) return 16;
  std::int64_t elements = 1, bytes = 0;
  for (const std::string& word : site.instruction.modifiers) {
    if (word == "v2") elements = 2;
    if (word == "v4") elements = 4;
    if (const auto type = emulator::type_by_name(word)) bytes = emulator::bits(*type) / 8;
  }
  return elements * bytes;
}

// "[%rd1+16]" with another offset.
std::string with_offset(const Site& site, std::size_t operand, std::int64_t offset) {
  std::string_view base = site.text(operand);
  base = base.substr(1, base.size() - 2);
  base = base.substr(0, base.find_first_of("+- ", 1));
  return site.with_operand(operand, fmt::format("[{}+{}]", base, offset));
}

void change_address(const Site& site, Replacements& out) {
  const bool accesses = site.is("ld") || site.is("st") || site.is("red") || site.is("atom") ||
                        site.is("ldmatrix") || site.is("stmatrix") || is_async_copy(site);
  if (!accesses || site.has("param")) return;
  const std::int64_t bytes = access_bytes(site);
  if (bytes == 0) return;
  for (std::size_t i = 0; i < site.operands(); ++i) {
    const Operand& address = site.instruction.operands[i];
    const bool plain = address.kind == OperandKind::address && address.elements.size() == 1;
    if (!plain) continue;
    out.add(with_offset(site, i, address.offset + bytes));
    out.add(with_offset(site, i, address.offset - bytes));
  }
}

// cp.async of fewer bytes fills the rest with zero; without the count it reads all of them.
void forget_zero_fill(const Site& site, Replacements& out) {
  if (!is_async_copy(site) || site.operands() != 4) return;
  if (site.kind(3) != OperandKind::reg && site.kind(3) != OperandKind::immediate) return;
  Statement edited = site.statement;
  edited.operands.pop_back();
  out.add(edited.text());
}

// A box of a tensor whose first two coordinates change places.
void swap_coordinates(const Site& site, Replacements& out) {
  if (!site.is("cp") || !site.has("tensor")) return;
  for (std::size_t i = 0; i < site.operands(); ++i) {
    const std::string& text = site.text(i);
    const std::size_t open = text.find('{'), close = text.find('}');
    if (open == std::string::npos || close == std::string::npos) continue;
    std::vector<std::string> list = vector_elements(text.substr(open, close + 1 - open));
    if (list.size() < 2 || list[0] == list[1]) continue;
    std::swap(list[0], list[1]);
    out.add(
        site.with_operand(i, text.substr(0, open) + vector_text(list) + text.substr(close + 1)));
  }
}

constexpr std::array<FaultOperator, 5> kOperators = {{
    {"load", "a load is left out: its registers are zero", leave_out_load},
    {"store", "a store, reduction or asynchronous copy is left out", leave_out_store},
    {"address", "an access is one access too far, or too near", change_address},
    {"zero fill", "an asynchronous copy reads past the end instead of filling with zero",
     forget_zero_fill},
    {"coordinates", "a bulk copy takes two coordinates in the wrong order", swap_coordinates},
}};

}  // namespace

std::span<const FaultOperator> memory_operators() { return kOperators; }

}  // namespace plumbline
