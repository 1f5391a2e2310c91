// SPDX-License-Identifier: MIT
// An mma worked out once, for those who run it many times: which path it takes and what that path
// has to know. An emulator decodes an instruction once and executes it millions of times.
#pragma once

#include "oracles/models/mma_fast_plan.h"
#include "oracles/models/mma_workspace.h"

namespace plumbline {

class MmaPlan {
 public:
  explicit MmaPlan(const MmaKind& kind);

  bool is_for(const MmaKind& kind) const;

  const MmaKind& kind() const { return kind_; }

  // As mma_fast() and mma() in mma.h. `same_a`: A is what it was in the last run in this workspace,
  // which was by a plan that unpacks A in the same way. `scales`: of a kind that has them.
  bool run_fast(const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
                LaneRegister* d, MmaWorkspace& workspace, bool same_a = false,
                const MmaScales* scales = nullptr) const;
  void run(const LaneRegister* a, const LaneRegister* b, const LaneRegister* c, LaneRegister* d,
           MmaWorkspace& workspace, bool same_a = false, const MmaScales* scales = nullptr) const;
  // d may be c.
  void run(const LaneRegister* a, const LaneRegister* b, const MmaTile& c, MmaTile& d,
           MmaWorkspace& workspace, bool same_a = false, const MmaScales* scales = nullptr) const;

  bool unpacks_a_as(const MmaPlan& other) const;

 private:
  bool on_vectors(const MmaOperands& of, const MmaScales* scales, MmaWorkspace& workspace,
                  PartOfMma& part) const;

  enum class Path : std::uint8_t { specification, floats, integers, fp4 };

  MmaKind kind_;
  Path path_ = Path::specification;
  FastFloatPlan floats_{};
  FastIntegerPlan integers_{};
  FastFp4Plan fp4_{};
};

}  // namespace plumbline
