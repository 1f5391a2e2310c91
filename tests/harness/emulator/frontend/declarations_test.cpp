// SPDX-License-Identifier: MIT
// Variables, parameters and initial values.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/harness/emulator/ptx_text.h"

namespace plumbline::emulator {
namespace {

using test::kHeader;
using test::parsed;

Variable global(std::string_view declaration) {
  PtxModule module = parsed(std::string(kHeader) + std::string(declaration));
  if (module.variables.empty()) return {};
  return std::move(module.variables.back());
}

template <typename T>
std::vector<T> values(const Variable& variable) {
  std::vector<T> result(variable.initial.size() / sizeof(T));
  std::memcpy(result.data(), variable.initial.data(), result.size() * sizeof(T));
  return result;
}

TEST(Declarations, SizesAndAlignments) {
  const Variable scalar = global(".global .u64 x;");
  EXPECT_EQ(scalar.bytes, 8);
  EXPECT_EQ(scalar.alignment, 8);
  EXPECT_EQ(scalar.type, "u64");
  EXPECT_EQ(global(".global .align 16 .b8 x[48];").bytes, 48);
  EXPECT_EQ(global(".global .align 16 .b8 x[48];").alignment, 16);
  EXPECT_EQ(global(".global .f32 x[2][3];").bytes, 24);
  EXPECT_EQ(global(".global .v4 .f32 x[2];").bytes, 32);
  EXPECT_EQ(global(".global .v4 .f32 x[2];").alignment, 16);
  EXPECT_EQ(global(".const .b16 x;").space, Space::constant);
  EXPECT_EQ(global(".shared .b16 x;").space, Space::shared);
  EXPECT_EQ(global(".global .texref x;").bytes, 8);
  EXPECT_EQ(global(".global .attribute(.managed) .b32 x;").bytes, 4);
}

TEST(Declarations, ExternSharedHasNoSize) {
  const Variable dynamic = global(".extern .shared .align 128 .b8 smem[];");
  EXPECT_TRUE(dynamic.is_extern);
  EXPECT_EQ(dynamic.bytes, 0);
  EXPECT_EQ(dynamic.alignment, 128);
}

TEST(Declarations, SeveralNamesShareAType) {
  const PtxModule module = parsed(std::string(kHeader) + ".global .b32 a, b[2], c;");
  ASSERT_EQ(module.variables.size(), 3u);
  EXPECT_EQ(module.variables[1].bytes, 8);
}

TEST(Declarations, ADefinitionReplacesAnExtern) {
  const PtxModule module =
      parsed(std::string(kHeader) +
             ".extern .global .b32 a[]; .global .b32 a[4]; .extern .global .b32 a[];");
  ASSERT_EQ(module.variables.size(), 1u);
  EXPECT_EQ(module.variables[0].bytes, 16);
  EXPECT_FALSE(module.variables[0].is_extern);
}

TEST(Declarations, InitialNumbersAreLittleEndianBytes) {
  EXPECT_EQ(values<std::uint8_t>(global(".global .b8 x[3] = {1, 255, -1};")),
            (std::vector<std::uint8_t>{1, 255, 255}));
  EXPECT_EQ(values<std::uint32_t>(global(".global .u32 x = 0x12345678;")),
            std::vector<std::uint32_t>{0x12345678});
  EXPECT_EQ(values<float>(global(".global .f32 x[4] = {0f3F800000, -2.5, 3, 0d3FE0000000000000};")),
            (std::vector<float>{1, -2.5, 3, 0.5}));
  EXPECT_EQ(values<double>(global(".global .f64 x[3] = {0f3F800000, 2, -1};")),
            (std::vector<double>{1, 2, -1}));
  EXPECT_EQ(values<std::uint16_t>(global(".global .f16 x = 0x3C00;")),
            std::vector<std::uint16_t>{0x3c00});
}

TEST(Declarations, MissingInitialValuesAreZero) {
  const Variable variable = global(".global .b8 x[24] = {1, 2};");
  EXPECT_EQ(variable.bytes, 24);
  EXPECT_EQ(variable.initial.size(), 2u);
  EXPECT_TRUE(global(".global .b8 x[24];").initial.empty());
}

TEST(Declarations, NestedBracesFollowTheDimensions) {
  EXPECT_EQ(values<int>(global(".global .s32 x[2][3] = {{1, 2}, {4, 5, 6}};")),
            (std::vector<int>{1, 2, 0, 4, 5, 6}));
  EXPECT_EQ(values<int>(global(".global .s32 x[2][3] = {1, 2, 3, 4};")),
            (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(values<int>(global(".global .s32 x[2][2] = {1, {3, 4}};")),
            (std::vector<int>{1, 0, 3, 4}));
}

TEST(Declarations, AnOpenArrayIsAsLongAsItsValues) {
  EXPECT_EQ(global(".global .s32 x[] = {1, 2, 3};").bytes, 12);
  EXPECT_EQ(global(".global .s32 x[][2] = {{1}, {2}};").bytes, 16);
  EXPECT_EQ(global(".global .s32 x[][2] = {1, 2, 3};").bytes, 16);
}

TEST(Declarations, AddressesInInitialValuesAreRelocations) {
  const PtxModule module = parsed(std::string(kHeader) + R"(
.global .b8 text[4] = {97, 98, 99, 0};
.global .u64 table[4] = {generic(text), text+2, later, generic(text)-1};
.func later();)");
  const auto& relocations = module.variables.at(1).relocations;
  ASSERT_EQ(relocations.size(), 4u);
  EXPECT_TRUE(relocations[0].generic);
  EXPECT_EQ(relocations[0].index, 0);
  EXPECT_EQ(relocations[0].bytes, 8);
  EXPECT_FALSE(relocations[1].generic);
  EXPECT_EQ(relocations[1].offset, 8);
  EXPECT_EQ(relocations[1].addend, 2);
  EXPECT_TRUE(relocations[2].is_function);
  EXPECT_EQ(relocations[2].index, 0);
  EXPECT_EQ(relocations[3].addend, -1);
}

TEST(Declarations, KernelParametersOfAllKinds) {
  const PtxModule module = parsed(std::string(kHeader) + R"(
.entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr .align 1 b, .param .align 64 .b8 c[128], .param .f32 d) { ret; })");
  const auto& parameters = module.functions.at(0).parameters;
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_TRUE(parameters[0].is_pointer);
  EXPECT_EQ(parameters[0].alignment, 8);
  EXPECT_EQ(parameters[0].pointer_alignment, 16);
  EXPECT_EQ(parameters[1].pointer_alignment, 1);
  EXPECT_EQ(parameters[2].bytes, 128);
  EXPECT_EQ(parameters[2].alignment, 64);
  EXPECT_EQ(parameters[3].type, "f32");
  EXPECT_EQ(parameters[3].space, Space::param);
}

TEST(Declarations, RegisterParametersAreRegisters) {
  const PtxModule module =
      parsed(std::string(kHeader) + ".func (.reg .u32 r) f(.reg .u32 n) { add.u32 r, n, 1; ret; }");
  const Function& function = module.functions.at(0);
  EXPECT_EQ(function.parameters[0].register_index, function.instructions[0].operands[1].index);
  EXPECT_EQ(function.results[0].register_index, function.instructions[0].operands[0].index);
}

TEST(Declarations, RegisterWidths) {
  const Function function = test::body(R"(
.reg .pred a; .reg .b8 b; .reg .f16 c; .reg .bf16x2 d; .reg .f64 e; .reg .b128 f; .reg .s16 g, h;
mov.b32 a, b; mov.b32 c, d; mov.b32 e, f; mov.b32 g, h;)");
  const std::vector<int> expected = {1, 8, 16, 32, 64, 128, 16, 16};
  ASSERT_EQ(function.registers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(function.registers[i].bits, expected[i]);
  EXPECT_TRUE(function.registers[0].is_predicate());
}

TEST(Declarations, GlobalsOfABodyAreTheModules) {
  const std::string text = test::kernel(R"(.reg .b64 x;
.global .u64 table[2] = {generic(table2), f};
mov.u64 x, table;
{ .const .b32 table = 7; mov.u64 x, table; }
mov.u64 x, table;)") + ".global .b32 table2;\n.func f() { ret; }";
  for (const std::string_view entry : {"", "k"}) {
    ParseOptions options;
    if (!entry.empty()) options.wanted = [&](const std::string& one) { return one == entry; };
    const auto module = parse_ptx(text, "t.ptx", options);
    ASSERT_TRUE(module) << module.error().text();
    ASSERT_EQ(module->variables.size(), 3u);
    const auto& code = module->functions[0].instructions;
    const auto variable = [&](int i) {
      const Operand& operand = code.at(i).operands.at(1);
      EXPECT_TRUE(operand.global_scope);
      return module->variables.at(operand.index);
    };
    EXPECT_EQ(variable(0).bytes, 16);
    EXPECT_EQ(variable(1).space, Space::constant);
    EXPECT_EQ(variable(2).bytes, 16);
    EXPECT_EQ(module->variables[variable(0).relocations[0].index].name, "table2");
    EXPECT_TRUE(module->functions[variable(0).relocations[1].index].has_body);
  }
}

TEST(Declarations, UnmentionedRegistersCostNothing) {
  EXPECT_TRUE(test::body(".reg .b32 %r<16777216>;").registers.empty());
}

}  // namespace
}  // namespace plumbline::emulator
