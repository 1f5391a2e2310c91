// SPDX-License-Identifier: MIT
#include "reports/propagation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracles/stages/output_vectors.h"

namespace plumbline {
namespace {

// A share in a column, with its standard error where that shows.
std::string column(double share, double error) {
  const std::string text = fmt::format("{:.1f}{} %", 100 * share + 0.0,
                                       error >= 5e-4 ? fmt::format("±{:.1f}", 100 * error) : "");
  return text == "-0.0 %" ? "0.0 %" : text;
}

// fmt counts bytes of "±" when it pads; this counts characters.
std::string right(const std::string& text, std::size_t width) {
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return std::string(width > characters ? width - characters : 0, ' ') + text;
}

std::string row(const std::string& name, const std::string& alone, const std::string& total,
                const std::string& own, const std::string& any_order) {
  return fmt::format("  {:<16}{:>9}{:>9}{:>9}{}", name, alone, total, own, right(any_order, 13));
}

std::string number(double value) { return value == 0 ? "0" : fmt::format("{:.1e}", value); }

void add_conditions(const ConditionRecord& condition, std::vector<std::string>& lines) {
  if (condition.bands.empty()) return;
  lines.push_back(
      fmt::format("  {:<22}{:>9}{:>11}{:>12}", "condition", "elements", "forward", "backward"));
  for (const ConditionBand& band : condition.bands) {
    const std::string range = std::isinf(band.high) ? fmt::format("above {:g}", band.low)
                                                    : fmt::format("up to {:g}", band.high);
    lines.push_back(fmt::format("  {:<22}{:>9}{:>11}{:>12}", range, band.elements,
                                number(band.forward), number(band.backward)));
  }
}

}  // namespace

std::string percent_text(double share) {
  if (share != 0 && std::fabs(share) < 5e-4) return "under 0.1 %";
  return fmt::format("{:.1f} %", 100 * share);
}

std::string kind_text(const std::string& kind) {
  return kind == "mandated" ? "rounding by contract" : kind;
}

std::vector<std::string> propagation_lines(const PropagationRecord& record) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} on {}", record.output, record.device));
  lines.push_back(row("stage", "alone", "total", "kernel", "any order"));
  double total = record.unexplained, own = record.own_unexplained, any = record.own_unexplained;
  for (const StageRecord& stage : record.stages) {
    const bool of_kernel = stage.kind != "quantization";
    lines.push_back(row(stage.name, number(stage.alone), column(stage.in_order, 0),
                        of_kernel ? column(stage.own_in_order, 0) : "-",
                        of_kernel ? column(stage.own_any_order, stage.own_any_order_error) : "-"));
    total += stage.in_order;
    own += stage.own_in_order;
    any += stage.own_any_order;
  }
  lines.push_back(row("unexplained", "", column(record.unexplained, 0),
                      column(record.own_unexplained, 0), column(record.own_unexplained, 0)));
  lines.push_back(row("together", "", column(total, 0), column(own, 0), column(any, 0)));
  lines.push_back(row("relative error", "", number(record.error), number(record.own_error),
                      number(record.own_error)));
  lines.push_back(row("interaction", "", "", column(record.interaction, 0), "-"));
  lines.push_back("");
  lines.push_back(fmt::format("  {:<22}{:>9}{:>11}", "made of", "relative", "share"));
  for (const ErrorPartRecord& part : record.parts) {
    lines.push_back(fmt::format("  {:<22}{:>9}{:>11}", kind_text(part.name), number(part.relative),
                                column(part.share, 0)));
  }
  if (!record.condition.bands.empty()) lines.push_back("");
  add_conditions(record.condition, lines);
  return lines;
}

std::string steps_text(const DepthRecord& record) {
  return fmt::format("{} {}", record.layers, record.steps.empty() ? "layers" : record.steps);
}

std::vector<std::string> depth_lines(const DepthRecord& record) {
  std::vector<std::string> lines;
  lines.push_back(steps_text(record));
  lines.push_back(
      fmt::format("  {:<22}{:>9}{:>7}{:>8}{:>10}", "", "error", "slope", "growth", "predicted"));
  bool weights = false;
  for (const DepthCurve& curve : record.curves) {
    weights |= !curve.weights.empty();
    lines.push_back(fmt::format("  {:<22}{:>9}{:>7.2f}{:>8.3f}{:>10}", curve.name,
                                number(curve.relative.empty() ? 0 : curve.relative.back()),
                                curve.exponent, curve.growth, number(curve.predicted)));
  }
  const std::string step = record.steps.empty() ? "layer" : "step";
  lines.push_back(fmt::format("  error ~ {0}s^slope; a {0} multiplies it by e^growth", step));
  lines.push_back(fmt::format("  predicted: the sum of what the {}s add", step));
  if (!weights) return lines;
  lines.push_back("");
  lines.push_back(
      fmt::format("  {:<22}{:>16}{:>18}", "gradients by weights", "all layers", "worst layer"));
  for (const DepthCurve& curve : record.curves) {
    if (curve.weights.empty()) continue;
    lines.push_back(
        fmt::format("  {:<22}{:>16}{:>18}", curve.name, number(root_mean_square(curve.weights)),
                    number(*std::max_element(curve.weights.begin(), curve.weights.end()))));
  }
  return lines;
}

std::string bits_text(double bits) {
  return std::isinf(bits) && bits > 0 ? "all" : fmt::format("{:.1f}", bits);
}

std::vector<std::string> stochastic_lines(const StochasticRecord& record) {
  std::vector<std::string> lines;
  const auto line = [&](std::string_view what, const std::string& value) {
    lines.push_back(fmt::format("  {:<36}{:>20}", what, value));
  };
  const auto known = [](double value, const std::string& text) {
    return std::isnan(value) ? std::string("-") : text;
  };
  lines.push_back(fmt::format("{} on {}, {} draws", record.output, record.device, record.draws));
  line("significant bits, median", bits_text(record.bits));
  line("  one element in ten has at most", bits_text(record.bits_low));
  line("  99 % of runs, 95 % confidence", bits_text(record.bits - record.uncertainty));
  line(fmt::format("  in every draw ({:.0f} % of runs)", 100 * record.shared_probability),
       bits_text(record.shared_bits));
  line("the same in every draw", fmt::format("{} of {}", record.steady, record.elements));
  line("deviation, relative", number(record.deviation));
  line("deviation / bound", known(record.of_bound, number(record.of_bound)));
  line("bias of the mean, in deviations", fmt::format("{:.2f}", record.bias));
  line("  of it toward zero", percent_text(record.toward_zero));
  if (!std::isnan(record.unbiased_nodes_bias)) {
    line("  left with tensor cores to nearest", fmt::format("{:.2f}", record.unbiased_nodes_bias));
  }
  return lines;
}

std::vector<std::string> gradient_lines(const GradientRecord& record) {
  std::vector<std::string> lines;
  const auto line = [&](std::string_view what, const std::string& value) {
    lines.push_back(fmt::format("  {:<32}{:>24}", what, value));
  };
  const auto quantiles = [&](std::string_view what, double median, double high, double largest) {
    line(what, fmt::format("{} {} {}", number(median), number(high), number(largest)));
  };
  lines.push_back(fmt::format("{} on {}, {} draws", record.output, record.device, record.draws));
  line("relative difference", number(record.relative));
  line("the contract's model has", number(record.expected));
  line("1 - cosine", number(record.cosine_gap));
  line("with the inputs' quantization", number(record.source_relative));
  line("  1 - cosine", number(record.source_cosine_gap));
  line("parallel to the gradient",
       fmt::format("{:.1e} ± {:.1e}", record.parallel, record.parallel_error));
  line("orthogonal to it", number(record.orthogonal));
  quantiles("rows: median, 99 %, largest", record.row_median, record.row_99, record.row_largest);
  if (record.head_largest > 0)
    quantiles("  heads", record.head_median, record.head_99, record.head_largest);
  if (record.channel_largest > 0) {
    quantiles("  channels", record.channel_median, record.channel_99, record.channel_largest);
  }
  line("squared, over draws' variance", number(record.of_spread));
  line("bias over draws", fmt::format("{:.3f} ± {:.3f}", record.bias, record.bias_noise));
  line("SGD descends by", fmt::format("{:.6f}", record.descent));
  line("Adam's updates differ by", number(record.adam_difference));
  line("  signs flipped, weighted", number(record.adam_flips));
  if (record.stagnation_rate > 0) {
    line("  half of 16-bit weights stay below", number(record.stagnation_rate));
  }
  line("stored as 0 but not 0", percent_text(record.lost));
  return lines;
}

}  // namespace plumbline
