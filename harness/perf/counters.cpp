// SPDX-License-Identifier: MIT
#include "harness/perf/counters.h"

#include <algorithm>
#include <array>
#include <vector>

#include "oracles/base/text.h"

namespace plumbline {
namespace {

using enum Counter;

// clang-format off
constexpr std::array<CounterInfo, kCounters> kTable = {{
    {warp_instructions,       "warp_instructions",       "warp instructions",                   true,  "smsp__inst_executed.sum"},
    {thread_instructions,     "thread_instructions",     "thread instructions",                 false, "smsp__thread_inst_executed_pred_on.sum"},
    {global_requests,         "global_requests",         "requests of global memory",           true,  "l1tex__t_requests_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum"},
    {global_sectors,          "global_sectors",          "sectors of global memory",            true,  "memory_l2_theoretical_sectors_global; l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum"},
    {global_least_sectors,    "global_least_sectors",    "sectors that hold the bytes",         false, "memory_l2_theoretical_sectors_global_ideal"},
    {global_bytes,            "global_bytes",            "bytes of global memory",              false, ""},
    {global_repeated_sectors, "global_repeated_sectors", "sectors used again by one line",      false, ""},
    {local_requests,          "local_requests",          "requests of local memory",            true,  "l1tex__t_requests_pipe_lsu_mem_local_op_{ld,st}.sum"},
    {local_sectors,           "local_sectors",           "sectors of local memory",             true,  "l1tex__t_sectors_pipe_lsu_mem_local_op_{ld,st}.sum"},
    {shared_requests,         "shared_requests",         "requests of shared memory",           true,  "smsp__inst_executed_op_shared.sum"},
    {shared_wavefronts,       "shared_wavefronts",       "wavefronts of shared memory",         true,  "memory_l1_wavefronts_shared"},
    {shared_least_wavefronts, "shared_least_wavefronts", "wavefronts without bank conflicts",   false, "memory_l1_wavefronts_shared_ideal"},
    {split_accesses,          "split_accesses",          "accesses right behind the one before", true, ""},
    {bulk_bytes,              "bulk_bytes",              "bytes of bulk copies",                true,  ""},
    {bulk_fill_bytes,         "bulk_fill_bytes",         "bytes that bulk copies fill",         true,  ""},
    {tensor_macs,             "tensor_macs",             "tensor-core products",                true,  "sm__ops_path_tensor_src_*.sum, which counts two a product"},
    {tensor_memory_bytes,     "tensor_memory_bytes",     "bytes to and from tensor memory",     true,  ""},
    {barriers,                "barriers",                "barriers of whole blocks",            true,  ""},
    {idle_barriers,           "idle_barriers",           "barriers with nothing between",       true,  ""},
    {copy_waits,              "copy_waits",              "waits for cp.async",                  false, ""},
    {exposed_copy_waits,      "exposed_copy_waits",      "waits right behind their copies",     true,  ""},
}};
// clang-format on

static_assert([] {
  for (std::size_t i = 0; i < kTable.size(); ++i)
    if (static_cast<std::size_t>(kTable[i].counter) != i) return false;
  return true;
}());

constexpr std::array<std::string_view, 4> kTensor = {"mma", "wgmma", "wmma", "tcgen05"};
constexpr std::array<std::string_view, 6> kMoves = {"load", "store", "ld",
                                                    "st",   "cp",    "shift"};  // of them
constexpr std::array<std::string_view, 11> kMemory = {
    "ld",       "ldu",       "st",       "atom",     "red",      "cp",
    "prefetch", "tensormap", "ldmatrix", "stmatrix", "movmatrix"};
constexpr std::array<std::string_view, 15> kControl = {
    "bra",    "brx",   "ret",   "exit",      "call",           "bar",  "barrier",   "mbarrier",
    "membar", "fence", "elect", "nanosleep", "griddepcontrol", "trap", "setmaxnreg"};
constexpr std::array<std::string_view, 14> kArithmetic = {"add", "sub",  "mul", "mad", "fma",
                                                          "div", "min",  "max", "neg", "abs",
                                                          "set", "setp", "cvt", "rem"};
constexpr std::array<std::string_view, 9> kFloating = {"rcp", "sqrt", "rsqrt", "ex2",     "lg2",
                                                       "sin", "cos",  "tanh",  "copysign"};
constexpr std::array<std::string_view, 9> kBits = {"and", "or",  "xor",  "not", "shl",
                                                   "shr", "shf", "lop3", "prmt"};

}  // namespace

std::string_view name(InstructionClass kind) {
  constexpr std::array<std::string_view, kInstructionClasses> kNames = {
      "tensor", "memory", "float", "integer", "control", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

InstructionClass class_of(std::string_view instruction) {
  const std::vector<std::string_view> parts = split(instruction, '.');
  const auto has = [&](const auto& words) { return std::ranges::count(words, parts[0]) > 0; };
  const auto is_float = [](std::string_view type) {
    return type == "f32" || type == "f16" || type == "f16x2" || type == "bf16" ||
           type == "bf16x2" || type == "f64" || type == "f32x2";
  };
  if (has(kMemory)) return InstructionClass::memory;
  if (has(kTensor)) {
    const std::string_view verb = parts.size() > 1 ? parts[1] : "";
    if (std::ranges::count(kMoves, verb) > 0) return InstructionClass::memory;
    const bool multiplies = parts[0] != "tcgen05" || verb == "mma";
    return multiplies ? InstructionClass::tensor : InstructionClass::control;
  }
  if (has(kControl)) return InstructionClass::control;
  if (has(kFloating)) return InstructionClass::floating;
  if (has(kArithmetic)) {
    return std::ranges::any_of(parts, is_float) ? InstructionClass::floating
                                                : InstructionClass::integer;
  }
  return has(kBits) ? InstructionClass::integer : InstructionClass::other;
}

std::span<const CounterInfo> counter_table() { return kTable; }

std::optional<Counter> counter_by_key(std::string_view key) {
  const auto* const found = std::ranges::find(kTable, key, &CounterInfo::key);
  if (found == kTable.end()) return std::nullopt;
  return found->counter;
}

}  // namespace plumbline
