// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

#include "harness/emulator/decode/control.h"
#include "harness/emulator/decode/liveness.h"
#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

using FamilyTable = std::unordered_map<std::string_view, const Family*>;

const FamilyTable& families() {
  static const FamilyTable table = [] {
    FamilyTable out;
    for (const auto& group :
         {arithmetic_families(), integer_families(),        carry_families(),
          move_families(),       compare_families(),        float_families(),
          convert_families(),    memory_families(),         atomic_families(),
          async_copy_families(), tensor_map_families(),     barrier_families(),
          mbarrier_families(),   warp_families(),           matrix_families(),
          wmma_families(),       warpgroup_families(),      tensor_core_families(),
          control_families(),    launch_control_families(), system_call_families()}) {
      for (const Family& one : group) out.emplace(one.opcode, &one);
    }
    return out;
  }();
  return table;
}

// The most local memory a thread may have (CUDA C++ Programming Guide 13.0, table of technical
// specifications).
constexpr std::int64_t kMostLocalBytes = 512 * 1024;

std::int64_t align_up(std::int64_t value, std::int64_t alignment) {
  const std::int64_t a = std::max<std::int64_t>(alignment, 1);
  return (value + a - 1) / a * a;
}

constexpr std::pair<std::string_view, Special> kSpecials[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%tid.w", Special::zero},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ntid.w", Special::one},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%ctaid.w", Special::zero},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%nctaid.w", Special::one},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%smid", Special::zero},
    {"%nsmid", Special::one},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    // What cooperative groups take for the address of their grid's memory: 0 where a launch is not
    // cooperative, and none is here.
    {"%envreg1", Special::zero},
    {"%envreg2", Special::zero},
};

// Every symbol of a table that an operand names, also inside addresses and vectors.
template <typename Visit>
void visit_symbols(const Operand& operand, const Visit& visit) {
  if (operand.kind == OperandKind::symbol) visit(operand);
  for (const Operand& element : operand.elements) visit_symbols(element, visit);
}

std::uint64_t low_bits(std::uint64_t value, int width) {
  return width >= 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

const Family* family(std::string_view opcode) {
  const auto found = families().find(opcode);
  return found == families().end() ? nullptr : found->second;
}

Decoder::Decoder(const PtxModule& module, const Function& function, const ModuleLayout& layout,
                 int device_sm, RandomRounding random_rounding)
    : module_(module),
      function_(function),
      layout_(layout),
      device_sm_(device_sm),
      random_rounding_(random_rounding) {}

Result<Program> Decoder::decode(std::vector<Refusal>* refusals) {
  program_.kernel = function_.name;
  program_.file = module_.file;
  program_.source_files = module_.files;
  program_.static_shared_bytes = 0;
  for (std::size_t i = 0; i < 3; ++i) program_.max_threads[i] = function_.max_threads[i];
  program_.exact_threads = function_.exact_threads;
  std::ranges::copy(function_.cluster, program_.cluster.blocks.begin());
  program_.cluster.required = function_.explicit_cluster;
  lay_out_parameters();
  lay_out_variables();
  if (program_.local_bytes > kMostLocalBytes + static_cast<std::int64_t>(kLocalStart)) {
    return Error{
        ErrorKind::cannot_run,
        fmt::format("kernel {} needs {} bytes of local memory for each thread; {} are the most",
                    function_.name, program_.local_bytes - static_cast<std::int64_t>(kLocalStart),
                    kMostLocalBytes),
        fmt::format("{}:{}:1", module_.file, function_.line), ""};
  }
  assign_registers();
  program_.code.reserve(function_.instructions.size() + 1);
  for (const Instruction& instruction : function_.instructions) {
    const Status status = decode_instruction(instruction);
    if (status) continue;
    if (refusals == nullptr) return status.error();
    refusals->push_back({&instruction, reason_});
  }
  Inst end;
  end.execute = exit_lanes;
  end.index = static_cast<std::uint32_t>(program_.code.size());
  program_.code.push_back(end);
  program_.origin.push_back(nullptr);
  return std::move(program_);
}

void Decoder::lay_out_parameters() {
  std::int64_t offset = 0;
  for (const Variable& parameter : function_.parameters) {
    offset = align_up(offset, parameter.alignment);
    program_.parameters.push_back({parameter.name, offset, parameter.bytes});
    offset += parameter.bytes;
  }
  program_.parameter_bytes = offset;
}

// Shared memory holds only what this kernel names: static variables in order of first use, then
// dynamic memory.
void Decoder::lay_out_variables() {
  variable_address_.assign(function_.variables.size(), 0);
  std::int64_t local = kLocalStart;
  for (std::size_t i = 0; i < function_.variables.size(); ++i) {
    const Variable& variable = function_.variables[i];
    if (variable.space != Space::local) continue;
    local = align_up(local, variable.alignment);
    variable_address_[i] = static_cast<std::uint64_t>(local);
    local += variable.bytes;
  }
  program_.local_bytes = local > static_cast<std::int64_t>(kLocalStart) ? align_up(local, 16) : 0;

  std::int64_t end = kSharedStart;
  std::vector<std::uint64_t*> dynamic;
  const auto place = [&](const Operand& symbol) {
    const bool of_module = symbol.table == SymbolTable::module;
    if (!of_module && symbol.table != SymbolTable::variables) return;
    const auto index = static_cast<std::size_t>(symbol.index);
    const Variable& variable = of_module ? module_.variables[index] : function_.variables[index];
    if (variable.space != Space::shared) return;
    std::uint64_t& address = of_module ? module_shared_[index] : variable_address_[index];
    if (address != 0) return;
    if (variable.is_extern) {
      program_.dynamic_shared_alignment =
          std::max(program_.dynamic_shared_alignment, variable.alignment);
      dynamic.push_back(&address);
      address = 1;  // settled below
      return;
    }
    end = align_up(end, variable.alignment);
    address = static_cast<std::uint64_t>(end);
    end += variable.bytes;
  };
  for (const Instruction& instruction : function_.instructions) {
    for (const Operand& operand : instruction.operands) visit_symbols(operand, place);
  }
  program_.static_shared_bytes = end - static_cast<std::int64_t>(kSharedStart);
  for (std::uint64_t* address : dynamic)
    *address = static_cast<std::uint64_t>(program_.dynamic_shared_offset());
}

bool Decoder::is_read(const Operand& operand) const {
  return operand.kind == OperandKind::reg && is_read_[static_cast<std::size_t>(operand.index)];
}

void Decoder::assign_registers() {
  const SlotMap map = assign_slots(function_);
  register_slot_.assign(function_.registers.size(), kSinkSlot);
  for (std::size_t i = 0; i < function_.registers.size(); ++i) {
    if (map.predicate_slot[i] >= 0)
      register_slot_[i] = kFirstPredicate + static_cast<Slot>(map.predicate_slot[i]);
    if (map.slot[i] >= 0) register_slot_[i] = kFirstRegisterSlot + static_cast<Slot>(map.slot[i]);
  }
  for (const UnwrittenRegister& one : unwritten_registers(function_)) {
    program_.unwritten_registers.push_back(
        {function_.registers[static_cast<std::size_t>(one.index)].name,
         static_cast<std::uint32_t>(one.first_read)});
  }
  is_read_.assign(function_.registers.size(), false);
  for (const Instruction& instruction : function_.instructions) {
    for_each_register(instruction, default_role, [&](int index, OperandRole role) {
      if (role != OperandRole::write) is_read_[static_cast<std::size_t>(index)] = true;
    });
  }
  program_.predicates += map.predicates;
  program_.register_slots = static_cast<Slot>(map.words);
  program_.slots += program_.register_slots;
}

Slot Decoder::add_slots(int count) {
  const Slot slot = program_.slots;
  program_.slots += static_cast<Slot>(count);
  return slot;
}

Result<void> Decoder::decode_instruction(const Instruction& instruction) {
  refused_ = false;
  reason_.clear();
  Inst inst;
  inst.index = static_cast<std::uint32_t>(program_.code.size());
  if (instruction.guard >= 0) {
    inst.guard =
        static_cast<PredicateUse>(register_slot_[static_cast<std::size_t>(instruction.guard)] |
                                  (instruction.guard_negated ? kNegated : 0));
  }
  const Family* known = family(instruction.opcode);
  if (known == nullptr) return unsupported(instruction);
  const auto is_sparse = [](std::string_view modifier) {
    return modifier == "sp" || modifier.starts_with("sp::");
  };
  if (std::ranges::any_of(instruction.modifiers, is_sparse)) {
    refuse("sparse products are not emulated");
    return unsupported(instruction);
  }
  Modifiers modifiers(instruction);
  known->decode(*this, instruction, modifiers, inst);
  if (refused_) return unsupported(instruction);
  if (!modifiers.empty()) {
    refuse(fmt::format("modifier .{} is not known here", modifiers.left().front()));
    return unsupported(instruction);
  }
  if (inst.execute == nullptr) return unsupported(instruction);
  program_.code.push_back(inst);
  program_.origin.push_back(&instruction);
  return {};
}

Error Decoder::unsupported(const Instruction& instruction) const {
  std::string message = fmt::format("unsupported instruction `{}`", instruction.text);
  if (!reason_.empty()) message += ": " + reason_;
  return Error{ErrorKind::cannot_run, message,
               fmt::format("{}:{}:{}", module_.file, instruction.line, instruction.column), ""};
}

void Decoder::refuse(std::string reason) {
  if (refused_) return;
  refused_ = true;
  reason_ = std::move(reason);
}

void Decoder::require_sm(int sm) {
  if (module_.target_sm < sm) {
    refuse(fmt::format("it needs .target sm_{} or higher, the module says .target {}", sm,
                       module_.target_text));
  }
}

bool Decoder::require_operands(const Instruction& instruction, std::size_t least,
                               std::size_t most) {
  const std::size_t count = instruction.operands.size();
  if (count >= least && count <= most) return true;
  refuse(least == most ? fmt::format("it has {} operands, not {}", count, least)
                       : fmt::format("it has {} operands, not {} to {}", count, least, most));
  return false;
}

Slot Decoder::constant(std::uint64_t value, int width) {
  const bool wide = width > 32;
  const std::uint64_t kept = low_bits(value, std::max(width, 32));
  const auto [entry, is_new] = constant_slots_.try_emplace({kept, wide}, 0);
  if (is_new) {
    entry->second = add_slots(wide ? 2 : 1);
    program_.constants.push_back({entry->second, wide, kept});
  }
  return entry->second;
}

Slot Decoder::symbol(const Operand& operand, Space space, int width) {
  const Space own = symbol_space(operand);
  const std::uint64_t address =
      symbol_address(operand) + (space == Space::generic ? window_of(own) : 0);
  if (own != Space::shared || target_sm() < 90) return constant(address, width);
  const bool wide = width > 32;
  const auto [entry, is_new] = shared_address_slots_.try_emplace({address, wide}, 0);
  if (is_new) {
    entry->second = add_slots(wide ? 2 : 1);
    program_.shared_addresses.push_back({entry->second, wide, address});
  }
  return entry->second;
}

Slot Decoder::special(const Operand& operand) {
  const auto* found = std::find_if(std::begin(kSpecials), std::end(kSpecials),
                                   [&](const auto& entry) { return entry.first == operand.name; });
  if (found == std::end(kSpecials)) {
    refuse(operand.name.starts_with("%envreg")
               ? fmt::format("the value of {} is the driver's own, and documented nowhere",
                             operand.name)
               : fmt::format("special register {} is not emulated", operand.name));
    return kSinkSlot;
  }
  const auto [entry, is_new] = special_slots_.try_emplace(found->second, 0);
  if (is_new) {
    entry->second = add_slots(1);
    program_.specials.push_back({entry->second, found->second});
  }
  return entry->second;
}

std::uint64_t Decoder::symbol_address(const Operand& operand) {
  const auto index = static_cast<std::size_t>(operand.index);
  const auto offset = static_cast<std::uint64_t>(operand.offset);
  switch (operand.table) {
    case SymbolTable::parameters:
      return static_cast<std::uint64_t>(program_.parameters[index].offset) + offset;
    case SymbolTable::variables: {
      const Space space = function_.variables[index].space;
      if (space != Space::shared && space != Space::local) {
        refuse(fmt::format("{} is a .param variable of a call, and calls are not emulated",
                           operand.name));
      }
      return variable_address_[index] + offset;
    }
    case SymbolTable::module: {
      const auto shared = module_shared_.find(index);
      if (shared != module_shared_.end()) return shared->second + offset;
      const Variable& variable = module_.variables[index];
      if (variable.is_extern && variable.space != Space::shared) {
        refuse(fmt::format("{} is declared .extern and defined nowhere", operand.name));
      }
      return layout_.address[index] + offset;
    }
    case SymbolTable::results:
      break;
  }
  refuse(fmt::format("{} is not a variable of a kernel", operand.name));
  return 0;
}

Space Decoder::symbol_space(const Operand& operand) const {
  const auto index = static_cast<std::size_t>(operand.index);
  switch (operand.table) {
    case SymbolTable::variables:
      return function_.variables[index].space;
    case SymbolTable::module:
      return module_.variables[index].space;
    default:
      return Space::param;
  }
}

Slot Decoder::source(const Operand& operand, int width) {
  switch (operand.kind) {
    case OperandKind::reg: {
      const Register& reg = function_.registers[static_cast<std::size_t>(operand.index)];
      const bool fits = !reg.is_predicate() &&
                        (width > 32 ? reg.bits == width : reg.bits >= width && reg.bits <= 32);
      if (!fits)
        refuse(fmt::format("register {} has {} bits, the instruction needs {}", reg.name, reg.bits,
                           width));
      return register_slot_[static_cast<std::size_t>(operand.index)];
    }
    case OperandKind::immediate: {
      std::uint64_t value = operand.value;
      if (operand.is_float && operand.float_bits == 64 && width == 32) {
        value = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
      } else if (operand.is_float && operand.float_bits == 32 && width == 64) {
        value = std::bit_cast<std::uint64_t>(
            static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value))));
      }
      return constant(low_bits(value, width), width);
    }
    case OperandKind::symbol:
      return symbol(operand, Space::global, width);
    case OperandKind::special: {
      if (width > 32)
        refuse(fmt::format("{} has 32 bits, the instruction needs {}", operand.name, width));
      return special(operand);
    }
    default:
      refuse("an operand has to be a register or a number");
      return kSinkSlot;
  }
}

Slot Decoder::destination(const Operand& operand, int width) {
  if (operand.kind == OperandKind::sink) return kSinkSlot;
  if (operand.kind != OperandKind::reg) {
    refuse("the destination has to be a register");
    return kSinkSlot;
  }
  return source(operand, width);
}

std::array<Slot, 2> Decoder::halves_of_128(const Operand& operand) {
  if (operand.kind == OperandKind::sink) return {kSinkSlot, kSinkSlot};
  if (operand.kind != OperandKind::reg) {
    refuse("an operand of 128 bits has to be a register");
    return {kSinkSlot, kSinkSlot};
  }
  const Slot slot = source(operand, 128);
  return {slot, slot + 2};
}

PredicateUse Decoder::predicate(const Operand& operand) {
  if (operand.kind == OperandKind::immediate) {
    return static_cast<PredicateUse>(operand.value != 0 ? kAlways : kAlways | kNegated);
  }
  if (operand.kind != OperandKind::reg || register_bits(operand) != 1) {
    refuse("an operand has to be a predicate");
    return kAlways;
  }
  return static_cast<PredicateUse>(register_slot_[static_cast<std::size_t>(operand.index)] |
                                   (operand.negated ? kNegated : 0));
}

PredicateUse Decoder::predicate_destination(const Operand& operand) {
  if (operand.kind == OperandKind::sink) return kSinkPredicate;
  if (operand.kind != OperandKind::reg) {
    refuse("the destination has to be a predicate");
    return kSinkPredicate;
  }
  return predicate(operand);
}

PredicateUse Decoder::carry() {
  if (carry_ == kSinkPredicate) carry_ = static_cast<PredicateUse>(program_.predicates++);
  return carry_;
}

AddressOperand Decoder::address(const Operand& operand, Space space) {
  AddressOperand out;
  if (operand.kind != OperandKind::address) {
    refuse("an address [base + offset] is missing");
    return out;
  }
  out.offset = operand.offset;
  if (operand.elements.empty()) {
    out.base = constant(0, 64);
    return out;
  }
  const Operand& base = operand.elements[0];
  if (base.kind == OperandKind::symbol) {
    out.base = symbol(base, space, 64);
    return out;
  }
  out.wide = register_bits(base) != 32;
  out.base = source(base, out.wide ? 64 : 32);
  return out;
}

void Decoder::address(const Operand& operand, Space space, Inst& out) {
  if (operand.elements.size() > 1) return refuse("an address [base + offset] is missing");
  const AddressOperand where = address(operand, space);
  if (!where.wide) out.flags |= kAddress32;
  out.a = where.base;
  out.immediate = where.offset;
}

std::int64_t Decoder::parameter_offset(const Operand& operand, int bytes) {
  const Operand& base = operand.elements[0];
  const std::int64_t offset = static_cast<std::int64_t>(symbol_address(base)) + operand.offset;
  if (base.table != SymbolTable::parameters || offset < 0 ||
      offset + bytes > program_.parameter_bytes) {
    refuse("it reads outside the kernel's parameters");
  }
  return offset;
}

std::span<const Operand> Decoder::elements(const Operand& operand) const {
  if (operand.kind == OperandKind::vector) return operand.elements;
  return {&operand, 1};
}

const Slot* Decoder::keep(const std::vector<Slot>& slots) {
  auto list = std::make_unique<Slot[]>(slots.size());
  std::copy(slots.begin(), slots.end(), list.get());
  program_.lists.push_back(std::move(list));
  return program_.lists.back().get();
}

std::int64_t Decoder::immediate(const Operand& operand) {
  if (operand.kind != OperandKind::immediate || operand.is_float) {
    refuse("an operand has to be an integer written in the instruction");
    return 0;
  }
  return static_cast<std::int64_t>(operand.value);
}

std::uint32_t Decoder::target(const Operand& operand) {
  if (operand.kind != OperandKind::label) {
    refuse("the branch target has to be a label");
    return 0;
  }
  return static_cast<std::uint32_t>(
      function_.labels[static_cast<std::size_t>(operand.index)].target);
}

std::string Decoder::function_name(const Operand& operand) const {
  if (operand.kind != OperandKind::function) return "a function pointer";
  return module_.functions[static_cast<std::size_t>(operand.index)].name;
}

Slot Decoder::local_offset(const Operand& symbol) {
  const bool local = symbol.kind == OperandKind::symbol && symbol_space(symbol) == Space::local;
  if (!local) refuse("an argument of the call is not a .param variable");
  return local ? static_cast<Slot>(symbol_address(symbol)) : 0;
}

int Decoder::register_bits(const Operand& operand) const {
  if (operand.kind != OperandKind::reg) return 0;
  return function_.registers[static_cast<std::size_t>(operand.index)].bits;
}

}  // namespace plumbline::emulator
