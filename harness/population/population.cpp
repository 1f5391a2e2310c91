// SPDX-License-Identifier: MIT
#include "harness/population/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/population/design.h"
#include "harness/population/envelope.h"
#include "oracles/population/population.h"
#include "oracles/population/product_matrices.h"

namespace plumbline {
namespace {

// Whether inputs are normal values, and nothing is added to what is made of them.
bool applies(const Case& test_case) {
  if (!test_case.literals.empty() || test_case.recipe.value_class != "normal") return false;
  return test_case.kernel->operation->has_pure_sums(test_case.problem, *test_case.kernel);
}

void append(std::string& words, const std::string& more) {
  if (!words.empty()) words += "; ";
  words += more;
}

// False where there is nothing to test.
bool test_theorems(const PopulationDesign& design, PopulationVerdict& verdict) {
  if (design.with_signs) {
    const PopulationResult signs = sign_symmetry(*design.with_signs);
    if (signs.chance <= kUnbelievable) {
      verdict.broken = fmt::format(
          "the errors of {} lean to one side: a conforming kernel does that once in {:.0e} runs",
          signs.columns, 1 / signs.chance);
    }
    append(verdict.detectable,
           fmt::format("a bias of {:.1f} % of the typical error in one of 8 {} would fail",
                       100 * signs.detectable, design.with_signs->column_words));
  }
  if (!design.drawn_alike.empty()) {
    const PopulationResult ranks = rank_position(design.drawn_alike);
    if (verdict.broken.empty() && ranks.chance <= kUnbelievable) {
      verdict.broken = fmt::format(
          "{} have other errors than the rest: a conforming kernel does that once in {:.0e} runs",
          ranks.columns, 1 / ranks.chance);
    }
    append(
        verdict.detectable,
        fmt::format("a mean rank of errors in one of 8 columns that is off by {:.1f} % would fail",
                    100 * ranks.detectable));
  }
  return design.with_signs || !design.drawn_alike.empty();
}

std::optional<PopulationVerdict> test_output(const Case& test_case, const CaseTensors& tensors,
                                             const CaseOracle& oracle, int output, int threads) {
  const Tensor& got = *tensors.find(oracle.output_name(output));
  if (format(got.layout.format).is_integer) return std::nullopt;
  const std::vector<ProductMatrix> matrices = product_matrices(oracle, output);
  const bool theorems = may_have_design(test_case, tensors, oracle, output),
             envelope = envelope_applies(matrices);
  if (!theorems && !envelope) return std::nullopt;
  const std::vector<double> exact = oracle.reference_values(output, Reference::contract, threads);
  PopulationVerdict verdict;
  bool tested =
      theorems &&
      test_theorems(population_design(test_case, tensors, oracle, output, exact), verdict);
  if (envelope) {
    auto beside = compare_with_model(test_case, matrices, got, exact, threads);
    if (beside) {
      tested = tested || beside->compared;
      verdict.suspicions = std::move(beside->suspicions);
      append(verdict.detectable, beside->words);
    }
  }
  if (!tested) return std::nullopt;
  return verdict;
}

// Says which output of several it is about.
void name_output(PopulationVerdict& verdict, const std::string& output) {
  if (!verdict.broken.empty()) verdict.broken = output + ": " + verdict.broken;
  verdict.detectable = output + ": " + verdict.detectable;
  for (Suspicion& suspicion : verdict.suspicions) suspicion.output = output;
}

}  // namespace

std::optional<PopulationVerdict> test_population(const Case& test_case, const CaseTensors& tensors,
                                                 const CaseOracle& oracle, int threads) {
  if (!applies(test_case)) return std::nullopt;
  std::optional<PopulationVerdict> all;
  for (int output = 0; output < oracle.outputs(); ++output) {
    std::optional<PopulationVerdict> one = test_output(test_case, tensors, oracle, output, threads);
    if (!one) continue;
    if (oracle.outputs() > 1) name_output(*one, oracle.output_name(output));
    if (!all) all.emplace();
    if (all->broken.empty()) all->broken = std::move(one->broken);
    append(all->detectable, one->detectable);
    std::move(one->suspicions.begin(), one->suspicions.end(), std::back_inserter(all->suspicions));
  }
  return all;
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
      "all errors{} at once show {}: {:.0f} standard errors beyond the contract's model, and so on "
      "{} other draws of inputs",
      first.output.empty() ? "" : " of " + first.output, first.words, first.sigmas, kFreshDraws);
}

}  // namespace plumbline
