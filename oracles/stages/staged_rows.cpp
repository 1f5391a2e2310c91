// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_rows.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "oracles/base/assert.h"
#include "oracles/reference/rows/condition.h"
#include "oracles/stages/staged_steps.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {
namespace {

enum class Step : std::uint8_t {
  quantize,
  argument,
  exponential,
  row_sums,
  root,
  normalized,
  elements,
  column_sums,
  output,
};

constexpr std::size_t kSteps = 9;

enum class Fault : std::uint8_t {
  none,
  bf16_argument,
  bf16_row_sums,
  bf16_factor,
  bf16_column_sums,
  output_cut
};

struct KnownFault {
  Fault fault;
  Step step;
  const char* words;
};

// clang-format off
constexpr std::array kFaults = {
    KnownFault{Fault::bf16_argument,    Step::argument,    "the logits are rounded to bf16 before the softmax"},
    KnownFault{Fault::bf16_row_sums,    Step::row_sums,    "sums along rows are kept in bf16"},
    KnownFault{Fault::bf16_factor,      Step::elements,    "what all elements of a row have in common is rounded to bf16"},
    KnownFault{Fault::bf16_column_sums, Step::column_sums, "sums along columns are kept in bf16"},
    KnownFault{Fault::output_cut,       Step::output,      "rounded toward zero instead of to nearest"},
};
// clang-format on

using Values = std::vector<double>;

class StagedRows final : public StagedComputation {
 public:
  StagedRows(const RowProblem& problem, const RowProblem& before) : problem_(problem) {
    const bool softmax = problem.kind == RowKind::softmax,
               norm = problem.kind == RowKind::rmsnorm || problem.kind == RowKind::layernorm;
    add(Step::quantize, {"quantize inputs", StageKind::quantization});
    if (softmax) add(Step::argument, {"argument", StageKind::arithmetic});
    if (softmax) add(Step::exponential, {"exponential", StageKind::arithmetic});
    add(Step::row_sums, {"row sums", StageKind::arithmetic});
    if (norm) add(Step::root, {"root", StageKind::arithmetic});
    if (norm && problem.contract.normalized != FormatId::f32)
      add(Step::normalized, {"rounding before gamma", StageKind::mandated});
    add(Step::elements, {problem.dy != nullptr ? "gradient" : "normalize", StageKind::arithmetic});
    if (problem.has_column_sums()) add(Step::column_sums, {"column sums", StageKind::arithmetic});
    out_ = problem.outputs.front()->layout.format;
    if (out_ != FormatId::f32) add(Step::output, {"output", StageKind::output});
    for (std::size_t f = 0; f < kFaults.size(); ++f) {
      const int stage = stage_of_[static_cast<std::size_t>(kFaults[f].step)];
      if (stage < 0) continue;
      faults_.push_back({stage, kFaults[f].words});
      fault_kinds_.push_back(kFaults[f].fault);
    }
    for (std::int64_t i = 0; i < problem.m && problem.n > 0; ++i) {
      rows_[0].push_back(converted<double>(problem.row(i)));
      rows_[1].push_back(converted<double>(before.row(i)));
    }
  }

  const std::vector<Stage>& stages() const override { return stages_; }

  std::vector<std::string> outputs() const override {
    return {problem_.output_names.begin(), problem_.output_names.end()};
  }

  const std::vector<StageFault>& faults() const override { return faults_; }

  // Of the matrix; not of what is summed over a whole row or column.
  std::vector<double> condition(int output) const override {
    const std::string_view name = problem_.output_names[static_cast<std::size_t>(output)];
    if (name == "mean" || name == "rstd" || name == "dgamma" || name == "dbeta") return {};
    std::vector<double> condition;
    for (const RowOf<double>& row : rows_[1]) {
      const std::vector<double> of_row = row_condition(problem_.kind, row);
      condition.insert(condition.end(), of_row.begin(), of_row.end());
    }
    return condition;
  }

  StagedValues evaluate(StageSet low, int fault) const override {
    const Asked asked{*this, low,
                      fault < 0 ? Fault::none : fault_kinds_[static_cast<std::size_t>(fault)]};
    Values matrix, mean, rstd;
    std::vector<RowResult<double>> results;
    for (const RowOf<double>& row : rows_[asked.low(Step::quantize) ? 0 : 1]) {
      results.push_back(asked.row(row));
      for (const double value : results.back().out) matrix.push_back(asked.stored(value));
      mean.push_back(results.back().mean);
      rstd.push_back(results.back().rstd);
    }
    StagedValues values;
    for (const std::string_view name : problem_.output_names) {
      values.push_back(name == "mean"     ? mean
                       : name == "rstd"   ? rstd
                       : name == "dgamma" ? asked.column_sums(results, true)
                       : name == "dbeta"  ? asked.column_sums(results, false)
                                          : matrix);
    }
    return values;
  }

 private:
  void add(Step step, Stage stage) {
    stage_of_[static_cast<std::size_t>(step)] = static_cast<int>(stages_.size());
    stages_.push_back(std::move(stage));
  }

  // One evaluation: which stages are low, and what is wrong.
  struct Asked {
    const StagedRows& rows;
    StageSet set = 0;
    Fault fault = Fault::none;

    bool low(Step step) const {
      const int stage = rows.stage_of_[static_cast<std::size_t>(step)];
      return stage >= 0 && (set >> stage & 1) != 0;
    }

    double bf16_if(Fault planted, double value) const {
      return fault == planted ? staged_rounding(FormatId::bf16, value) : value;
    }

    double stored(double value) const {
      if (!low(Step::output)) return value;
      return staged_rounding(rows.out_, value,
                             {.rounding = fault == Fault::output_cut ? Rounding::toward_zero
                                                                     : Rounding::nearest_even});
    }

    // a b + c: rounded once.
    static double fma_if(bool rounded, double a, double b, double c) {
      return rounded ? static_cast<double>(f32_fma(a, b, c)) : a * b + c;
    }

    // Of a_j b_j along a row.
    double row_sum(const Values& a, const Values& b) const {
      const bool rounded = low(Step::row_sums);
      Values lanes(static_cast<std::size_t>(rows.problem_.contract.lanes));
      for (std::size_t j = 0; j < a.size(); ++j) {
        double& lane =
            lanes[j / static_cast<std::size_t>(rows.problem_.contract.vector) % lanes.size()];
        lane = bf16_if_low(rounded, fma_if(rounded, a[j], b[j], lane));
      }
      for (std::size_t warp = 0; warp < lanes.size(); warp += 32) {
        const std::size_t end = std::min<std::size_t>(warp + 32, lanes.size());
        for (std::size_t distance = 16; distance > 0; distance /= 2) {
          for (std::size_t l = warp; l < warp + distance && l + distance < end; ++l)
            lanes[l] = f32_if(rounded, lanes[l] + lanes[l + distance]);
        }
      }
      for (std::size_t distance = 32; distance < lanes.size(); distance *= 2) {
        for (std::size_t l = 0; l + distance < lanes.size(); l += 2 * distance)
          lanes[l] = f32_if(rounded, lanes[l] + lanes[l + distance]);
      }
      return bf16_if_low(rounded, lanes.front());
    }

    double bf16_if_low(bool rounded, double value) const {
      return rounded ? bf16_if(Fault::bf16_row_sums, value) : value;
    }

    double mean(double sum, std::size_t n) const {
      const bool rounded = low(Step::row_sums);
      const auto count = static_cast<double>(n);
      if (rounded && rows.problem_.contract.multiplies_by_inverse())
        return f32_if(true, sum * f32_if(true, 1 / count));
      return f32_if(rounded, sum / count);
    }

    RowResult<double> row(const RowOf<double>& in) const {
      switch (rows.problem_.kind) {
        case RowKind::softmax:
          return softmax(in);
        case RowKind::softmax_backward:
          return softmax_backward(in);
        case RowKind::rmsnorm:
        case RowKind::layernorm:
          return norm(in);
        case RowKind::rmsnorm_backward:
        case RowKind::layernorm_backward:
          break;
      }
      return norm_backward(in);
    }

    bool centered() const {
      return rows.problem_.kind == RowKind::layernorm ||
             rows.problem_.kind == RowKind::layernorm_backward;
    }

    RowResult<double> softmax(const RowOf<double>& in) const {
      const bool argument = low(Step::argument), elements = low(Step::elements);
      const double log2e = f32_if(argument, std::numbers::log2e);
      Values z;
      double largest = -std::numeric_limits<double>::infinity();
      for (const double x : in.x) {
        const double scaled = f32_if(argument, x * in.scale);
        z.push_back(argument ? bf16_if(Fault::bf16_argument, scaled) : scaled);
        largest = std::max(largest, z.back());
      }
      RowResult<double> out;
      const bool kept = rows.problem_.contract.exponential == RowExponential::kept;
      for (const double one : z) {
        const double t = f32_if(argument, f32_if(argument, one - largest) * log2e);
        out.out.push_back(kept ? f32_if(low(Step::exponential), std::exp2(t))
                               : staged_exponential(low(Step::exponential), t));
      }
      const double sum = row_sum(out.out, Values(z.size(), 1));
      const bool divides = rows.problem_.contract.quotient != RowQuotient::reciprocal;
      const double factor = factor_of(f32_if(elements, 1 / sum));
      for (double& p : out.out) p = f32_if(elements, divides ? p / sum : p * factor);
      return out;
    }

    double factor_of(double factor) const {
      return low(Step::elements) ? bf16_if(Fault::bf16_factor, factor) : factor;
    }

    RowResult<double> softmax_backward(const RowOf<double>& in) const {
      const bool elements = low(Step::elements);
      const double g = factor_of(row_sum(in.x, in.dy));
      RowResult<double> out;
      for (std::size_t j = 0; j < in.x.size(); ++j) {
        out.out.push_back(f32_if(
            elements, in.scale * f32_if(elements, in.x[j] * f32_if(elements, in.dy[j] - g))));
      }
      return out;
    }

    RowResult<double> norm(const RowOf<double>& in) const {
      const bool sums = low(Step::row_sums), root = low(Step::root), elements = low(Step::elements);
      RowResult<double> out;
      out.mean = centered() ? mean(row_sum(in.x, Values(in.x.size(), 1)), in.x.size()) : 0;
      Values off;
      for (const double x : in.x) off.push_back(f32_if(sums, x - out.mean));
      const double square = mean(row_sum(off, off), in.x.size());
      out.rstd = f32_if(root, 1 / std::sqrt(f32_if(root, square + in.eps)));
      if (root && rows.problem_.contract.root == RowRoot::exact)
        out.rstd = f32_if(true, 1 / f32_if(true, std::sqrt(f32_if(true, square + in.eps))));
      const double factor = factor_of(out.rstd);
      for (std::size_t j = 0; j < in.x.size(); ++j) {
        double normal = f32_if(elements, f32_if(elements, in.x[j] - out.mean) * factor);
        if (low(Step::normalized))
          normal = staged_rounding(rows.problem_.contract.normalized, normal);
        out.out.push_back(centered() ? fma_if(elements, normal, in.gamma[j], in.beta[j])
                                     : f32_if(elements, normal * gamma_of(in, j, elements)));
      }
      return out;
    }

    static double gamma_of(const RowOf<double>& in, std::size_t j, bool rounded) {
      return f32_if(rounded, in.gamma[j] + in.gamma_plus);
    }

    RowResult<double> norm_backward(const RowOf<double>& in) const {
      const bool sums = low(Step::row_sums), elements = low(Step::elements),
                 columns = low(Step::column_sums);
      // x^ for the sum along the row, for the element and for the sum along the column.
      const auto normal = [&](bool rounded, std::size_t j) {
        return f32_if(rounded, f32_if(rounded, in.x[j] - in.mean) * in.rstd);
      };
      Values of_sum, weighted;
      RowResult<double> out;
      for (std::size_t j = 0; j < in.x.size(); ++j) {
        of_sum.push_back(normal(sums, j));
        weighted.push_back(f32_if(sums, in.dy[j] * in.gamma[j]));
        out.xhat.push_back(normal(columns, j));
      }
      const double along = mean(row_sum(weighted, of_sum), in.x.size()),
                   level = centered() ? mean(row_sum(weighted, Values(in.x.size(), 1)), in.x.size())
                                      : 0;
      const double factor = factor_of(in.rstd);
      for (std::size_t j = 0; j < in.x.size(); ++j) {
        const double w = f32_if(elements, f32_if(elements, in.dy[j] * in.gamma[j]) - level);
        out.out.push_back(
            f32_if(elements, factor * fma_if(elements, -normal(elements, j), along, w)));
      }
      return out;
    }

    // Rows p, p + stripes ... in stripe p, then the stripes.
    Values column_sums(const std::vector<RowResult<double>>& results, bool gamma) const {
      const bool rounded = low(Step::column_sums);
      const auto n = static_cast<std::size_t>(rows.problem_.n);
      const std::size_t stripes = std::min<std::size_t>(
          static_cast<std::size_t>(rows.problem_.contract.stripes), results.size());
      const std::vector<RowOf<double>>& in = rows.rows_[low(Step::quantize) ? 0 : 1];
      const auto kept = [&](double sum) {
        return rounded ? bf16_if(Fault::bf16_column_sums, sum) : sum;
      };
      Values sums(n);
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
          double part = 0;
          for (std::size_t i = stripe; i < results.size(); i += stripes)
            part = kept(fma_if(rounded, in[i].dy[j], gamma ? results[i].xhat[j] : 1, part));
          sums[j] = kept(f32_if(rounded, sums[j] + part));
        }
      }
      return sums;
    }
  };

  RowProblem problem_;
  FormatId out_ = FormatId::f32;
  std::vector<Stage> stages_;
  std::array<int, kSteps> stage_of_{-1, -1, -1, -1, -1, -1, -1, -1, -1};
  std::vector<StageFault> faults_;
  std::vector<Fault> fault_kinds_;
  std::array<std::vector<RowOf<double>>, 2> rows_;  // as stored, as they were
};

}  // namespace

std::unique_ptr<StagedComputation> staged_rows(const RowProblem& problem,
                                               const RowProblem& before) {
  return std::make_unique<StagedRows>(problem, before);
}

}  // namespace plumbline
