// SPDX-License-Identifier: MIT
// A case of a shipped kernel with random inputs, and the oracle its operation makes for it.
#pragma once

#include <bit>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/manifest/manifest.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "tests/folders.h"

namespace plumbline {

inline Manifest shipped_kernel(const std::string& name) {
  Result<Manifest> manifest = read_manifest(std::string(PLUMBLINE_SOURCE_DIR) +
                                            "/kernels/shipped/" + name + "/" + name + ".toml");
  EXPECT_TRUE(manifest.ok()) << manifest.error().text();
  return *std::move(manifest);
}

// Not movable: the oracle refers to the tensors.
struct OperationCase {
  Manifest kernel;
  Problem problem;
  int sm;
  CaseTensors tensors;
  std::unique_ptr<CaseOracle> oracle;

  // `change`: of the inputs, before they are checked.
  OperationCase(const std::string& name, std::string_view fields, int chip,
                const std::vector<int>& group_sizes = {},
                const std::function<void(CaseTensors&)>& change = nullptr)
      : kernel(shipped_kernel(name)), problem(*parse_problem(kernel.schema(), fields)), sm(chip) {
    tensors.specs = *kernel.tensors(problem);
    const Random random(7);
    for (const TensorSpec& spec : tensors.specs) {
      Tensor& tensor = tensors.tensors.emplace_back(spec.layout);
      if (spec.role != TensorRole::input) continue;
      fill(tensor, random.fork(tensors.tensors.size()));
    }
    for (std::size_t g = 0; g < group_sizes.size(); ++g) {
      tensors.find("group_sizes")
          ->set_bits(static_cast<std::int64_t>(g), static_cast<std::uint32_t>(group_sizes[g]));
    }
    if (change) change(tensors);
    EXPECT_TRUE(kernel.operation->check_values(problem, tensors)) << problem.text();
    oracle = kernel.operation->oracle(problem, kernel, sm, tensors);
  }

  OperationCase(const OperationCase&) = delete;
  OperationCase& operator=(const OperationCase&) = delete;

  static void fill(Tensor& tensor, Random random) {
    const Format& f = format(tensor.layout.format);
    for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
      const double sign = random.below(2) == 0 ? 1 : -1;
      tensor.set_bits(
          i, f.is_integer ? random.next() & 0xff : encode(f, sign * (0.25 + 2 * random.unit())));
    }
  }

  const Tensor& tensor(std::string_view name) const { return *tensors.find(name); }

  float value(std::string_view name, std::int64_t index) const {
    return static_cast<float>(
        to_double(format(tensor(name).layout.format), tensor(name).bits(index)));
  }

  // 1 where the problem has no such scale.
  float scale(std::string_view name, std::int64_t index) const {
    return tensors.find(name) == nullptr ? 1.0f : value(name, index);
  }
};

}  // namespace plumbline
