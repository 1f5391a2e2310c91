// SPDX-License-Identifier: MIT
// What `plumbline propagate` and `plumbline mutants` found out: which stage the error comes from,
// how it grows through a deep stack, what random rounding leaves of it, what it does to gradients,
// and how good the gate is.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/html_sections.h"
#include "reports/propagation_text.h"

namespace plumbline {
namespace {

constexpr std::size_t kShownSurvivors = 50;

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
  for (const PropagationRecord& p : record.propagations) html += stages(p);
  for (const DepthRecord& d : record.depths) html += depth(d);
  html += stochastics(record);
  html += gradients(record);
  return html;
}

Html mutant_section(const RunRecord& record) {
  if (record.mutants.empty()) return {};
  Table scores;
  scores.head = {"kernel",     "score",  "caught", "survived", "no observable effect",
                 "duplicates", "refused"};
  for (const KernelRecord& k : record.kernels) {
    const MutantScore s = score(record.mutants, k.name);
    Cell percent = number_cell(s.percent(), fmt::format("{:.1f} %", s.percent()));
    percent.tone = s.survived == 0 ? Tone::pass : Tone::near;
    scores.rows.push_back({cell(k.name), percent, count_cell(s.caught), count_cell(s.survived),
                           count_cell(s.no_effect), count_cell(s.duplicates),
                           count_cell(s.refused)});
  }
  const MutantScore all = score(record.mutants);
  Html content = to_html(scores);
  Table survivors;
  survivors.head = {"survived", "kernel", "where", "before", "after", "of its bound"};
  for (const MutantRecord& m : record.mutants) {
    if (m.outcome != MutantOutcome::survived || survivors.rows.size() == kShownSurvivors) continue;
    survivors.rows.push_back({cell(fmt::format("{} ({})", m.id, m.kind)), cell(m.kernel),
                              cell(m.source), Cell{element("code", m.before)},
                              Cell{element("code", m.after)},
                              number_cell(m.worst_share, bound_text(m.worst_share))});
  }
  if (!survivors.rows.empty()) content += to_html(survivors);
  return figure_around("How many planted faults does the gate catch?",
                       fmt::format("{} of {} faults that change any output are caught: {:.1f} %.",
                                   all.caught, all.effective(), all.percent()),
                       content);
}

}  // namespace plumbline
