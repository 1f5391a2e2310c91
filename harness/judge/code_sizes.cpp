// SPDX-License-Identifier: MIT
#include "harness/judge/code_sizes.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "harness/emulator/frontend/module.h"

namespace plumbline {

namespace {

using emulator::Instruction;
using emulator::Operand;
using emulator::OperandKind;

// Smaller ones are in every plan; larger ones are no sizes of cases.
constexpr std::int64_t kLeast = 17, kMost = std::int64_t{1} << 20;
// Texts of third parties can have 66 MB: reading them twice takes longer than a plan.
constexpr std::size_t kMostText = std::size_t{16} << 20;
// A shift by 16 takes a bf16 out of a word, and is in every kernel.
constexpr std::int64_t kMostShift = 15;

struct Numbers {
  std::set<std::int64_t, std::greater<>> compared, others;

  void take(const Numbers& more) {
    compared.insert(more.compared.begin(), more.compared.end());
    others.insert(more.others.begin(), more.others.end());
  }

  std::vector<std::int64_t> in_order() const {
    std::vector<std::int64_t> all(compared.begin(), compared.end());
    std::ranges::copy_if(others, std::back_inserter(all),
                         [&](std::int64_t number) { return !compared.contains(number); });
    return all;
  }
};

// "x & 127" and "x & -128" are both about multiples of 128.
std::optional<std::int64_t> masked(std::int64_t mask) {
  const auto bits = static_cast<std::uint64_t>(mask);
  const auto low = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(mask)});
  for (const std::uint64_t size : {bits + 1, 0 - bits, 0 - low}) {
    if (std::has_single_bit(size) && std::in_range<std::int64_t>(size))
      return static_cast<std::int64_t>(size);
  }
  return std::nullopt;
}

void look_at(const Instruction& instruction, Numbers& numbers) {
  const std::string& opcode = instruction.opcode;
  const bool compares = opcode == "setp" || opcode == "set" || opcode == "min" || opcode == "max";
  const bool divides = opcode == "div" || opcode == "rem";
  const bool shifts = opcode == "shl" || opcode == "shr", masks = opcode == "and";
  if (!compares && !divides && !shifts && !masks) return;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind != OperandKind::immediate || operand.float_bits != 0) continue;
    const auto value = static_cast<std::int64_t>(operand.value);
    std::int64_t size = value;
    if (shifts) {
      if (value < 0 || value > kMostShift) continue;
      size = std::int64_t{1} << value;
    } else if (masks) {
      const std::optional<std::int64_t> multiple = masked(value);
      if (!multiple) continue;
      size = *multiple;
    }
    if (size < kLeast || size > kMost) continue;
    (compares ? numbers.compared : numbers.others).insert(size);
  }
}

Numbers numbers_of(std::string_view ptx, std::string_view file) {
  Numbers numbers;
  if (ptx.size() > kMostText) return numbers;
  const Result<emulator::PtxModule> module = emulator::parse_ptx(ptx, file);
  if (!module) return numbers;  // what loads it says why
  for (const emulator::Function& function : module->functions) {
    for (const Instruction& instruction : function.instructions) look_at(instruction, numbers);
  }
  return numbers;
}

}  // namespace

std::vector<std::int64_t> code_sizes(std::string_view ptx, std::string_view file) {
  return numbers_of(ptx, file).in_order();
}

std::vector<std::int64_t> code_sizes(
    const Manifest& kernel,
    const std::function<Result<std::string>(const Manifest&, int sm)>& image) {
  Numbers numbers;
  for (const int target : kernel.targets) {
    const Result<std::string> text = image(kernel, target);
    if (text) numbers.take(numbers_of(*text, kernel.ptx_path(target)));
  }
  return numbers.in_order();
}

}  // namespace plumbline
