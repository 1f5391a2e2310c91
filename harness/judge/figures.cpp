// SPDX-License-Identifier: MIT
#include "harness/judge/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "oracles/formats/decode.h"
#include "oracles/formats/ulp.h"

namespace plumbline {
namespace {

// The size that an operation's sums run over, by the names operations give it.
constexpr std::array<std::string_view, 3> kLengths = {"k", "keys", "n"};

// An error map takes the exact values of all elements again.
constexpr double kMostWork = 3e8;
constexpr std::int64_t kMostElements = 1 << 16;
constexpr std::int64_t kLargestTile = 128;

// Of a format's largest number: integers are also clamped to one less, e.g. to [-127, 127].
constexpr double kNearlyLargest = 0.99;

// ErrorMap::heat: the letter of an error.
char letter(double error_ulp) {
  if (error_ulp <= 0.5) return '.';
  return std::isinf(error_ulp)
             ? 'z'
             : static_cast<char>('a' + std::clamp(std::ilogb(error_ulp) + 4, 0, 25));
}

// ErrorMap::warps and threads.
constexpr char kNone = ' ', kMixed = '.';

void note_writer(ErrorMap& error_map, char& warp, const Writer* writer, char error) {
  char digit = kMixed;
  if (writer) {
    const auto number = static_cast<std::size_t>(writer->warp);
    digit = static_cast<char>(number < 10 ? '0' + number : 'a' + number - 10);
    if (number >= error_map.threads.size())
      error_map.threads.resize(number + 1, std::string(32, kNone));
    char& worst = error_map.threads[number][static_cast<std::size_t>(writer->lane)];
    worst = std::max(worst, error);
  }
  warp = warp == kNone || warp == digit ? digit : kMixed;
}

// The output that says most: failures first, then the largest share.
std::size_t output_to_portray(const CaseRecord& record) {
  const auto worse = [](const OutputRecord& a, const OutputRecord& b) {
    if (a.verdict.failed != b.verdict.failed) return a.verdict.failed < b.verdict.failed;
    return a.verdict.worst_share < b.verdict.worst_share;
  };
  const auto most = std::max_element(record.outputs.begin(), record.outputs.end(), worse);
  return static_cast<std::size_t>(most - record.outputs.begin());
}

// The error in ulp; 0 for what has to be infinite or NaN and is, infinity for what has to and is
// not. The contract is asked only about these and where results may have been clamped: that costs a
// bound for every element.
double error_in_ulp(const CaseOracle& oracle, int output, std::int64_t index, const Format& f,
                    std::uint64_t got, double exact) {
  const double stored = to_double(f, got);
  const bool clamped = std::fabs(stored) >= kNearlyLargest * to_double(f, f.max_finite());
  if (std::isfinite(stored) && std::isfinite(exact) && !clamped)
    return std::fabs(stored - exact) / ulp(f, exact);
  const ElementVerdict e = oracle.element(output, index, got);
  if (!std::isnan(e.error_ulp)) return std::fabs(e.error_ulp);
  return e.pass ? 0 : std::numeric_limits<double>::infinity();
}

double take_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

CaseRecord describe_case(const Case& test_case) {
  CaseRecord record;
  record.kernel = test_case.kernel->name;
  record.text = test_case.text();
  record.shape_class = test_case.shape_class;
  record.layout_class = test_case.layout_class;
  record.value_class = test_case.literals.empty() ? test_case.recipe.value_class : "literal";
  record.origin = test_case.origin;
  const auto length = std::find_if(kLengths.begin(), kLengths.end(), [&](std::string_view name) {
    return test_case.problem.has(name);
  });
  if (length != kLengths.end()) {
    record.length_name = *length;
    record.length = std::max<std::int64_t>(test_case.problem.integer(*length), 0);
  }
  return record;
}

void describe_length(const Case& test_case, OutputRecord& output) {
  const std::string_view length = test_case.kernel->operation->sum_length(output.name);
  if (length.empty()) return;
  output.length_name = length;
  output.length = std::max<std::int64_t>(test_case.problem.integer(length), 0);
}

std::optional<ErrorMap> error_map_of_case(const Case& test_case, const Examined& examined,
                                          int threads) {
  const CaseRecord& record = examined.record;
  if (record.outputs.empty() || !examined.oracle) return {};
  const std::size_t output = output_to_portray(record);
  const Tensor* got = examined.tensors.find(record.outputs[output].name);
  const int number = examined.oracle->output_number(record.outputs[output].name);
  const TensorLayout& layout = got->layout;
  const std::int64_t count = layout.count();
  const bool small =
      count <= kMostElements && test_case.kernel->operation->work(test_case.problem) <= kMostWork;
  if (!small || count == 0 || layout.shape.empty()) return {};

  ErrorMap error_map;
  error_map.kernel = record.kernel;
  error_map.text = record.text;
  error_map.device = record.device;
  error_map.output = record.outputs[output].name;
  error_map.columns = layout.shape.back();
  error_map.rows = layout.shape.size() > 1 ? layout.shape[layout.shape.size() - 2] : 1;
  error_map.tile_rows = std::min(error_map.rows, kLargestTile);
  error_map.tile_columns = std::min(error_map.columns, kLargestTile);
  error_map.heat.assign(static_cast<std::size_t>(error_map.tile_rows),
                        std::string(static_cast<std::size_t>(error_map.tile_columns), '.'));
  if (!examined.launch.writers.empty())
    error_map.warps.assign(error_map.heat.size(),
                           std::string(error_map.heat.front().size(), kNone));
  std::map<int, std::vector<double>> binades;
  const Format& f = format(layout.format);
  const std::vector<double> exact =
      examined.oracle->reference_values(number, Reference::contract, threads);
  for (std::int64_t index = 0; index < count; ++index) {
    const double due = exact[static_cast<std::size_t>(index)];
    const double error = error_in_ulp(*examined.oracle, number, index, f, got->bits(index), due);
    const auto row =
        static_cast<std::size_t>(index / error_map.columns % error_map.rows % error_map.tile_rows);
    const auto column =
        static_cast<std::size_t>(index % error_map.columns % error_map.tile_columns);
    char& cell = error_map.heat[row][column];
    cell = std::max(cell, letter(error));
    if (!error_map.warps.empty()) {
      note_writer(error_map, error_map.warps[row][column],
                  writer_of(examined.launch, error_map.output, layout, index), letter(error));
    }
    if (std::isfinite(due) && due != 0 && std::isfinite(error))
      binades[std::ilogb(due)].push_back(error);
  }
  if (record.verdict != Verdict::fail) {  // only a failure needs a map
    error_map.heat.clear();
    error_map.warps.clear();
    error_map.threads.clear();
  }
  for (auto& [exponent, errors] : binades) {
    const double worst = *std::max_element(errors.begin(), errors.end());
    error_map.binades.push_back(
        {exponent, static_cast<std::int64_t>(errors.size()), take_median(errors), worst});
  }
  return error_map;
}

}  // namespace plumbline
