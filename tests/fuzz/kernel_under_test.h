// SPDX-License-Identifier: MIT
// The shipped GEMM's manifest, and small helpers, for the tests of the fuzz room.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "fuzz/case/case.h"
#include "fuzz/case_file/corpus.h"
#include "kernels/registry.h"
#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "tests/folders.h"

namespace plumbline {

inline const Registry& shipped_registry() {
  static const Registry registry = [] {
    Result<Registry> opened = Registry::open(PLUMBLINE_SOURCE_DIR "/kernels");
    if (!opened) ADD_FAILURE() << opened.error().text();
    PLUMB_ASSERT(opened.ok());
    return std::move(*opened);
  }();
  return registry;
}

inline const Manifest& gemm_kernel() {
  const Manifest* kernel = shipped_registry().find("gemm_bf16");
  PLUMB_ASSERT(kernel != nullptr);
  return *kernel;
}

inline Case case_of(const std::string& line) {
  Result<Case> parsed = parse_case_line("gemm_bf16 " + line, shipped_registry());
  if (!parsed) ADD_FAILURE() << parsed.error().text();
  PLUMB_ASSERT(parsed.ok());
  return std::move(*parsed);
}

inline CaseTensors tensors_of(const Case& test_case) {
  Result<CaseTensors> tensors = materialize(test_case);
  if (!tensors) ADD_FAILURE() << tensors.error().text();
  PLUMB_ASSERT(tensors.ok());
  return std::move(*tensors);
}

// Values of a batched matrix or of a bias, by logical position.
inline double value_at(const Tensor& tensor, std::int64_t batch, std::int64_t row,
                       std::int64_t column) {
  const auto& shape = tensor.layout.shape;
  return to_double(format(tensor.layout.format),
                   tensor.bits((batch * shape[1] + row) * shape[2] + column));
}

// For RapidCheck's reports.
inline void showValue(const Case& test_case, std::ostream& out) { out << test_case.text(); }

}  // namespace plumbline
