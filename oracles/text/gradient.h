// SPDX-License-Identifier: MIT
// The gradient of an operation as an operation: reverse-mode differentiation, from text to text.
#pragma once

#include <string>
#include <vector>

#include "oracles/text/syntax.h"

namespace plumbline::text {

// operation rmsnorm_backward = gradient of rmsnorm wrt x, gamma saving rstd
struct GradientStatement {
  struct Name {
    std::string text;
    Place place;
  };

  Name name, of;
  std::vector<Name> wrt, saved;
};

// The text, as an engineer would write it: inputs are the gradients dy of the operation's outputs,
// what it reads of the operation's inputs, and what was saved; outputs are the gradients dx of
// `wrt`. All else that it needs is computed again. Errors name the line of `forward` or of the
// statement, both of which are in the file `path`.
Result<std::string> gradient_text(const GradientStatement& statement, const OperationText& forward,
                                  const std::string& path);

}  // namespace plumbline::text
