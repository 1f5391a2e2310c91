// SPDX-License-Identifier: MIT
#include "oracles/stages/attribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "oracles/base/random.h"
#include "oracles/stages/output_vectors.h"

namespace plumbline {
namespace {

constexpr std::size_t kMostExactStages = 6;

double ratio(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
}

// v(S) = <f(base + S) - f(base), Delta> / ||Delta||^2: linear in f, so that the Shapley value of
// the vectors is that of these numbers.
class Worth {
 public:
  Worth(StagedEvaluations& evaluations, int output, StageSet base,
        const std::vector<double>& target)
      : evaluations_(evaluations),
        output_(output),
        base_(base),
        start_(evaluations(base, output)),
        delta_(difference(target, start_)),
        square_(inner_product(delta_, delta_)) {}

  double operator()(StageSet low) {
    const auto [known, fresh] = known_.try_emplace(low, 0.0);
    if (fresh) {
      known->second = ratio(
          inner_product(difference(evaluations_(base_ | low, output_), start_), delta_), square_);
    }
    return known->second;
  }

  double delta_norm() const { return std::sqrt(square_); }

 private:
  StagedEvaluations& evaluations_;
  int output_;
  StageSet base_;
  const std::vector<double> start_;
  std::vector<double> delta_;
  double square_;
  std::map<StageSet, double> known_;
};

// Every subset, weighted as all orders of the stages meet it.
void exact_shares(Worth& worth, const std::vector<int>& stages, Attribution& out) {
  const std::size_t n = stages.size();
  std::vector<double> factorial(n + 1, 1);
  for (std::size_t i = 1; i <= n; ++i) factorial[i] = factorial[i - 1] * static_cast<double>(i);
  for (std::uint32_t subset = 0; subset < std::uint32_t{1} << n; ++subset) {
    StageSet low = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if ((subset >> i & 1) == 0) continue;
      low |= StageSet{1} << stages[i];
      ++size;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if ((subset >> i & 1) != 0) continue;
      const double weight = factorial[size] * factorial[n - 1 - size] / factorial[n];
      out.stages[static_cast<std::size_t>(stages[i])].share +=
          weight * (worth(low | StageSet{1} << stages[i]) - worth(low));
    }
  }
}

// Random orders, each with its reverse: what a stage adds early and late in one order belongs
// together, and the pair's mean varies less. The standard error is that of the pairs.
void sampled_shares(Worth& worth, const std::vector<int>& stages, int orders, std::uint64_t seed,
                    Attribution& out) {
  Random random(seed);
  const int pairs = std::max(2, orders / 2);
  std::vector<std::vector<double>> added(static_cast<std::size_t>(pairs));
  for (std::vector<double>& of_pair : added) {
    of_pair.resize(out.stages.size());
    std::vector<int> order = stages;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (int turn = 0; turn < 2; ++turn) {
      StageSet low = 0;
      for (const int stage : order) {
        const StageSet with = low | StageSet{1} << stage;
        of_pair[static_cast<std::size_t>(stage)] += (worth(with) - worth(low)) / 2;
        low = with;
      }
      std::reverse(order.begin(), order.end());
    }
  }
  for (std::size_t i = 0; i < out.stages.size(); ++i) {
    double mean = 0, squares = 0;
    for (const std::vector<double>& of_pair : added) mean += of_pair[i] / pairs;
    for (const std::vector<double>& of_pair : added)
      squares += (of_pair[i] - mean) * (of_pair[i] - mean);
    out.stages[i].share = mean;
    out.stages[i].standard_error = std::sqrt(squares / (pairs * (pairs - 1.0)));
  }
}

}  // namespace

const std::vector<double>& StagedEvaluations::operator()(StageSet low, int output) {
  const auto [known, fresh] = values_.try_emplace(low);
  if (fresh) known->second = computation_.evaluate(low, fault_);
  return known->second[static_cast<std::size_t>(output)];
}

Attribution attribute(StagedEvaluations& evaluations, int output,
                      const AttributionOptions& options) {
  const StagedComputation& computation = evaluations.computation();
  const StageSet all = computation.all_stages();
  const std::vector<double> exact = evaluations(0, output),
                            base = evaluations(options.base, output),
                            low = evaluations(all, output);
  const std::vector<double>& target = options.target ? *options.target : low;
  Worth worth(evaluations, output, options.base, target);
  std::vector<int> stages;
  for (int i = 0; i < static_cast<int>(computation.stages().size()); ++i)
    if ((options.base >> i & 1) == 0) stages.push_back(i);

  Attribution out;
  out.stages.resize(computation.stages().size());
  const double size = norm(exact);
  out.magnitude = ratio(size, std::sqrt(static_cast<double>(exact.size())));
  out.error = ratio(worth.delta_norm(), size);
  out.remainder = ratio(distance(target, low), size);
  StageSet before = 0;
  double squares = 0;
  for (const int stage : stages) {
    StageShare& of = out.stages[static_cast<std::size_t>(stage)];
    const StageSet self = StageSet{1} << stage;
    of.telescoped = worth(before | self) - worth(before);
    before |= self;
    of.alone = ratio(distance(evaluations(options.base | self, output), base), size);
    of.without = ratio(distance(low, evaluations(all & ~self, output)), size);
    squares += of.alone * of.alone;
  }
  if (stages.size() <= kMostExactStages) {
    exact_shares(worth, stages, out);
  } else {
    sampled_shares(worth, stages, options.orders, options.seed, out);
  }
  out.unexplained = worth.delta_norm() == 0 ? 0 : 1 - worth(all & ~options.base);
  const double joint = ratio(distance(low, base), size);
  out.root_sum_square = ratio(std::sqrt(squares), joint);
  out.interaction = joint == 0 ? 0 : 1 - squares / (joint * joint);
  return out;
}

ErrorSplit split_error(StagedEvaluations& evaluations, int output,
                       const std::vector<double>& target) {
  const StagedComputation& computation = evaluations.computation();
  const std::vector<double> exact = evaluations(0, output);
  const std::vector<double> whole = difference(target, exact);
  const double size = norm(exact), square = inner_product(whole, whole);
  ErrorSplit split;
  std::vector<double> last = exact;
  std::vector<std::vector<double>> parts;
  StageSet low = 0;
  const auto cut = [&](const std::vector<double>& next, ErrorPart& part) {
    parts.push_back(difference(next, last));
    part.relative = ratio(norm(parts.back()), size);
    part.share = ratio(inner_product(parts.back(), whole), square);
    last = next;
  };
  for (const auto& [kind, part] : {std::pair{StageKind::quantization, &split.quantization},
                                   std::pair{StageKind::mandated, &split.mandated},
                                   std::pair{StageKind::arithmetic, &split.arithmetic},
                                   std::pair{StageKind::output, &split.output}}) {
    low |= computation.stages_of(kind);
    cut(evaluations(low, output), *part);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double cosine =
          ratio(inner_product(parts[i], parts[j]), norm(parts[i]) * norm(parts[j]));
      if (std::fabs(cosine) > std::fabs(split.largest_cosine)) split.largest_cosine = cosine;
    }
  }
  cut(target, split.unexplained);
  return split;
}

FaultFit best_fault(const StagedComputation& computation, int output,
                    const std::vector<double>& target) {
  const StageSet all = computation.all_stages();
  const auto remainder = [&](int fault) {
    return distance(target, computation.evaluate(all, fault)[static_cast<std::size_t>(output)]);
  };
  FaultFit best;
  const double unexplained = remainder(-1);
  if (unexplained == 0) return best;
  for (int fault = 0; fault < static_cast<int>(computation.faults().size()); ++fault) {
    const double left = remainder(fault) / unexplained;
    if (1 - left * left > best.explained) best = {fault, 1 - left * left};
  }
  return best;
}

}  // namespace plumbline
