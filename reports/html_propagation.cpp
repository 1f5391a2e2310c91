// SPDX-License-Identifier: MIT
// What `plumbline propagate` found out: which stage the error comes from, how it grows through a
// deep stack, what random rounding leaves of it, and what it does to gradients.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/html_sections.h"
#include "reports/propagation_text.h"

namespace plumbline {
namespace {

std::string sentence(const std::vector<std::string>& findings) {
  return fmt::format("{}", fmt::join(findings, " "));
}

Cell figure_of(double value) {
  return std::isnan(value) ? cell("–") : number_cell(value, fmt::format("{:.3g}", value));
}

Cell share_cell(double share) { return number_cell(share, percent_text(share)); }

Html stages(const PropagationRecord& p) {
  Table table;
  table.caption = fmt::format("{} of {} on {}", p.output, p.text, p.device);
  table.head = {"stage",
                "kind",
                "error when it alone is low",
                "share of the error",
                "of the kernel's own",
                "in any order"};
  for (const StageRecord& s : p.stages) {
    const bool own = s.kind != "quantization";  // of the inputs, before the kernel
    table.rows.push_back({cell(s.name), cell(s.kind), figure_of(s.alone), share_cell(s.in_order),
                          own ? share_cell(s.own_in_order) : cell("–"),
                          own ? share_cell(s.own_any_order) : cell("–")});
  }
  table.rows.push_back({cell("unexplained"), cell(""), cell("–"), share_cell(p.unexplained),
                        share_cell(p.own_unexplained), cell("–")});
  return figure_around("Which stage does the error come from?", sentence(p.findings),
                       to_html(table));
}

// Bands of condition numbers, by their upper ends; the open last one by its lower end.
Html conditions(const PropagationRecord& p) {
  const ConditionRecord& condition = p.condition;
  if (condition.bands.empty()) return {};
  Figure figure;
  figure.question = "Is it the kernel, or are the inputs ill-conditioned?";
  figure.finding = fmt::format(
      "The worst relative error, {:.3g}, is at an element of condition {:.3g}. Errors over their "
      "conditions reach {:.3g}, where the contract's arithmetic reaches {:.3g}.",
      condition.worst_forward, condition.worst_condition, condition.worst_backward,
      condition.expected_backward);
  figure.x = {"condition number", true};
  figure.y = {"median error", true};
  figure.table.caption = fmt::format("{} of {} on {}", p.output, p.text, p.device);
  figure.table.head = {"condition up to", "elements", "|error| / |exact|", "over the condition"};
  figure.series = {{"|error| / |exact|", 2, "dots", "orange"},
                   {"over the condition", 3, "dots", "blue"}};
  figure.note =
      "An error that grows with the condition number is the inputs' doing: no kernel of this "
      "arithmetic could do better. One that stays large when divided by it is the kernel's.";
  for (const ConditionBand& band : condition.bands) {
    const bool open = std::isinf(band.high);
    Cell range = number_cell(open ? band.low : band.high, open ? fmt::format("above {:g}", band.low)
                                                               : fmt::format("{:g}", band.high));
    figure.table.rows.push_back(
        {range, count_cell(band.elements), figure_of(band.forward), figure_of(band.backward)});
  }
  return to_html(figure);
}

Html depth(const DepthRecord& d) {
  constexpr std::array<const char*, 5> kColors = {"blue", "orange", "green", "vermillion", "gray"};
  Figure figure;
  figure.question =
      d.steps.empty()
          ? fmt::format("How does the error grow through {} {}?", d.layers, d.stack)
          : fmt::format("How does the error grow over {} of {}?", steps_text(d), d.stack);
  figure.finding = sentence(d.findings);
  figure.x = {d.steps.empty() ? "layers" : d.steps, true};
  figure.y = {"relative error", true};
  figure.table.head = {d.steps.empty() ? "layer" : "step"};
  std::size_t layers = 0;
  for (std::size_t i = 0; i < d.curves.size(); ++i) {
    figure.table.head.push_back(d.curves[i].name);
    figure.series.push_back(
        {d.curves[i].name, static_cast<int>(i + 1), "line", kColors[i % kColors.size()]});
    layers = std::max(layers, d.curves[i].relative.size());
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::vector<Cell> row = {count_cell(static_cast<std::int64_t>(layer) + 1)};
    for (const DepthCurve& curve : d.curves)
      row.push_back(
          figure_of(layer < curve.relative.size() ? curve.relative[layer] : std::nan("")));
    figure.table.rows.push_back(std::move(row));
  }
  return to_html(figure);
}

Html stochastics(const RunRecord& record) {
  if (record.stochastics.empty()) return {};
  Table table;
  table.head = {"case",
                "output",
                "draws",
                "significant bits",
                "nine in ten have",
                "99 % of runs",
                "deviation / bound",
                "bias in deviations",
                "toward zero"};
  std::string finding;
  for (const StochasticRecord& s : record.stochastics) {
    const auto bits = [](double value) { return number_cell(value, bits_text(value)); };
    table.rows.push_back({Cell{element("code", s.text)}, cell(s.output), count_cell(s.draws),
                          bits(s.bits), bits(s.bits_low), bits(s.bits - s.uncertainty),
                          figure_of(s.of_bound), figure_of(s.bias), share_cell(s.toward_zero)});
    finding += fmt::format("{}{} of {}: {}", finding.empty() ? "" : " ", s.output, s.kernel,
                           sentence(s.findings));
  }
  return figure_around("How many bits survive when every rounding is random?", finding,
                       to_html(table));
}

Html gradients(const RunRecord& record) {
  if (record.gradients.empty()) return {};
  Table table;
  table.head = {"case",       "output",     "relative", "expected", "bias", "noise of the bias",
                "1 - cosine", "stored as 0"};
  std::string finding;
  for (const GradientRecord& g : record.gradients) {
    table.rows.push_back({Cell{element("code", g.text)}, cell(g.output), figure_of(g.relative),
                          figure_of(g.expected), figure_of(g.bias), figure_of(g.bias_noise),
                          figure_of(g.cosine_gap), share_cell(g.lost)});
    if (!g.findings.empty())
      finding +=
          fmt::format("{}{}: {}", finding.empty() ? "" : " ", g.output, sentence(g.findings));
  }
  return figure_around("How far are gradients from exact ones, and to which side?", finding,
                       to_html(table));
}

}  // namespace

Html propagation_sections(const RunRecord& record) {
  Html html;
  for (const PropagationRecord& p : record.propagations) {
    html += stages(p);
    html += conditions(p);
  }
  for (const DepthRecord& d : record.depths) html += depth(d);
  html += stochastics(record);
  html += gradients(record);
  return html;
}

}  // namespace plumbline
