// SPDX-License-Identifier: MIT
// The contracts the tests of the bounds run over: every kind of node, chain, promotion and join.
#pragma once

#include <string>
#include <vector>

#include "oracles/bounds/contract/contract.h"

namespace plumbline::testing {

struct NamedContract {
  std::string name;
  Contract contract;
  int sm;
  FormatId a, b;
};

inline Contract tensor_core_contract(Instruction instruction = Instruction::mma_sync) {
  Contract contract;
  contract.instruction = instruction;
  return contract;
}

inline Contract fma_contract() {
  Contract contract;
  contract.unit = Unit::fma_f32;
  return contract;
}

inline Contract promoted(Contract contract, std::int64_t interval) {
  contract.schedule = Schedule::promote;
  contract.interval = interval;
  return contract;
}

inline Contract split(Contract contract, std::int64_t parts, Join join, std::int64_t block = 0) {
  contract.schedule = Schedule::split_k;
  contract.parts = parts;
  contract.interval = block;
  contract.join = join;
  return contract;
}

inline Contract scaled(Contract contract, std::int64_t interval) {
  contract = promoted(contract, interval);
  contract.promotion = Promotion::scaled_fma;
  return contract;
}

inline Contract in_runs(Contract contract, std::int64_t parts = 8) {
  contract.schedule = Schedule::runs;
  contract.parts = parts;
  return contract;
}

inline Contract in_any_order(Contract contract, std::int64_t parts = 0) {
  contract.schedule = Schedule::any;
  contract.parts = parts;
  return contract;
}

// Nodes whose results are f16.
inline Contract in_f16(Contract contract) {
  contract.accumulator = FormatId::f16;
  return contract;
}

inline Contract flushing(Contract contract) {
  contract.subnormals_flushed = true;
  return contract;
}

// Scaled promotions: every interval of k has a factor.
inline std::vector<NamedContract> scaled_contracts() {
  using enum FormatId;
  const Contract mma = tensor_core_contract(), wgmma = tensor_core_contract(Instruction::wgmma);
  return {
      {"ada e4m3 scaled 32", scaled(mma, 32), 89, e4m3, e4m3},
      {"ada e5m2 x e4m3 scaled 64", scaled(mma, 64), 89, e5m2, e4m3},
      {"hopper e4m3 mma.sync scaled 32", scaled(mma, 32), 90, e4m3, e4m3},
      {"hopper e4m3 x e5m2 mma.sync scaled 64", scaled(mma, 64), 90, e4m3, e5m2},
      {"hopper e4m3 wgmma scaled 64", scaled(wgmma, 64), 90, e4m3, e4m3},
      {"bf16 fma scaled 16", scaled(fma_contract(), 16), 80, bf16, bf16},
      {"hopper e4m3 wgmma scaled 64 flushing", flushing(scaled(wgmma, 64)), 90, e4m3, e4m3},
      {"bf16 fma scaled 16 flushing", flushing(scaled(fma_contract(), 16)), 80, bf16, bf16},
  };
}

inline Contract block_scaled(Contract contract) {
  contract.block_scale = true;
  return contract;
}

// Units that take scales of blocks of k.
inline std::vector<NamedContract> block_scaled_contracts() {
  using enum FormatId;
  const Contract mma = block_scaled(tensor_core_contract()),
                 tcgen05 = block_scaled(tensor_core_contract(Instruction::tcgen05));
  Contract by_32 = mma;
  by_32.instruction_k = 32;
  return {
      {"mxfp8", mma, 120, e4m3, e4m3},
      {"mxfp8 e5m2 x e4m3 tcgen05", tcgen05, 100, e5m2, e4m3},
      {"mx e4m3 x e2m1", mma, 120, e4m3, e2m1},
      {"mx e2m1 by 32", by_32, 120, e2m1, e2m1},
      {"fp4", mma, 120, e2m1, e2m1},
      {"fp4 tcgen05", tcgen05, 103, e2m1, e2m1},
      {"fp4 promoted 128", promoted(mma, 128), 120, e2m1, e2m1},
      {"mxfp8 split 3 ordered", split(mma, 3, Join::f32_ordered, 32), 120, e4m3, e5m2},
      {"fp4 split 2 any order", split(mma, 2, Join::f32_any_order, 64), 120, e2m1, e2m1},
      {"fp4 runs", in_runs(mma), 120, e2m1, e2m1},
      {"mxfp8 runs", in_runs(mma), 120, e4m3, e4m3},
      {"fp4 any schedule", in_any_order(mma), 120, e2m1, e2m1},
  };
}

inline std::vector<NamedContract> bound_contracts() {
  using enum FormatId;
  const Contract mma = tensor_core_contract(), wgmma = tensor_core_contract(Instruction::wgmma);
  return {
      {"volta f16", mma, 70, f16, f16},
      {"ampere bf16", mma, 80, bf16, bf16},
      {"ampere tf32", mma, 80, tf32, tf32},
      {"ada e4m3", mma, 89, e4m3, e4m3},
      {"hopper bf16", mma, 90, bf16, bf16},
      {"hopper f16", mma, 90, f16, f16},
      {"hopper e4m3 mma.sync", mma, 90, e4m3, e4m3},
      {"hopper e5m2 mma.sync", mma, 90, e5m2, e5m2},
      {"hopper e4m3 wgmma", wgmma, 90, e4m3, e4m3},
      {"hopper e4m3 x e5m2 wgmma promoted", promoted(wgmma, 64), 90, e4m3, e5m2},
      {"hopper bf16 promoted", promoted(mma, 48), 90, bf16, bf16},
      {"bf16 fma", fma_contract(), 80, bf16, bf16},
      {"f32 fma", fma_contract(), 80, f32, f32},
      {"f32 fma promoted", promoted(fma_contract(), 16), 80, f32, f32},
      {"ampere bf16 split 3 ordered", split(mma, 3, Join::f32_ordered, 16), 80, bf16, bf16},
      {"hopper bf16 split 4 any order", split(mma, 4, Join::f32_any_order, 16), 90, bf16, bf16},
      {"ampere bf16 split 4 atomic", split(mma, 4, Join::f32_atomic, 16), 80, bf16, bf16},
      {"hopper e4m3 one part atomic", split(mma, 1, Join::f32_atomic, 32), 90, e4m3, e4m3},
      {"hopper bf16 split 4 bf16", split(mma, 4, Join::bf16), 90, bf16, bf16},
      {"ada e5m2 x e4m3 promoted", promoted(mma, 32), 89, e5m2, e4m3},
      {"hopper e5m2 mma.sync promoted", promoted(mma, 64), 90, e5m2, e5m2},
      {"ada e4m3 split 3 ordered", split(mma, 3, Join::f32_ordered, 32), 89, e4m3, e4m3},
      {"hopper e4m3 x e5m2 split 4 any order", split(mma, 4, Join::f32_any_order, 32), 90, e4m3,
       e5m2},
      {"ada e5m2 split 4 bf16", split(mma, 4, Join::bf16, 32), 89, e5m2, e5m2},
      {"bf16 fma split 5 any order", split(fma_contract(), 5, Join::f32_any_order), 80, bf16, bf16},
      {"hopper bf16 any schedule", in_any_order(mma), 90, bf16, bf16},
      {"ada e4m3 any schedule of 4 parts", in_any_order(mma, 4), 89, e4m3, e4m3},
      {"hopper e4m3 x e5m2 any schedule", in_any_order(mma), 90, e4m3, e5m2},
      {"f32 fma any schedule", in_any_order(fma_contract()), 80, f32, f32},
      {"hopper bf16 promoted flushing", flushing(promoted(mma, 48)), 90, bf16, bf16},
      {"bf16 fma flushing", flushing(fma_contract()), 80, bf16, bf16},
      {"f32 fma promoted flushing", flushing(promoted(fma_contract(), 16)), 80, f32, f32},
      {"ampere bf16 split 3 ordered flushing", flushing(split(mma, 3, Join::f32_ordered, 16)), 80,
       bf16, bf16},
      {"hopper bf16 split 4 any order flushing", flushing(split(mma, 4, Join::f32_any_order, 16)),
       90, bf16, bf16},
      {"hopper bf16 split 4 bf16 flushing", flushing(split(mma, 4, Join::bf16)), 90, bf16, bf16},
      {"hopper bf16 runs", in_runs(mma), 90, bf16, bf16},
      {"ada e4m3 runs", in_runs(mma), 89, e4m3, e4m3},
      {"hopper e4m3 x e5m2 runs", in_runs(mma), 90, e4m3, e5m2},
      {"f32 fma runs flushing", flushing(in_runs(fma_contract())), 80, f32, f32},
      {"hopper bf16 any schedule flushing", flushing(in_any_order(mma)), 90, bf16, bf16},
      {"f32 fma any schedule flushing", flushing(in_any_order(fma_contract())), 80, f32, f32},
      {"ampere f16 in f16", in_f16(mma), 80, f16, f16},
      {"ada e4m3 in f16", in_f16(mma), 89, e4m3, e4m3},
      {"hopper f16 wgmma in f16", in_f16(wgmma), 90, f16, f16},
      {"hopper e5m2 mma.sync in f16", in_f16(mma), 90, e5m2, e5m2},
      {"ampere f16 in f16 promoted 32", promoted(in_f16(mma), 32), 80, f16, f16},
      {"ampere f16 in f16 split 3 ordered", split(in_f16(mma), 3, Join::f32_ordered), 80, f16, f16},
  };
}

}  // namespace plumbline::testing
