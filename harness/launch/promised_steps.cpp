// SPDX-License-Identifier: MIT
#include "harness/launch/promised_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "harness/launch/manifest_place.h"
#include "harness/launch/named_entries.h"

namespace plumbline {
namespace {

// A word of a contract whose step is rounded once, and the instructions that are and are not.
struct Step {
  std::string_view term, word;
  std::array<std::string_view, 2> rounded;  // "" matches nothing
  std::array<std::string_view, 3> approximate;
};

constexpr std::array<std::string_view, 2> kDivides{"div.r", ""}, kInverts{"rcp.r", "div.r"},
    kTakesRoots{"sqrt.r", ""};
constexpr std::array<std::string_view, 3> kQuotients{"div.approx", "div.full", ""},
    kReciprocals{"div.approx", "div.full", "rcp.approx"}, kRoots{"rsqrt.approx", "sqrt.approx", ""},
    kSquareRoots{"sqrt.approx", "", ""};

constexpr Step kSteps[] = {
    {"rule", "x / scale", kDivides, kQuotients},
    {"rule", "x * (1 / scale)", kInverts, kReciprocals},
    {"rule", "x * (limit / amax)", kDivides, kQuotients},
    {"normalize", "quotient", kDivides, kReciprocals},
    {"normalize", "reciprocal", kInverts, kReciprocals},
    {"mean", "quotient", kDivides, kQuotients},
    {"root", "1 / sqrt", kTakesRoots, kRoots},
    {"silu", "g / (1 + e)", kDivides, kReciprocals},
    {"silu", "g * (1 / (1 + e))", kInverts, kReciprocals},
    // CUDA's library itself takes ex2.approx, rcp.approx and rsqrt.approx.
    {"functions", "precise", kDivides, kQuotients},
    {"functions", "precise", kTakesRoots, kSquareRoots},
};

bool is_one_of(const emulator::Instruction& instruction, std::span<const std::string_view> forms) {
  return std::ranges::any_of(forms, [&](std::string_view form) {
    return !form.empty() && instruction.text.starts_with(form);
  });
}

// The line of the first of these instructions that the kernel can reach; 0: there is none.
int line_of(const emulator::PtxModule& ptx, std::span<const std::string_view> forms) {
  int line = 0;
  for_each_instruction(ptx, [&](const emulator::Instruction& instruction) {
    if (is_one_of(instruction, forms) && (line == 0 || instruction.line < line)) {
      line = instruction.line;
    }
  });
  return line;
}

}  // namespace

Status check_promised_steps(const Manifest& kernel, std::string_view ptx, std::string_view file) {
  std::optional<emulator::PtxModule> module;
  for (const Field& term : kernel.operation->terms()) {
    for (const Step& step : kSteps) {
      if (term.name != step.term || kernel.terms.word(step.term) != step.word) continue;
      if (!module) {
        Result<emulator::PtxModule> parsed = parse_named_entries(kernel, ptx, file);
        if (!parsed) return {};  // for those to tell who load it
        module = *std::move(parsed);
      }
      const int approximate = line_of(*module, step.approximate);
      if (approximate == 0 || line_of(*module, step.rounded) != 0) continue;
      return Error{
          ErrorKind::cannot_run,
          fmt::format("the contract of {} says {} = \"{}\", each operation correctly rounded, but "
                      "{}:{} is approximate and the PTX has no rounded form of it",
                      kernel.name, step.term, step.word, file, approximate),
          place_in_manifest(kernel, step.term),
          "correct the contract's word, or compile without fast math (__fdiv_rn, __frcp_rn)"};
    }
  }
  return {};
}

}  // namespace plumbline
