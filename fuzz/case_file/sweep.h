// SPDX-License-Identifier: MIT
// `plumbline propagate --sweep FIELD=VALUES`: the same case once for each value of a field.
#pragma once

#include <string>
#include <vector>

#include "fuzz/case/case.h"
#include "kernels/registry.h"

namespace plumbline {

struct Sweep {
  std::string field;                // of the case's text: "keys", "value", "seed"
  std::vector<std::string> values;  // as a case's text has them

  std::string word(const std::string& value) const;  // "keys=64"

  // The text of words with that of the sweep in place of its own, or behind them.
  std::string placed(std::string_view text, const std::string& value) const;
};

// "keys=64..8192" (64, 128, 256 and so on, and 8192), "keys=64,100", "out=bf16,f32". Errors:
// anything else, a value that is given twice, and fewer than two values.
Result<Sweep> parse_sweep(const std::string& text);

struct SweptCase {
  Case test_case;
  std::string word;  // "keys=64"
};

struct SweptCases {
  std::vector<SweptCase> cases;
  std::vector<std::string> refused;  // "keys=65: <why>"
};

// Errors: the kernel accepts none of the values.
Result<SweptCases> swept_cases(const Case& test_case, const Sweep& sweep, const Registry& registry);

}  // namespace plumbline
