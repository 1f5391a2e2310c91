// SPDX-License-Identifier: MIT
#include "harness/perf/chips.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "oracles/base/suggest.h"

namespace plumbline {
namespace {

constexpr std::int64_t kKiB = 1024;

// clang-format off
//                                           warps blocks registers shared memory
constexpr std::array<Multiprocessor, 7> kMultiprocessors = {{
    {80,  64, 32, 65536, 164 * kKiB},
    {86,  48, 16, 65536, 100 * kKiB},
    {89,  48, 24, 65536, 100 * kKiB},
    {90,  64, 32, 65536, 228 * kKiB},
    {100, 64, 32, 65536, 228 * kKiB},
    {103, 64, 32, 65536, 228 * kKiB},
    {120, 48, 24, 65536, 100 * kKiB},
}};

// The first chip of a compute capability is the usual one.
constexpr std::array<Chip, 7> kChips = {{
    // name     sm  SMs  GB/s   f16    tf32   fp8     int8    f64    fp4      f32
    {"A100 SXM", 80,  108, 2039, {312,    156,   0,      624,    19.5, 0},    19.5, "NVIDIA A100 Tensor Core GPU data sheet, 2021 (80 GB SXM)"},
    {"L40S",     89,  142, 864,  {362.05, 183,   733,    733,    0,    0},    91.6, "NVIDIA L40S data sheet, 2023"},
    {"RTX 4090", 89,  128, 1008, {165.2,  82.6,  330.3,  660.6,  0,    0},    82.6, "NVIDIA Ada GPU Architecture white paper 2.1, appendix A"},
    {"H100 SXM", 90,  132, 3352, {989.4,  494.7, 1978.9, 1978.9, 66.9, 0},    66.9, "NVIDIA H100 Tensor Core GPU Architecture white paper 1.04, table 2"},
    {"H200",     90,  132, 4800, {989.4,  494.7, 1978.9, 1978.9, 66.9, 0},    66.9, "NVIDIA H200 Tensor Core GPU data sheet, 2024; peaks as the H100 SXM"},
    {"B200",     100, 148, 7700, {2250,   1100,  4500,   4500,   37,   9000}, 75,   "NVIDIA Blackwell data sheet, 2025 (HGX B200, half of the sparse peaks); multiprocessors as CUDA's deviceQuery shows them"},
    {"RTX 5090", 120, 170, 1792, {209.5,  104.8, 419,    838,    0,    1676}, 104.8, "NVIDIA RTX Blackwell GPU Architecture white paper 1.1, appendix A"},
}};
// clang-format on

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

const Multiprocessor* multiprocessor(int sm) {
  const auto* const found = std::ranges::find(kMultiprocessors, sm, &Multiprocessor::sm);
  return found == kMultiprocessors.end() ? nullptr : found;
}

std::span<const Chip> chips() { return kChips; }

const Chip* usual_chip(int sm) {
  const auto* const found = std::ranges::find(kChips, sm, &Chip::sm);
  return found == kChips.end() ? nullptr : found;
}

std::string one_of(const Chip& chip) {
  constexpr std::string_view kVowels = "AEFHILMNORSX";  // as letters are said
  return fmt::format("{} {}", kVowels.find(chip.name[0]) == kVowels.npos ? "a" : "an", chip.name);
}

Result<const Chip*> find_chip(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Chip& chip : kChips) {
    if (lower(chip.name) == lower(name)) return &chip;
    names.push_back(chip.name);
  }
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) {
    for (const std::string_view one : names)
      hint += (hint.empty() ? "one of: " : ", ") + std::string(one);
  }
  return Error{ErrorKind::bad_input, fmt::format("there is no chip \"{}\" here", name), "--chip",
               hint};
}

}  // namespace plumbline
