// SPDX-License-Identifier: MIT
// Every operand form of PTX, as it lands in the syntax tree.
#include <gtest/gtest.h>

#include "tests/harness/emulator/ptx_text.h"

namespace plumbline::emulator {
namespace {

using test::body;

constexpr std::string_view kRegisters =
    ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .f32 %f<9>;\n";

// The last instruction of a kernel with the usual registers.
Instruction last(std::string_view statements) {
  Function function = body(std::string(kRegisters) + std::string(statements));
  if (function.instructions.empty()) return {};
  return function.instructions.back();
}

Operand operand(std::string_view statements, std::size_t index) {
  const Instruction instruction = last(statements);
  if (instruction.operands.size() <= index) {
    ADD_FAILURE() << "no operand " << index << " in " << statements;
    return {};
  }
  return instruction.operands[index];
}

TEST(Operands, RegistersAreNumberedInOrderOfMention) {
  const Function function =
      body(std::string(kRegisters) + "add.s32 %r5, %r1, %r5;\nadd.s64 %rd2, %rd2, 1;");
  ASSERT_EQ(function.registers.size(), 3u);
  EXPECT_EQ(function.registers[0].name, "%r5");
  EXPECT_EQ(function.registers[1].name, "%r1");
  EXPECT_EQ(function.registers[2].name, "%rd2");
  EXPECT_EQ(function.registers[2].bits, 64);
  EXPECT_EQ(function.instructions[0].operands[0].index, 0);
  EXPECT_EQ(function.instructions[0].operands[2].index, 0);
}

TEST(Operands, OpcodeAndModifiersAreSplit) {
  const Instruction mma = last("mma.sp::ordered_metadata .sync.aligned.m16n8k16 %r1, %r2;");
  EXPECT_EQ(mma.opcode, "mma");
  const std::vector<std::string> expected = {"sp::ordered_metadata", "sync", "aligned", "m16n8k16"};
  EXPECT_EQ(mma.modifiers, expected);
  EXPECT_TRUE(mma.has_modifier("aligned"));
  EXPECT_FALSE(mma.has_modifier("mma"));
}

TEST(Operands, ImmediatesOfAllKinds) {
  EXPECT_EQ(operand("mov.b32 %r1, -32;", 1).value, static_cast<std::uint64_t>(-32));
  EXPECT_EQ(operand("mov.b32 %r1, 0xFFU;", 1).value, 255u);
  EXPECT_EQ(operand("mov.b32 %r1, 4+4-1;", 1).value, 7u);
  EXPECT_FALSE(operand("mov.b32 %r1, 4;", 1).is_float);
  const Operand single = operand("mov.f32 %f1, 0f3F800000;", 1);
  EXPECT_TRUE(single.is_float);
  EXPECT_EQ(single.float_bits, 32);
  EXPECT_EQ(single.value, 0x3f800000u);
  EXPECT_EQ(operand("mov.f64 %rd1, 0d3FF0000000000000;", 1).float_bits, 64);
  EXPECT_EQ(operand("createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0;", 1).value,
            0x3ff0000000000000u);
}

TEST(Operands, WarpSizeIsThirtyTwo) {
  const Operand size = operand("mov.u32 %r1, WARP_SZ;", 1);
  EXPECT_EQ(size.kind, OperandKind::immediate);
  EXPECT_EQ(size.value, 32u);
}

TEST(Operands, SpecialRegistersKeepTheirName) {
  EXPECT_EQ(operand("mov.u32 %r1, %tid.x;", 1).name, "%tid.x");
  EXPECT_EQ(operand("mov.u32 %r1, %cluster_nctaid.z;", 1).name, "%cluster_nctaid.z");
  EXPECT_EQ(operand("mov.u64 %rd1, %clock64;", 1).name, "%clock64");
  EXPECT_EQ(operand("mov.u32 %r1, %envreg31;", 1).name, "%envreg31");
  EXPECT_EQ(operand("mov.u32 %r1, %lanemask_lt;", 1).kind, OperandKind::special);
}

TEST(Operands, AddressesWithEveryBaseAndOffset) {
  const auto address = [](std::string_view text) {
    return operand(".shared .b8 s[64]; ld.b32 %r1, " + std::string(text) + ";", 1);
  };
  EXPECT_EQ(address("[%rd1]").kind, OperandKind::address);
  EXPECT_EQ(address("[%rd1]").elements[0].kind, OperandKind::reg);
  EXPECT_EQ(address("[%rd1]").offset, 0);
  EXPECT_EQ(address("[%rd1+16]").offset, 16);
  EXPECT_EQ(address("[%rd1+-16]").offset, -16);
  EXPECT_EQ(address("[%rd1-16]").offset, -16);
  EXPECT_EQ(address("[s+4]").elements[0].kind, OperandKind::symbol);
  EXPECT_EQ(address("[s+4]").elements[0].table, SymbolTable::variables);
  EXPECT_EQ(address("[s+4]").offset, 4);
  EXPECT_EQ(address("[p]").elements[0].table, SymbolTable::parameters);
  EXPECT_TRUE(address("[64]").elements.empty());
  EXPECT_EQ(address("[64]").offset, 64);
  EXPECT_EQ(address("[0x10+4]").offset, 20);
}

TEST(Operands, TensorAccessHasCoordinates) {
  const Operand access =
      operand("cp.async.bulk.tensor.2d.shared::cluster.global [%r1], [%rd1, {%r2, 3}], [%r3];", 1);
  ASSERT_EQ(access.elements.size(), 2u);
  EXPECT_EQ(access.elements[0].kind, OperandKind::reg);
  EXPECT_EQ(access.elements[1].kind, OperandKind::vector);
  EXPECT_EQ(access.elements[1].elements.size(), 2u);
}

TEST(Operands, SymbolsKnowTheirTable) {
  const PtxModule module = test::parsed(std::string(test::kHeader) + R"(
.global .b32 g;
.func (.param .b32 out) f(.param .b32 in) {
  .reg .b64 %rd<9>;
  .local .b8 depot[8];
  mov.u64 %rd1, g+4;
  mov.u64 %rd2, depot;
  mov.u64 %rd3, in;
  mov.u64 %rd4, out;
  mov.u64 %rd5, f;
})");
  const auto& instructions = module.functions.at(0).instructions;
  EXPECT_EQ(instructions[0].operands[1].table, SymbolTable::module);
  EXPECT_TRUE(instructions[0].operands[1].global_scope);
  EXPECT_EQ(instructions[0].operands[1].offset, 4);
  EXPECT_EQ(instructions[1].operands[1].table, SymbolTable::variables);
  EXPECT_FALSE(instructions[1].operands[1].global_scope);
  EXPECT_EQ(instructions[2].operands[1].table, SymbolTable::parameters);
  EXPECT_EQ(instructions[3].operands[1].table, SymbolTable::results);
  EXPECT_EQ(instructions[4].operands[1].kind, OperandKind::function);
}

TEST(Operands, VectorsWithSinksAndNumbers) {
  const Operand vector = operand("ld.v4.b32 {%r1, _, %r3, 7}, [%rd1];", 0);
  ASSERT_EQ(vector.kind, OperandKind::vector);
  ASSERT_EQ(vector.elements.size(), 4u);
  EXPECT_EQ(vector.elements[1].kind, OperandKind::sink);
  EXPECT_EQ(vector.elements[3].kind, OperandKind::immediate);
  EXPECT_FALSE(vector.pipe);
}

TEST(Operands, PairsAreVectorsWithAPipe) {
  const Operand pair = operand("shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;", 0);
  EXPECT_TRUE(pair.pipe);
  EXPECT_EQ(pair.elements.size(), 2u);
  const Operand elect = operand("elect.sync _|%p1, -1;", 0);
  EXPECT_TRUE(elect.pipe);
  EXPECT_EQ(elect.elements[0].kind, OperandKind::sink);
}

TEST(Operands, PredicatesMayBeNegated) {
  EXPECT_TRUE(operand("selp.b32 %r1, 1, 0, !%p1;", 3).negated);
  EXPECT_FALSE(operand("selp.b32 %r1, 1, 0, %p1;", 3).negated);
}

TEST(Operands, GuardsOfBothSigns) {
  const Instruction plain = last("@%p1 add.s32 %r1, %r1, 1;");
  EXPECT_GE(plain.guard, 0);
  EXPECT_FALSE(plain.guard_negated);
  const Instruction negated = last("@!%p1 bra X; X:");
  EXPECT_GE(negated.guard, 0);
  EXPECT_TRUE(negated.guard_negated);
  EXPECT_EQ(last("ret;").guard, -1);
}

TEST(Operands, CallsHaveResultsCalleeAndArguments) {
  const PtxModule module = test::parsed(std::string(test::kHeader) + R"(
.extern .func (.param .b32 r) f(.param .b64 a, .param .b32 b);
.func g() ;
.entry k() {
  .reg .b64 %rd<3>; .reg .b32 %r<4>;
  .param .b64 x; .param .b32 y; .param .b32 z;
  call.uni (z), f, (x, y);
  call g;
  call (), g, ();
  proto: .callprototype (.param .b32 _) _ (.param .b64 _);
  call (%r1), %rd1, (%rd2, 7), proto;
})");
  const auto& calls = module.functions.at(2).instructions;
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].operands.size(), 3u);
  EXPECT_EQ(calls[0].operands[0].elements.size(), 1u);
  EXPECT_EQ(calls[0].operands[1].kind, OperandKind::function);
  EXPECT_EQ(calls[0].operands[1].index, 0);
  EXPECT_EQ(calls[0].operands[2].elements.size(), 2u);
  for (const int i : {1, 2}) {
    EXPECT_TRUE(calls[i].operands[0].elements.empty());
    EXPECT_EQ(calls[i].operands[1].index, 1);
    EXPECT_TRUE(calls[i].operands[2].elements.empty());
  }
  EXPECT_EQ(calls[3].operands[1].kind, OperandKind::reg);
  EXPECT_EQ(calls[3].operands[2].elements[1].value, 7u);
  EXPECT_EQ(calls[3].operands[3].kind, OperandKind::prototype);
}

TEST(Operands, BranchTablesBecomeLabels) {
  const Function function = body(R"(.reg .b32 i;
A: ret;
table: .branchtargets A, B;
brx.idx i, table;
B: exit;)");
  const Operand& targets = function.instructions[1].operands[1];
  ASSERT_EQ(targets.elements.size(), 2u);
  EXPECT_EQ(function.labels[targets.elements[0].index].target, 0);
  EXPECT_EQ(function.labels[targets.elements[1].index].target, 2);
}

TEST(Operands, TextIsTheInstructionWithBlanksFolded) {
  EXPECT_EQ(last("@%p1 ld.global.v2.b32\t{ %r1 ,\n  %r2 }, // why\n [%rd1 + 8 ] ;").text,
            "ld.global.v2.b32 {%r1, %r2}, [%rd1 + 8]");
}

}  // namespace
}  // namespace plumbline::emulator
