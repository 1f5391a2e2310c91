// SPDX-License-Identifier: MIT
// From a parsed function to a Program: every instruction gets a handler, every operand a slot. What
// the emulator does not know is an error that names file, line and instruction; nothing is skipped.
//
// One Family per opcode: its decode function takes the modifiers it knows, chooses the handler and
// places the operands.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/emulator/decode/emulator_options.h"
#include "harness/emulator/decode/isa.h"
#include "harness/emulator/decode/program.h"
#include "harness/emulator/decode/types.h"
#include "oracles/base/result.h"

namespace plumbline::emulator {

// Where the module's own .global and .const variables lie.
struct ModuleLayout {
  std::vector<std::uint64_t>
      address;  // by index into PtxModule::variables: address in the variable's space
  std::vector<std::byte> constants;  // image of the .const window
};

class Decoder;

// An instruction that the emulator lacks, and why; the reason may be empty.
struct Refusal {
  const Instruction* instruction = nullptr;
  std::string reason;
};

struct Family {
  std::string_view opcode;
  void (*decode)(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out);
};

// The families of each file.
std::span<const Family> arithmetic_families();
std::span<const Family> integer_families();
std::span<const Family> carry_families();
std::span<const Family> move_families();
std::span<const Family> compare_families();
std::span<const Family> float_families();
std::span<const Family> convert_families();
std::span<const Family> memory_families();
std::span<const Family> atomic_families();
std::span<const Family> async_copy_families();
std::span<const Family> tensor_map_families();
std::span<const Family> barrier_families();
std::span<const Family> mbarrier_families();
std::span<const Family> warp_families();
std::span<const Family> matrix_families();
std::span<const Family> wmma_families();
std::span<const Family> warpgroup_families();
std::span<const Family> tensor_core_families();
std::span<const Family> control_families();
std::span<const Family> launch_control_families();
std::span<const Family> system_call_families();

class Decoder {
 public:
  Decoder(const PtxModule& module, const Function& function, const ModuleLayout& layout,
          int device_sm, RandomRounding random_rounding = RandomRounding::off);

  // The first instruction that is refused is the Error; where `refusals` is given, all of them are
  // listed there and left out of the Program, which then cannot run.
  Result<Program> decode(std::vector<Refusal>* refusals = nullptr);

  // --- for families: operands ---
  // Slot with the value of a register, immediate, address of a symbol or special register; `width`
  // is 8 to 64 bits.
  Slot source(const Operand& operand, int width);
  // The same for both halves of packed or matrix registers: any 32-bit container.
  Slot destination(const Operand& operand, int width);
  // The two slots of 64 bits that a register of 128 bits is made of.
  std::array<Slot, 2> halves_of_128(const Operand& operand);
  PredicateUse predicate(const Operand& operand);
  PredicateUse predicate_destination(const Operand& operand);
  // The predicate that stands for CC.CF.
  PredicateUse carry();
  // [base + offset]; coordinates that follow the base are the family's.
  AddressOperand address(const Operand& operand, Space space);
  // The base into a (and kAddress32), the offset into immediate; no coordinates.
  void address(const Operand& operand, Space space, Inst& out);
  // Offset of [parameter + offset] in the parameter block; refuses what lies outside the block.
  std::int64_t parameter_offset(const Operand& operand, int bytes);
  Slot constant(std::uint64_t value, int width);
  // The elements of {a, b, ...}, or the operand itself.
  std::span<const Operand> elements(const Operand& operand) const;
  // Keeps a list of slots for the life of the program.
  const Slot* keep(const std::vector<Slot>& slots);
  // An integer written in the instruction.
  std::int64_t immediate(const Operand& operand);
  // Index in Program::code that a label stands for.
  std::uint32_t target(const Operand& operand);
  int register_bits(const Operand& operand) const;
  // Whether any instruction reads the register.
  bool is_read(const Operand& operand) const;
  std::string function_name(const Operand& operand) const;
  // Where a .local variable of the kernel lies in a lane's local memory.
  Slot local_offset(const Operand& symbol);

  // --- for families: refusals ---
  // The first reason is kept.
  void refuse(std::string reason);
  void require_sm(int sm);
  bool require_operands(const Instruction& instruction, std::size_t least, std::size_t most);

  bool refused() const { return refused_; }

  Program& program() { return program_; }

  int target_sm() const { return module_.target_sm; }

  // The chip that is emulated.
  int device_sm() const { return device_sm_; }

  RandomRounding random_rounding() const { return random_rounding_; }

  bool rounds_randomly() const { return random_rounding_ != RandomRounding::off; }

 private:
  void lay_out_parameters();
  void lay_out_variables();
  void assign_registers();
  Result<void> decode_instruction(const Instruction& instruction);
  Error unsupported(const Instruction& instruction) const;
  std::uint64_t symbol_address(const Operand& operand);
  Space symbol_space(const Operand& operand) const;
  // The address of a variable: a generic one, or one in the variable's own space.
  Slot symbol(const Operand& operand, Space space, int width);
  Slot special(const Operand& operand);
  Slot add_slots(int count);

  const PtxModule& module_;
  const Function& function_;
  const ModuleLayout& layout_;
  int device_sm_;
  RandomRounding random_rounding_;
  Program program_;
  std::vector<bool> is_read_;                    // by register index
  std::vector<Slot> register_slot_;              // by register index; predicates: their index
  std::vector<std::uint64_t> variable_address_;  // by index into Function::variables
  std::map<std::size_t, std::uint64_t>
      module_shared_;  // module-scope .shared variables this kernel names
  std::map<std::pair<std::uint64_t, bool>, Slot> constant_slots_, shared_address_slots_;
  std::map<Special, Slot> special_slots_;
  PredicateUse carry_ = kSinkPredicate;  // until an instruction needs it
  bool refused_ = false;
  std::string reason_;
};

// The family of an opcode, or null.
const Family* family(std::string_view opcode);

}  // namespace plumbline::emulator
