// SPDX-License-Identifier: MIT
// One case of a kernel, element by element: for which results its errors are.
#include <fmt/format.h>

#include <algorithm>

#include "reports/html/sections.h"

namespace plumbline {

Html error_by_magnitude(const RunRecord& record, const KernelRecord& kernel) {
  Html html;
  for (const ErrorMap& p : record.error_maps) {
    if (p.kernel != kernel.name || p.binades.size() < 2) continue;
    const auto worst =
        std::max_element(p.binades.begin(), p.binades.end(),
                         [](const auto& a, const auto& b) { return a.worst_ulp < b.worst_ulp; });
    if (worst->worst_ulp == 0) continue;
    double elsewhere = 0;
    for (const ErrorMap::Binade& b : p.binades) {
      if (b.exponent > worst->exponent + 1) elsewhere = std::max(elsewhere, b.worst_ulp);
    }
    Figure figure;
    figure.title = "Error by magnitude of the result";
    const bool small_only =
        worst->exponent < p.binades.back().exponent - 1 && elsewhere * 8 < worst->worst_ulp;
    figure.finding =
        worst->worst_ulp <= 0.5
            ? "None by their size: all are within half an ulp of exact."
            : fmt::format(
                  "The largest error, {:.3g} ulp, is at results near 2^{}{}.", worst->worst_ulp,
                  worst->exponent,
                  small_only
                      ? "; larger results are much closer: where sums cancel, an ulp is small"
                  : kernel.verdict == Verdict::fail
                      ? "; larger results are no better: the error is not one of cancellation"
                      : "");
    figure.x.title = "magnitude of the exact result, as a power of two";
    figure.y = {"error in output ulp", true};
    figure.table.head = {"2^", "outputs", "median (ulp)", "worst (ulp)"};
    figure.series = {{"worst", 3, "line", "vermillion"}, {"median", 2, "line", "blue"}};
    for (const ErrorMap::Binade& b : p.binades) {
      figure.table.rows.push_back({number_cell(b.exponent, fmt::format("{}", b.exponent)),
                                   count_cell(b.outputs),
                                   number_cell(b.median_ulp, fmt::format("{:.3g}", b.median_ulp)),
                                   number_cell(b.worst_ulp, fmt::format("{:.3g}", b.worst_ulp))});
    }
    figure.note = fmt::format("{} of {} on {}.", p.output, p.text, p.device);
    html += to_html(figure);
  }
  return html;
}

}  // namespace plumbline
