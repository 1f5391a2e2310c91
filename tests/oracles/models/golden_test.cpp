// SPDX-License-Identifier: MIT
// Published outputs of real tensor cores (tests/data/tensor_core_outputs), row by row: the models
// give every one of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/models/generation.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

constexpr std::size_t kRowsPerFile = 1000;

struct GoldenFile {
  const char* name;
  int sm;
  FormatId input;
  int products;             // of a row
  Instruction instruction;  // of d32; d16 is always mma.sync
  bool half = false;        // has d16
  bool c_ignored = false;   // by d32
};

using enum FormatId;
using enum Instruction;

constexpr GoldenFile kFiles[] = {
    {"A100_bf16", 80, bf16, 8, mma_sync},
    {"A100_fp16", 80, f16, 8, mma_sync, true},
    {"A100_tf32", 80, tf32, 4, mma_sync},
    {"Ada_E4M3", 89, e4m3, 32, mma_sync, true},
    {"Ada_E5M2", 89, e5m2, 32, mma_sync, true},
    {"Ada_bf16", 89, bf16, 8, mma_sync},
    {"H200_bf16", 90, bf16, 16, mma_sync},
    {"H200_fp16", 90, f16, 16, mma_sync, true},
    {"H200_tf32", 90, tf32, 4, mma_sync},
    {"H200_E4M3_mma_sync", 90, e4m3, 32, mma_sync, true},
    {"H200_E5M2_mma_sync", 90, e5m2, 32, mma_sync, true},
    {"H200_E4M3_wgmma_c0", 90, e4m3, 32, wgmma, true, true},
    {"H200_E5M2_wgmma_c0", 90, e5m2, 32, wgmma, true, true},
};

// Little-endian numbers, one after the other.
class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}

  std::uint32_t number(int width) {
    std::uint32_t value = 0;
    for (int byte = 0; byte < width; ++byte)
      value |= std::uint32_t{static_cast<unsigned char>(bytes_.at(at_++))} << (8 * byte);
    return value;
  }

  std::vector<std::uint32_t> numbers(int count, int width) {
    std::vector<std::uint32_t> all;
    for (int i = 0; i < count; ++i) all.push_back(number(width));
    return all;
  }

  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

std::uint32_t f16_of_f32(std::uint32_t bits) {
  const double value = to_double(format(f32), bits);
  return static_cast<std::uint32_t>(encode(format(f16), value));
}

class Golden : public testing::TestWithParam<GoldenFile> {};

TEST_P(Golden, EveryRowIsReproduced) {
  const GoldenFile& file = GetParam();
  const std::filesystem::path path = std::filesystem::path(PLUMBLINE_SOURCE_DIR) /
                                     "tests/data/tensor_core_outputs" /
                                     (std::string(file.name) + ".bin");
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  Reader reader(std::string(std::istreambuf_iterator<char>(in), {}));

  const Format& input = format(file.input);
  const int width = file.input == tf32 ? 4 : input.storage_bits / 8;
  const auto model32 = dot_model(file.sm, file.instruction, file.input, file.input, f32);
  const auto model16 = dot_model(file.sm, mma_sync, file.input, file.input, f16);
  ASSERT_TRUE(model32);
  std::size_t rows = 0, wrong = 0;
  for (; !reader.at_end(); ++rows) {
    const std::vector<std::uint32_t> a = reader.numbers(file.products, width);
    const std::vector<std::uint32_t> b = reader.numbers(file.products, width);
    const std::uint32_t c = reader.number(4), d32 = reader.number(4);
    bool same = dot(*model32, input, input, a, b, file.c_ignored ? 0 : c) == d32;
    if (file.half) {
      ASSERT_TRUE(model16);
      same = same && dot(*model16, input, input, a, b, f16_of_f32(c)) == reader.number(2);
    }
    if (!same && ++wrong == 1) ADD_FAILURE() << "the first wrong row is number " << rows;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(rows, kRowsPerFile);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(kFiles),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace plumbline
