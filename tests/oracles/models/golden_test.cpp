// SPDX-License-Identifier: MIT
// Every published output of real tensor cores that the project has at hand, row by row. The files
// are data beside the checkout (Khattak & Mikaitis, arXiv 2512.07004); without them these tests are
// skipped and the probes remain. A line: a0,a1,... b0,b1,... c d32 [d16], hexadecimal; d16 is the
// f16-accumulator result widened to f32, and was computed with C rounded to f16.
#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/models/generation.h"

namespace plumbline {
namespace {

constexpr int kRowsPerFile = 5000;

struct GoldenFile {
  const char* name;
  int sm;
  FormatId input;
  Instruction instruction;  // of d32; d16 is always mma.sync
  bool c_ignored = false;   // by d32
};

using enum FormatId;
using enum Instruction;

constexpr GoldenFile kFiles[] = {
    {"A100_bf16", 80, bf16, mma_sync},
    {"A100_fp16", 80, f16, mma_sync},
    {"A100_tf32", 80, tf32, mma_sync},
    {"Ada_E4M3", 89, e4m3, mma_sync},
    {"Ada_E5M2", 89, e5m2, mma_sync},
    {"Ada_bf16", 89, bf16, mma_sync},
    {"H200_bf16", 90, bf16, mma_sync},
    {"H200_fp16", 90, f16, mma_sync},
    {"H200_tf32", 90, tf32, mma_sync},
    {"H200_E4M3_mma_sync", 90, e4m3, mma_sync},
    {"H200_E5M2_mma_sync", 90, e5m2, mma_sync},
    {"H200_E4M3_wgmma_c0", 90, e4m3, wgmma, true},
    {"H200_E5M2_wgmma_c0", 90, e5m2, wgmma, true},
};

std::uint32_t hexadecimal(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::uint32_t> codes(std::string_view list) {
  std::vector<std::uint32_t> values;
  for (const std::string_view item : split(list, ',')) values.push_back(hexadecimal(item));
  return values;
}

std::uint32_t f16_of_f32(std::uint32_t bits) {
  const double value = to_double(format(f32), bits);
  return static_cast<std::uint32_t>(encode(format(f16), value));
}

class Golden : public testing::TestWithParam<GoldenFile> {};

TEST_P(Golden, EveryRowIsReproduced) {
  const GoldenFile& file = GetParam();
  const std::filesystem::path path = std::filesystem::path(PLUMBLINE_SOURCE_DIR) /
                                     "../shared/data/tensor-core-golden" /
                                     (std::string(file.name) + ".txt");
  std::ifstream in(path);
  if (!in) GTEST_SKIP() << "no golden data: " << path.lexically_normal().string() << " is absent";

  const Format& input = format(file.input);
  const auto model32 = dot_model(file.sm, file.instruction, file.input, file.input, f32);
  const auto model16 = dot_model(file.sm, mma_sync, file.input, file.input, f16);
  ASSERT_TRUE(model32);
  int rows = 0;
  int wrong = 0;
  for (std::string line; std::getline(in, line); ++rows) {
    const std::vector<std::string_view> fields = split(line, ' ');
    ASSERT_GE(fields.size(), 4u) << file.name << " line " << rows + 1;
    const std::vector<std::uint32_t> a = codes(fields[0]);
    const std::vector<std::uint32_t> b = codes(fields[1]);
    const std::uint32_t c = hexadecimal(fields[2]);
    bool same = dot(*model32, input, input, a, b, file.c_ignored ? 0 : c) == hexadecimal(fields[3]);
    if (fields.size() > 4) {
      ASSERT_TRUE(model16);
      const std::uint32_t half = dot(*model16, input, input, a, b, f16_of_f32(c));
      same = same && half == f16_of_f32(hexadecimal(fields[4]));
    }
    if (!same && ++wrong == 1) ADD_FAILURE() << "first wrong row: " << line;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(rows, kRowsPerFile);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(kFiles),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace plumbline
