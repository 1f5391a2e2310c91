// SPDX-License-Identifier: MIT
// The tcgen05.ld and tcgen05.st of one warp that it has not waited for. A store moves a register to
// a quarter of a column, as late as it may: at tcgen05.wait::st. A load gives its values at once:
// Triton's PTX uses the registers of a tcgen05.ld ahead of wait::ld. But nothing may write the
// columns before that wait.
#pragma once

#include <vector>

#include "harness/emulator/machine/async_products.h"

namespace plumbline::emulator {

struct Inst;

struct TensorStore {
  int column = 0;
  std::uint32_t rows = 0;  // of the quarter, as a mask
  LaneValues value;        // by row
};

struct TensorLoad {
  const Inst* at = nullptr;
  int column = 0;
  int half = 0;  // of the quarter's rows
};

struct TensorAccesses {
  std::vector<TensorStore> stores;
  std::vector<TensorLoad> loads;

  void clear() {
    stores.clear();
    loads.clear();
  }
};

}  // namespace plumbline::emulator
