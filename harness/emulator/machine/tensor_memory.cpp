// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/tensor_memory.h"

#include <algorithm>

namespace plumbline::emulator {

void TensorMemory::start(std::uint8_t garbage, bool from_above) {
  from_above_ = from_above;
  requested_ = kColumns;
  allocations_.clear();
  expected_.clear();
  permits_ = true;
  garbage_ = garbage * 0x01010101u;
}

std::optional<int> TensorMemory::allocate(int columns) {
  const auto overlaps = [&](int first) {
    return std::ranges::any_of(allocations_, [&](const Allocation& one) {
      return first < one.column + one.columns && one.column < first + columns;
    });
  };
  int first = from_above_ ? kColumns - columns : 0;
  const int step = from_above_ ? -kLeastColumns : kLeastColumns;
  while (first >= 0 && first + columns <= kColumns && overlaps(first)) first += step;
  if (first < 0 || first + columns > kColumns) return std::nullopt;
  words_.resize(index(0, kColumns));
  states_.resize(std::size_t{kColumns} * 4);
  std::fill_n(&state(0, first), 4 * columns, Quarter());
  std::fill_n(&word(0, first), kRows * columns, garbage_);
  allocations_.push_back({first, columns});
  return first;
}

std::optional<TensorMemory::Allocation> TensorMemory::take_expected() {
  if (expected_.empty()) return std::nullopt;
  const Allocation made = expected_.front();
  expected_.erase(expected_.begin());
  return made;
}

bool TensorMemory::release(int column, int columns) {
  return std::erase_if(allocations_, [&](const Allocation& one) {
           return one.column == column && one.columns == columns;
         }) == 1;
}

bool TensorMemory::is_allocated(int column, int columns) const {
  for (int at = column; at < column + columns; ++at) {
    if (std::ranges::none_of(allocations_, [&](const Allocation& one) {
          return at >= one.column && at < one.column + one.columns;
        }))
      return false;
  }
  return true;
}

int TensorMemory::allocated() const {
  int columns = 0;
  for (const Allocation& one : allocations_) columns += one.columns;
  return columns;
}

}  // namespace plumbline::emulator
