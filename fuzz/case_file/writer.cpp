// SPDX-License-Identifier: MIT
// The text of a .case file. Bits in hexadecimal are what counts; decimals after '#' are for
// readers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/case/literal.h"
#include "fuzz/case_file/corpus.h"
#include "fuzz/case_file/notes.h"
#include "oracles/formats/decode.h"

namespace plumbline {

namespace {

constexpr std::int64_t kElementsPerLine = 8;

// The shortest decimal that names the value; every format but f64 is exact in f32.
std::string decimal(const Format& element, std::uint64_t bits) {
  const double value = to_double(element, bits);
  if (element.id == FormatId::f64 || element.is_integer) return fmt::format("{}", value);
  return fmt::format("{}", static_cast<float>(value));
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return line;
}

void append_tensor(std::string& text, const std::string& name, const Tensor& tensor) {
  const Format& element = format(tensor.layout.format);
  const int digits = element.storage_bits / 4;
  const std::int64_t count = tensor.layout.count();
  text += fmt::format("{}{} {}\n", is_case_word(name) ? "tensor " : "", name, tensor.layout.text());
  const std::int64_t row = tensor.layout.shape.empty() ? 1 : tensor.layout.shape.back();
  for (std::int64_t start = 0; start < count;) {
    // A line never runs over the end of a matrix row.
    const std::int64_t end = std::min(start + kElementsPerLine, start - start % row + row);
    std::string hex, decimals;
    for (std::int64_t i = start; i < end; ++i) {
      const std::uint64_t bits = tensor.bits_at(i);
      hex += fmt::format(" {:0{}x}", bits, digits);
      decimals += fmt::format(" {}", decimal(element, bits));
    }
    text += fmt::format(" {:<{}}  #{}\n", hex, (digits + 1) * std::min(row, kElementsPerLine),
                        decimals);
    start = end;
  }
}

}  // namespace

std::string write_case(const CaseFile& file) {
  const Case& test_case = file.test_case;
  std::string text =
      "# plumbline case 1: keep this file and commit it; verify replays it before anything else\n";
  for (const std::string& comment : file.comments) text += fmt::format("# {}\n", one_line(comment));
  const std::string problem = test_case.problem.text();
  text += fmt::format("case {}{}{}\n", test_case.kernel->name, problem.empty() ? "" : " ", problem);
  if (test_case.recipe.value_class != kLiteralValues) {
    text += fmt::format("value class={} seed={:#x}\n", test_case.recipe.value_class,
                        test_case.recipe.seed);
  }
  for (const auto& [name, tensor] : test_case.literals) append_tensor(text, name, tensor);
  for (const auto& [word, note] : file.notes) text += fmt::format("{} {}\n", word, one_line(note));
  text += "end\n";
  return text;
}

}  // namespace plumbline
