// SPDX-License-Identifier: MIT
#include "harness/population.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/plain_gemm.h"
#include "oracles/bounds/population.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr std::int64_t kFewestRows = 256, kFewestColumns = 512;

bool applies(const Case& test_case) {
  if (test_case.kernel->operation->name() != "gemm" || !test_case.literals.empty() ||
      test_case.recipe.value_class != "normal")
    return false;
  const PlainGemm gemm(test_case);
  return gemm.floating() && gemm.pure_product() && gemm.contract.odd_symmetric &&
         gemm.size("batch") == 1 && gemm.size("m") >= kFewestRows &&
         gemm.size("n") >= kFewestColumns;
}

// Scales that several columns share make those columns alike, and different from the others.
bool columns_are_alike(const Case& test_case) {
  const PlainGemm gemm(test_case);
  return gemm.contract.position_independent && !gemm.is("scale_b", "128x128");
}

// Errors in units of the typical error of their row: rows may have scales. Nothing where an output
// is not finite or no output has an error.
std::optional<ErrorMatrix> errors_of(const TensorLayout& layout, const Tensor& got,
                                     const std::vector<double>& exact) {
  ErrorMatrix matrix{layout.shape[1], layout.shape[2], {}};
  const Format& f = format(layout.format);
  bool any = false;
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    double squares = 0;
    const std::size_t first = matrix.errors.size();
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
      const std::int64_t at = i * matrix.columns + j;
      const double error = to_double(f, got.bits(at)) - exact[static_cast<std::size_t>(at)];
      if (!std::isfinite(error)) return std::nullopt;
      squares += error * error;
      matrix.errors.push_back(error);
    }
    if (squares == 0) continue;
    any = true;
    const double typical = std::sqrt(squares / static_cast<double>(matrix.columns));
    for (std::size_t at = first; at < matrix.errors.size(); ++at) matrix.errors[at] /= typical;
  }
  if (!any) return std::nullopt;
  return matrix;
}

}  // namespace

std::optional<PopulationVerdict> test_population(const Case& test_case, const CaseTensors& tensors,
                                                 const CaseOracle& oracle, int threads) {
  if (!applies(test_case)) return std::nullopt;
  const Tensor& got = *tensors.find("d");
  if (format(got.layout.format).is_integer) return std::nullopt;
  const auto errors =
      errors_of(got.layout, got, oracle.reference_values(0, Reference::contract, threads));
  if (!errors) return std::nullopt;
  PopulationVerdict verdict;
  const PopulationResult signs = sign_symmetry(*errors);
  if (signs.chance <= kUnbelievable) {
    verdict.broken = fmt::format(
        "the errors of {} lean to one side: a conforming kernel does that once in {:.0e} runs",
        signs.columns, 1 / signs.chance);
  }
  verdict.detectable =
      fmt::format("a bias of {:.1f} % of the typical error in one of 8 columns would fail",
                  100 * signs.detectable);
  if (!columns_are_alike(test_case)) return verdict;
  const PopulationResult ranks = rank_position(*errors);
  if (verdict.broken.empty() && ranks.chance <= kUnbelievable) {
    verdict.broken = fmt::format(
        "{} have other errors than the rest: a conforming kernel does that once in {:.0e} runs",
        ranks.columns, 1 / ranks.chance);
  }
  verdict.detectable +=
      fmt::format("; so would a mean rank of errors there off by {:.1f} %", 100 * ranks.detectable);
  return verdict;
}

}  // namespace plumbline
