// SPDX-License-Identifier: MIT
#include "reports/record/packed_counts.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr std::string_view kLetters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
constexpr std::uint64_t kMore = 32;  // the sixth bit

void append(std::string& text, std::uint64_t number) {
  for (; number >= kMore; number /= kMore) text += kLetters[kMore + number % kMore];
  text += kLetters[number];
}

// Takes a number from the front; false where there is none that fits its type.
bool take(std::string_view& text, std::int64_t& number) {
  std::uint64_t sum = 0;
  for (int bits = 0; !text.empty() && bits <= 60; bits += 5) {
    const std::size_t letter = kLetters.find(text.front());
    if (letter == std::string_view::npos) return false;
    text.remove_prefix(1);
    if (bits == 60 && letter % kMore >= 8) return false;
    sum |= (letter % kMore) << bits;
    if (letter >= kMore) continue;
    number = static_cast<std::int64_t>(sum);
    return true;
  }
  return false;
}

}  // namespace

std::string packed(const std::vector<std::int64_t>& counts) {
  const auto counted = [](std::int64_t count) { return count != 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), counted);
  const auto last = std::find_if(counts.rbegin(), counts.rend(), counted).base();
  std::string text;
  if (first == counts.end()) return text;
  append(text, static_cast<std::uint64_t>(first - counts.begin()));
  for (auto count = first; count != last; ++count)
    append(text, static_cast<std::uint64_t>(std::max<std::int64_t>(*count, 0)));
  return text;
}

bool unpack(std::string_view text, std::size_t cells, std::vector<std::int64_t>& counts) {
  counts.assign(cells, 0);
  std::int64_t first = 0;
  if (text.empty()) return true;
  if (!take(text, first)) return false;
  for (auto cell = static_cast<std::uint64_t>(first); !text.empty(); ++cell) {
    if (cell >= cells || !take(text, counts[cell])) return false;
  }
  return true;
}

}  // namespace plumbline
