// SPDX-License-Identifier: MIT
// What `plumbline propagate` found out: which stage the error comes from, how it grows through a
// deep stack, what random rounding leaves of it, and what it does to gradients.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "oracles/stages/output_vectors.h"
#include "reports/html/sections.h"
#include "reports/propagation_text.h"
#include "reports/sweep.h"

namespace plumbline {
namespace {

std::string sentence(const std::vector<std::string>& findings) {
  return fmt::format("{}", fmt::join(findings, " "));
}

Cell figure_of(double value) { return number_cell(value, ulp_number(value)); }

Cell share_cell(double share) { return number_cell(share, percent_text(share)); }

// A step of a waterfall: from what the stages before make of the error to what this one adds.
class Waterfall {
 public:
  Cell step(double share) {
    const double from = place(sum_), to = place(sum_ + share);
    sum_ += share;
    Cell drawn;
    drawn.content = {
        fmt::format("<div class=\"fall\" aria-hidden=\"true\"><i "
                    "style=\"margin-left:{:.1f}%;width:{:.1f}%\"></i>"
                    "</div>",
                    std::min(from, to), std::max(std::fabs(to - from), 0.5))};
    return drawn;
  }

 private:
  // In percent of the width. Errors that cancel leave 0 to 1: what is beyond is not drawn.
  static double place(double share) { return 99.5 * std::clamp(share, 0.0, 1.0); }

  double sum_ = 0;
};

Html stages(const PropagationRecord& p) {
  Table table;
  table.caption = fmt::format("{} of {} on {}", p.output, p.text, p.device);
  table.head = {"stage",
                "kind",
                "error when it alone is low",
                "change when it alone is exact",
                "share of the error",
                "0 … all of it",
                "of the kernel's own",
                "0 … all of it",
                "in any order"};
  Waterfall whole, kernel;
  for (const StageRecord& s : p.stages) {
    const bool own = s.kind != "quantization";  // of the inputs, before the kernel
    table.rows.push_back({cell(s.name), cell(kind_text(s.kind)), figure_of(s.alone),
                          figure_of(s.without), share_cell(s.in_order), whole.step(s.in_order),
                          own ? share_cell(s.own_in_order) : figure_of(std::nan("")),
                          own ? kernel.step(s.own_in_order) : cell(""),
                          own ? share_cell(s.own_any_order) : figure_of(std::nan(""))});
  }
  table.rows.push_back({cell("unexplained"), cell(""), figure_of(std::nan("")),
                        figure_of(std::nan("")), share_cell(p.unexplained),
                        whole.step(p.unexplained), share_cell(p.own_unexplained),
                        kernel.step(p.own_unexplained), share_cell(p.own_unexplained)});
  return figure_around("Error by stage", sentence(p.findings), to_html(table));
}

Html parts(const PropagationRecord& p) {
  if (p.parts.empty()) return {};
  Table table;
  table.caption = fmt::format("{} of {} on {}", p.output, p.text, p.device);
  table.head = {"part", "relative error", "share", "0 … all of it"};
  Waterfall whole;
  for (const ErrorPartRecord& part : p.parts)
    table.rows.push_back({cell(kind_text(part.name)), figure_of(part.relative),
                          share_cell(part.share), whole.step(part.share)});
  const auto largest = std::max_element(
      p.parts.begin(), p.parts.end(),
      [](const ErrorPartRecord& a, const ErrorPartRecord& b) { return a.share < b.share; });
  return figure_around(
      "Parts of the error",
      fmt::format("Most of it, {}, is {}. In quadrature the stages alone make {:.2f} of the joint "
                  "error; the interaction of the kernel's own is {}.",
                  percent_text(largest->share), kind_text(largest->name), p.root_sum_square,
                  percent_text(p.interaction)),
      to_html(table));
}

// Bands of condition numbers, by their upper ends; the open last one by its lower end.
Html conditions(const PropagationRecord& p) {
  const ConditionRecord& condition = p.condition;
  if (condition.bands.empty()) return {};
  Figure figure;
  figure.title = "Error by condition";
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
    Cell range =
        number_cell(open ? band.low : band.high,
                    open ? fmt::format("{:g} and more", band.low) : fmt::format("{:g}", band.high));
    figure.table.rows.push_back(
        {range, count_cell(band.elements), figure_of(band.forward), figure_of(band.backward)});
  }
  return to_html(figure);
}

// Of column i + 1, whose color and line no other of the first ten has. What was asked for has a
// color of its own in every figure.
Series curve(const std::string& name, std::size_t i) {
  constexpr std::array<const char*, 5> kColors = {"blue", "orange", "green", "vermillion", "gray"};
  if (name == kGivenArithmetic) return {name, static_cast<int>(i + 1), "line", "purple"};
  return {name, static_cast<int>(i + 1), i < kColors.size() ? "line" : "dashed",
          kColors[i % kColors.size()]};
}

// What grows as the square root of the size and as the size itself, from the first point of the
// first curve on: two more columns, drawn as guides.
void add_guides(Figure& figure) {
  std::vector<std::vector<Cell>>& rows = figure.table.rows;
  constexpr std::size_t kFewestPoints = 3;
  if (rows.size() < kFewestPoints || !figure.x.log || figure.series.empty()) return;
  const auto column = static_cast<std::size_t>(figure.series.front().column);
  const double x = rows.front()[0].value, y = rows.front()[column].value;
  if (!(x > 0) || !(y > 0)) return;
  for (const auto& [name, exponent, color] :
       {std::tuple{"slope 1/2", 0.5, "gray"}, std::tuple{"slope 1", 1.0, "soft"}}) {
    figure.table.head.emplace_back(name);
    figure.series.push_back({name, static_cast<int>(figure.table.head.size()) - 1, "guide", color});
    for (std::vector<Cell>& row : rows)
      row.push_back(figure_of(y * std::pow(row[0].value / x, exponent)));
  }
}

// A curve where the field is a number, else the table alone.
Html sweep(const SweepTable& swept) {
  Figure figure;
  figure.title = fmt::format("Error of {} by {}", swept.of, swept.field);
  figure.finding = sentence(swept.findings);
  const bool log =
      std::ranges::all_of(swept.rows, [](const SweepTable::Row& row) { return row.x() > 0; });
  figure.x = {swept.field, log};
  figure.y = {swept.axis, true};
  Table& table = figure.table;
  table.caption = swept.title;
  table.head = {swept.field};
  const bool stages = std::ranges::any_of(
      swept.rows, [](const SweepTable::Row& row) { return !row.largest.empty(); });
  for (std::size_t i = 0; i < swept.columns.size(); ++i) {
    const SweepTable::Column& column = swept.columns[i];
    table.head.push_back(column.title);
    if (column.drawn) figure.series.push_back(curve(column.title, i));
  }
  if (stages) table.head.emplace_back("largest of the kernel's own");
  for (const SweepTable::Row& row : swept.rows) {
    std::vector<Cell> cells = {swept.numeric() ? number_cell(row.x(), row.value) : cell(row.value)};
    for (const double number : row.numbers) cells.push_back(figure_of(number));
    if (stages) cells.push_back(cell(row.largest));
    table.rows.push_back(std::move(cells));
  }
  if (swept.numeric()) add_guides(figure);
  return swept.numeric() ? to_html(figure)
                         : figure_around(figure.title, figure.finding, to_html(table));
}

Html depth(const DepthRecord& d) {
  Figure figure;
  figure.title = d.steps.empty() ? fmt::format("Error through {} {}", d.layers, d.stack)
                                 : fmt::format("Error over {} of {}", steps_text(d), d.stack);
  figure.finding = sentence(d.findings);
  figure.x = {d.steps.empty() ? "layers" : d.steps, true};
  figure.y = {"relative error", true};
  figure.table.head = {d.steps.empty() ? "layer" : "step"};
  std::size_t layers = 0;
  for (std::size_t i = 0; i < d.curves.size(); ++i) {
    figure.table.head.push_back(d.curves[i].name);
    figure.series.push_back(curve(d.curves[i].name, i));
    layers = std::max(layers, d.curves[i].relative.size());
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::vector<Cell> row = {count_cell(static_cast<std::int64_t>(layer) + 1)};
    for (const DepthCurve& curve : d.curves)
      row.push_back(
          figure_of(layer < curve.relative.size() ? curve.relative[layer] : std::nan("")));
    figure.table.rows.push_back(std::move(row));
  }
  add_guides(figure);
  return to_html(figure);
}

// Slopes, and the level at the end beside what single layers add up to.
Html growth(const DepthRecord& d) {
  if (d.curves.empty()) return {};
  Table table;
  const char* const step = d.steps.empty() ? "layer" : "step";
  table.caption = fmt::format(
      "{}. The error grows as {}s^slope, and a {} multiplies errors by e^growth. Predicted is "
      "what the {}s' own errors come to.",
      d.stack, step, step, step);
  table.head = {"arithmetic", "error at the end", "slope",
                "growth",     "predicted",        "measured / predicted"};
  for (const DepthCurve& c : d.curves) {
    const double end = c.relative.empty() ? std::nan("") : c.relative.back();
    table.rows.push_back({cell(c.name), figure_of(end),
                          number_cell(c.exponent, fmt::format("{:.2f}", c.exponent)),
                          number_cell(c.growth, fmt::format("{:.3f}", c.growth)),
                          figure_of(c.predicted), figure_of(end / c.predicted)});
  }
  const DepthCurve& first = d.curves.front();
  const double end = first.relative.empty() ? std::nan("") : first.relative.back();
  return figure_around(
      fmt::format("Sum of the errors of single {}s", step),
      fmt::format("{}: the error grows as {}s^{:.2f}, where independent errors have 0.5 and "
                  "coherent ones 1, and is {:.2f} times what the {}s' own errors come to.",
                  first.name, step, first.exponent, end / first.predicted, step),
      to_html(table));
}

// What every layer adds by itself, and what it multiplies errors by (the same in all arithmetics).
Html injections(const DepthRecord& d) {
  Figure figure;
  const std::string step = d.steps.empty() ? "layer" : "step";
  figure.title = fmt::format("Error added and passed on by each {}", step);
  figure.x = {step};
  figure.y = {"relative error added", true};
  figure.table.caption = d.stack;
  figure.table.head = {step};
  const DepthCurve* worst = nullptr;
  std::size_t worst_at = 0;
  for (std::size_t i = 0; i < d.curves.size(); ++i) {
    const DepthCurve& c = d.curves[i];
    figure.table.head.push_back(c.name);
    figure.series.push_back(curve(c.name, i));
    for (std::size_t at = 0; at < c.injected.size(); ++at) {
      if (worst && !(c.injected[at] > worst->injected[worst_at])) continue;
      worst = &c;
      worst_at = at;
    }
  }
  if (!worst) return {};
  figure.table.head.push_back("multiplies errors by");
  const DepthCurve& first = d.curves.front();
  for (std::size_t at = 0; at < first.injected.size(); ++at) {
    std::vector<Cell> row = {count_cell(static_cast<std::int64_t>(at) + 1)};
    for (const DepthCurve& c : d.curves)
      row.push_back(figure_of(at < c.injected.size() ? c.injected[at] : std::nan("")));
    row.push_back(figure_of(at < first.gain.size() ? first.gain[at] : std::nan("")));
    figure.table.rows.push_back(std::move(row));
  }
  figure.finding = fmt::format(
      "The most, {:.2g}, is added by {} {} in \"{}\"; a {} multiplies errors by {:.3f} on average.",
      worst->injected[worst_at], step, worst_at + 1, worst->name, step, std::exp(first.growth));
  return to_html(figure);
}

// Of gradients: how far those by the layers' weights are from exact ones.
Html weights(const DepthRecord& d) {
  Figure figure;
  figure.title = "Error of weight gradients by layer";
  figure.x = {"layers back from the end"};
  figure.y = {"relative error", true};
  figure.table.caption = d.stack;
  figure.table.head = {"layers back"};
  std::vector<const DepthCurve*> curves;
  for (const DepthCurve& c : d.curves)
    if (!c.weights.empty()) curves.push_back(&c);
  if (curves.empty()) return {};
  for (std::size_t i = 0; i < curves.size(); ++i) {
    figure.table.head.push_back(curves[i]->name);
    figure.series.push_back(curve(curves[i]->name, i));
    figure.finding += fmt::format("{}{:.2g} in \"{}\"", i == 0 ? "" : ", ",
                                  root_mean_square(curves[i]->weights), curves[i]->name);
  }
  figure.finding = "Root mean square over layers: " + figure.finding + ".";
  for (std::size_t at = 0; at < curves[0]->weights.size(); ++at) {
    std::vector<Cell> row = {count_cell(static_cast<std::int64_t>(at) + 1)};
    for (const DepthCurve* c : curves)
      row.push_back(figure_of(at < c->weights.size() ? c->weights[at] : std::nan("")));
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
  return figure_around("Significant bits under random rounding", finding, to_html(table));
}

Html gradients(const RunRecord& record) {
  Table table;
  table.head = {"case",
                "output",
                "draws",
                "relative",
                "expected",
                "1 - cosine",
                "with the inputs' quantization",
                "its 1 - cosine",
                "parallel",
                "its deviation",
                "orthogonal",
                "bias",
                "noise of the bias"};
  std::string finding;
  for (const GradientRecord& g : record.gradients) {
    table.rows.push_back({Cell{element("code", g.text)}, cell(g.output), count_cell(g.draws),
                          figure_of(g.relative), figure_of(g.expected), figure_of(g.cosine_gap),
                          figure_of(g.source_relative), figure_of(g.source_cosine_gap),
                          figure_of(g.parallel), figure_of(g.parallel_error),
                          figure_of(g.orthogonal), figure_of(g.bias), figure_of(g.bias_noise)});
    if (!g.findings.empty())
      finding +=
          fmt::format("{}{}: {}", finding.empty() ? "" : " ", g.output, sentence(g.findings));
  }
  return figure_around("Error and bias of gradients", finding, to_html(table));
}

// Where in a gradient it is: rows, heads and channels with their medians and worst.
Html gradient_places(const RunRecord& record) {
  Table table;
  table.head = {"output", "of", "median", "99 %", "largest"};
  const GradientRecord* worst = nullptr;
  const auto uneven = [](const GradientRecord& g) { return g.row_largest / g.row_median; };
  for (const GradientRecord& g : record.gradients) {
    const auto add = [&](const char* of, double median, double high, double largest) {
      if (largest > 0)
        table.rows.push_back({cell(fmt::format("{} of {}", g.output, g.kernel)), cell(of),
                              figure_of(median), figure_of(high), figure_of(largest)});
    };
    add("rows", g.row_median, g.row_99, g.row_largest);
    add("heads", g.head_median, g.head_99, g.head_largest);
    add("channels", g.channel_median, g.channel_99, g.channel_largest);
    if (g.row_median > 0 && (!worst || uneven(g) > uneven(*worst))) worst = &g;
  }
  if (!worst) return {};
  return figure_around("Error by row, head and channel",
                       fmt::format("The worst row of {} is {:.1f} times as far off as the median.",
                                   worst->output, uneven(*worst)),
                       to_html(table));
}

Html gradient_effects(const RunRecord& record) {
  Table table;
  table.head = {"output",
                "SGD descends by",
                "Adam's updates differ by",
                "signs flipped",
                "stored as 0",
                "NaN or infinite",
                "squared, over the draws' variance",
                "16-bit weights stay below"};
  const GradientRecord& worst =
      *std::max_element(record.gradients.begin(), record.gradients.end(),
                        [](const GradientRecord& a, const GradientRecord& b) {
                          return a.adam_difference < b.adam_difference;
                        });
  for (const GradientRecord& g : record.gradients) {
    table.rows.push_back({cell(fmt::format("{} of {}", g.output, g.kernel)),
                          number_cell(g.descent, fmt::format("{:.6f}", g.descent)),
                          figure_of(g.adam_difference), figure_of(g.adam_flips), share_cell(g.lost),
                          share_cell(g.not_finite), figure_of(g.of_spread),
                          figure_of(g.stagnation_rate > 0 ? g.stagnation_rate : std::nan(""))});
  }
  return figure_around(
      "Effect on optimizer steps",
      fmt::format(
          "After {} the last update of Adam is off by {:.2g} in {}, the most; a step of SGD "
          "goes down {:.4f} times as far as with the exact gradient.",
          counted(worst.draws, "step"), worst.adam_difference, worst.output, worst.descent),
      to_html(table));
}

}  // namespace

Html propagation_sections(const RunRecord& record) {
  Html html;
  for (const SweepTable& table : sweep_tables(record)) html += sweep(table);
  for (const PropagationRecord& p : record.propagations) {
    html += stages(p);
    html += parts(p);
    html += conditions(p);
  }
  for (const DepthRecord& d : record.depths) {
    html += depth(d);
    html += growth(d);
    html += injections(d);
    html += weights(d);
  }
  html += stochastics(record);
  if (record.gradients.empty()) return html;
  html += gradients(record);
  html += gradient_places(record);
  html += gradient_effects(record);
  return html;
}

}  // namespace plumbline
