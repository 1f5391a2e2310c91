// SPDX-License-Identifier: MIT
// Random texts with inputs and the exact values of their outputs, one JSON object a line, for
// interpret.py. Usage: text_samples FIRST COUNT
#include <cstdio>
#include <cstdlib>

#include "tests/oracles/reference/text/random_texts.h"

int main(int argc, char** argv) {
  using namespace plumbline;
  using namespace plumbline::text;
  if (argc != 3) {
    std::fprintf(stderr, "usage: text_samples FIRST COUNT\n");
    return 2;
  }
  const auto number = [](double x) {
    return std::isnan(x) ? std::string("\"nan\"") : fmt::format("\"{:a}\"", x);
  };
  const auto list = [&](const auto& values) {
    std::string out;
    for (const double x : values) out += (out.empty() ? "" : ", ") + number(x);
    return "[" + out + "]";
  };
  const auto first = std::strtoull(argv[1], nullptr, 10),
             count = std::strtoull(argv[2], nullptr, 10);
  for (auto seed = first; seed < first + count; ++seed) {
    const std::string text = RandomText(seed).text();
    Random random = Random(seed).fork(1);
    const Data& data = kData[random.below(std::size(kData))];
    const std::int64_t n = random.between(1, 9);
    const TextProblem problem(text, {2, n}, data.element, seed);
    std::string inputs;
    for (const auto& tensor : problem.tensors()) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < tensor->layout.count(); ++i)
        values.push_back(to_double(format(FormatId::f32), tensor->bits(i)));
      inputs += (inputs.empty() ? "" : ", ") + list(values);
    }
    const std::vector<double> exact = at_precision(256, [&]<typename Number>() {
      std::vector<double> values;
      for (const Number& one : problem.over(Definition<Number>()))
        values.push_back(static_cast<double>(one));
      return values;
    });
    std::string quoted;
    for (const char c : text) quoted += c == '\n' ? "\\n" : std::string(1, c);
    fmt::print("{{\"seed\": {}, \"text\": \"{}\", \"n\": {}, \"inputs\": [{}], \"y\": {}}}\n", seed,
               quoted, n, inputs, list(exact));
  }
}
