// SPDX-License-Identifier: MIT
#include "harness/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/plain_gemm.h"
#include "harness/population_envelope.h"
#include "oracles/base/random.h"
#include "oracles/bounds/population.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr std::int64_t kFewestRows = 256, kFewestColumns = 512;

// Whether errors are those of a product of normal values alone.
bool applies(const Case& test_case) {
  if (test_case.kernel->operation->name() != "gemm" || !test_case.literals.empty() ||
      test_case.recipe.value_class != "normal")
    return false;
  const PlainGemm gemm(test_case);
  return gemm.floating() && gemm.pure_product() && gemm.size("batch") == 1;
}

bool theorems_apply(const Case& test_case) {
  const PlainGemm gemm(test_case);
  return gemm.contract.odd_symmetric && gemm.size("m") >= kFewestRows &&
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

// False where there is nothing to test.
bool test_theorems(const Case& test_case, const Tensor& got, const std::vector<double>& exact,
                   PopulationVerdict& verdict) {
  const auto errors = errors_of(got.layout, got, exact);
  if (!errors) return false;
  const PopulationResult signs = sign_symmetry(*errors);
  if (signs.chance <= kUnbelievable) {
    verdict.broken = fmt::format(
        "the errors of {} lean to one side: a conforming kernel does that once in {:.0e} runs",
        signs.columns, 1 / signs.chance);
  }
  verdict.detectable =
      fmt::format("a bias of {:.1f} % of the typical error in one of 8 columns would fail",
                  100 * signs.detectable);
  if (!columns_are_alike(test_case)) return true;
  const PopulationResult ranks = rank_position(*errors);
  if (verdict.broken.empty() && ranks.chance <= kUnbelievable) {
    verdict.broken = fmt::format(
        "{} have other errors than the rest: a conforming kernel does that once in {:.0e} runs",
        ranks.columns, 1 / ranks.chance);
  }
  verdict.detectable +=
      fmt::format("; so would a mean rank of errors there off by {:.1f} %", 100 * ranks.detectable);
  return true;
}

}  // namespace

std::optional<PopulationVerdict> test_population(const Case& test_case, const CaseTensors& tensors,
                                                 const CaseOracle& oracle, int threads) {
  if (!applies(test_case)) return std::nullopt;
  const bool theorems = theorems_apply(test_case), envelope = envelope_applies(test_case);
  if (!theorems && !envelope) return std::nullopt;
  const Tensor& got = *tensors.find("d");
  if (format(got.layout.format).is_integer) return std::nullopt;
  const std::vector<double> exact = oracle.reference_values(0, Reference::contract, threads);
  PopulationVerdict verdict;
  bool tested = theorems && test_theorems(test_case, got, exact, verdict);
  if (envelope) {
    const auto beside =
        compare_with_model(test_case, got, dynamic_cast<const GemmOracle&>(oracle), exact, threads);
    if (beside) {
      tested = tested || beside->compared;
      verdict.suspicions = beside->suspicions;
      if (!verdict.detectable.empty()) verdict.detectable += "; ";
      verdict.detectable += beside->words;
    }
  }
  if (!tested) return std::nullopt;
  return verdict;
}

Case with_fresh_draw(const Case& test_case, int i) {
  Case fresh = test_case;
  // 32 bits, like the seeds of a plan.
  fresh.recipe.seed =
      Random(test_case.recipe.seed).fork(static_cast<std::uint64_t>(i)).next() >> 32;
  return fresh;
}

std::vector<Suspicion> confirmed(const std::vector<Suspicion>& suspicions,
                                 const std::vector<Suspicion>& on_other_inputs) {
  std::vector<Suspicion> both;
  std::copy_if(suspicions.begin(), suspicions.end(), std::back_inserter(both),
               [&](const Suspicion& one) {
                 return std::any_of(on_other_inputs.begin(), on_other_inputs.end(),
                                    [&](const Suspicion& other) { return one.same_as(other); });
               });
  return both;
}

std::string words_of(const std::vector<Suspicion>& confirmed) {
  const Suspicion& first = confirmed.front();
  return fmt::format(
      "all errors at once show {}: {:.0f} standard errors beyond the contract's model, and so on "
      "{} other draws of inputs",
      first.words, first.sigmas, kFreshDraws);
}

}  // namespace plumbline
