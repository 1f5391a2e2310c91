// SPDX-License-Identifier: MIT
// What an H100's matrix instructions gave for hard operands (infinities, NaN, subnormals, sums that
// cancel, every mix of formats), bit by bit: the models give the same.
#include "tests/oracles/models/instruction_rows.h"
#include "tests/folders.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace plumbline {
namespace {

class InstructionRows : public testing::TestWithParam<FragmentKind> {};

TEST_P(InstructionRows, AreWhatTheModelsGive) {
  const MmaKind& kind = GetParam().mma;
  const std::filesystem::path path = std::filesystem::path(PLUMBLINE_SOURCE_DIR) /
                                     "tests/data/tensor_core_outputs/H100" /
                                     (GetParam().name + ".bin");
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::size_t count[] = {
      static_cast<std::size_t>(a_registers(kind)), static_cast<std::size_t>(b_registers(kind)),
      static_cast<std::size_t>(c_registers(kind)), static_cast<std::size_t>(c_registers(kind))};
  const std::size_t row_bytes = sizeof(LaneRegister) * (count[0] + count[1] + count[2] + count[3]);
  ASSERT_EQ(bytes.size() % row_bytes, 0u) << path;
  ASSERT_GE(bytes.size() / row_bytes, std::size(kValueMixes));
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < bytes.size(); at += row_bytes) {
    Fragments fragments;
    LaneRegister given[4] = {}, expected[4] = {};
    const char* next = bytes.data() + at;
    const auto take = [&](LaneRegister* registers, std::size_t registers_of) {
      std::memcpy(registers, next, registers_of * sizeof(LaneRegister));
      next += registers_of * sizeof(LaneRegister);
    };
    take(fragments.a, count[0]);
    take(fragments.b, count[1]);
    take(fragments.c, count[2]);
    take(expected, count[3]);
    mma_spec(kind, fragments.a, fragments.b, fragments.c, given);
    for (std::size_t reg = 0; reg < count[3]; ++reg) {
      for (int lane = 0; lane < 32; ++lane) {
        if (given[reg][lane] == expected[reg][lane]) continue;
        if (++wrong > 3) continue;
        ADD_FAILURE() << path.filename() << " row " << at / row_bytes << " register " << reg
                      << " lane " << lane << std::hex << ": the model gives " << given[reg][lane]
                      << ", the chip " << expected[reg][lane] << "; c " << fragments.c[reg][lane];
      }
    }
  }
  EXPECT_EQ(wrong, 0u) << "of " << bytes.size() / row_bytes * 32 * count[3] << " words";
}

INSTANTIATE_TEST_SUITE_P(H100, InstructionRows, testing::ValuesIn(h100_instructions()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace plumbline
