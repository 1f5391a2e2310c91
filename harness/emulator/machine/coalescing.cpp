// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/coalescing.h"

#include <algorithm>
#include <bit>

namespace plumbline::emulator {

int distinct(const LaneAddresses& addresses, std::uint32_t lanes, std::uint64_t unit,
             LaneAddresses& out) {
  const int shift = std::countr_zero(unit);
  std::size_t count = 0;
  bool sorted = true;
  std::uint64_t last = 0;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const std::uint64_t value =
        addresses[static_cast<std::size_t>(std::countr_zero(left))] >> shift;
    if (count > 0 && value == last) continue;
    sorted = sorted && (count == 0 || value > last);
    out[count++] = last = value;
  }
  const auto begin = out.begin(), end = begin + static_cast<std::ptrdiff_t>(count);
  if (sorted) return static_cast<int>(count);
  std::sort(begin, end);
  return static_cast<int>(std::unique(begin, end) - begin);
}

Wavefronts wavefronts(const LaneAddresses& addresses, std::uint32_t lanes, int bytes) {
  const int unit = std::max(bytes, kBankBytes);     // that a lane takes from neighboring banks
  const int together = kBanks * kBankBytes / unit;  // lanes of a phase, and units of all banks
  const int shift = std::countr_zero(static_cast<unsigned>(unit));
  Wavefronts result;
  for (int first = 0; first < 32; first += together) {
    const std::uint32_t phase =
        together == 32 ? lanes : lanes & (((std::uint32_t{1} << together) - 1) << first);
    if (phase == 0) continue;
    // Of each bank: the lanes that were the first with their word, as a list.
    std::array<std::int8_t, 32> head, next;
    std::array<std::uint8_t, 32> words{};
    head.fill(-1);
    int worst = 0;
    for (std::uint32_t left = phase; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      const std::uint64_t word = addresses[lane] >> shift;
      const auto bank = static_cast<std::size_t>(word) & static_cast<std::size_t>(together - 1);
      bool known = false;
      for (int other = head[bank]; other >= 0 && !known;
           other = next[static_cast<std::size_t>(other)])
        known = addresses[static_cast<std::size_t>(other)] >> shift == word;
      if (known) continue;
      next[lane] = head[bank];
      head[bank] = static_cast<std::int8_t>(lane);
      worst = std::max<int>(worst, ++words[bank]);
    }
    result.needed += worst;
    ++result.least;
  }
  return result;
}

int local_sectors(const LaneAddresses& addresses, std::uint32_t lanes, int bytes) {
  const int words = std::max(1, bytes / 4);
  int sectors = 0;
  LaneAddresses interleaved{}, out;
  for (int w = 0; w < words; ++w) {
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::uint64_t word = addresses[lane] / 4 + static_cast<std::uint64_t>(w);
      interleaved[lane] = (word * 32 + lane) * 4;
    }
    sectors += distinct(interleaved, lanes, kSectorBytes, out);
  }
  return sectors;
}

}  // namespace plumbline::emulator
