// SPDX-License-Identifier: MIT
// The words a manifest uses for the parts of a contract. Each table goes both ways, and lists its
// words for "did you mean". Reading a manifest is kernels/manifest/manifest; meaning is contract.h.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "oracles/bounds/contract/contract.h"

namespace plumbline {

// A unit word names the instruction too: "mma.sync", "wgmma", "tcgen05", "mma.sync.block_scale",
// "tcgen05.block_scale", "fma.f32", "int32".
struct ContractUnit {
  Unit unit;
  Instruction instruction;  // mma_sync where the unit is no tensor core
  bool block_scale = false;

  bool operator==(const ContractUnit&) const = default;
};

std::optional<ContractUnit> contract_unit(std::string_view word);
ContractUnit unit_of(const Contract& contract);
std::optional<Schedule> schedule(
    std::string_view word);  // "sequential", "promote", "split_k", "runs", "any"
std::optional<Join> join(
    std::string_view word);  // "f32 ordered", "f32 any order", "f32 atomic", "bf16"
std::optional<Promotion> promotion(std::string_view word);  // "add", "scaled fma"
// "scale_a", "scale_b", "scale_ab", "alpha", "beta_c", "beta_c fma", "alpha beta_c fma", "bias",
// "bias fma", "relu", "gelu erff", ..., "silu tanh.approx", "scale_d", "zero_d"
std::optional<EpilogueStep> epilogue_step(std::string_view word);
std::optional<Activation> activation(
    std::string_view word);  // "none", "relu", "gelu", "gelu_tanh", "silu"
std::optional<Rounding> rounding(
    std::string_view word);  // "nearest even", "nearest away", "toward zero", "up", ...
std::optional<Overflow> overflow(std::string_view word);  // "special", "saturate"

std::string_view word_of(ContractUnit unit);
std::string_view word_of(Schedule value);
std::string_view word_of(Join value);
std::string_view word_of(Promotion value);
std::string_view word_of(EpilogueStep value);
std::string_view word_of(Activation value);
std::string_view word_of(Rounding value);
std::string_view word_of(Overflow value);

std::span<const std::string_view> unit_words();
std::span<const std::string_view> schedule_words();
std::span<const std::string_view> join_words();
std::span<const std::string_view> promotion_words();
std::span<const std::string_view> epilogue_words();
std::span<const std::string_view> rounding_words();
std::span<const std::string_view> overflow_words();

}  // namespace plumbline
