// SPDX-License-Identifier: MIT
// The first screen of report.html: the verdict in one sentence, what is wrong, and one line for
// every kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "oracles/formats/format.h"
#include "reports/card.h"
#include "reports/change.h"
#include "reports/error_profile.h"
#include "reports/excerpt.h"
#include "reports/html/sections.h"
#include "reports/record/separation.h"

namespace plumbline {
namespace {

constexpr std::size_t kLeads = 3;

Html link_to(const KernelRecord& kernel) {
  return element("a", element("code", kernel.name),
                 fmt::format("href=\"#{}\"", kernel_anchor(kernel.name)));
}

// Why passes are mistrusted: each reason once, with the kernels that have it.
Html reasons_to_mistrust(const RunRecord& record) {
  std::map<std::string, std::vector<const KernelRecord*>> reasons;
  for (const KernelRecord& k : record.kernels) {
    for (const std::string& reason : k.mistrusted_because) reasons[reason].push_back(&k);
  }
  Html html;
  std::size_t shown = 0;
  for (const auto& [reason, kernels] : reasons) {
    if (shown++ == kLeads) break;
    Html who = badge(Verdict::mistrusted);
    for (std::size_t i = 0; i < std::min(kernels.size(), kLeads); ++i)
      who += escaped(i == 0 ? " " : ", ") + link_to(*kernels[i]);
    if (kernels.size() > kLeads) who += escaped(fmt::format(", {} more", kernels.size() - kLeads));
    html += element("div", element("p", who) + element("p", reason), "class=\"lead near\"");
  }
  if (reasons.size() > kLeads)
    html += element(
        "p", fmt::format("{} more below.",
                         counted(static_cast<std::int64_t>(reasons.size() - kLeads), "reason")));
  return html;
}

// The most failing cases first.
std::vector<const KernelRecord*> failing_kernels(const RunRecord& record) {
  std::vector<const KernelRecord*> failing;
  for (const KernelRecord& k : record.kernels)
    if (k.verdict == Verdict::fail || k.verdict == Verdict::error) failing.push_back(&k);
  std::ranges::stable_sort(failing, std::greater<>(), [](const KernelRecord* k) {
    return std::pair(k->verdict == Verdict::fail, k->failed);
  });
  return failing;
}

}  // namespace

Html lead(const RunRecord& record) {
  Html html;
  const std::vector<const KernelRecord*> failing = failing_kernels(record);
  const std::size_t shown = std::min(failing.size(), kLeads);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRecord& k = *failing[i];
    Html box = badge(k.verdict);
    box += escaped(" ");
    box += link_to(k);
    const auto card = std::find_if(record.counterexamples.begin(), record.counterexamples.end(),
                                   [&](const Counterexample& c) { return c.kernel == k.name; });
    Html words;
    if (card != record.counterexamples.end()) {
      words += element("p", card->headline);
      if (const std::string failures = failures_line(k); !failures.empty())
        words += element("p", failures);
      if (!card->findings.empty()) words += element("p", card->findings.front().text);
      if (!card->excerpts.empty()) {
        words += element("p", excerpt_lines(card->excerpts.front())[0]);
        words += source_lines(card->excerpts.front());
      }
      if (!card->faults.empty()) words += element("p", fits_sentence(*card));
      if (const std::string subject = replay_subject(*card); !subject.empty()) {
        words += element("pre", "plumbline replay " + subject, "class=\"replay\" tabindex=\"0\"");
      }
    } else {
      const auto wrong = std::find_if(
          record.cases.begin(), record.cases.end(),
          [&](const CaseRecord& c) { return c.kernel == k.name && c.verdict == k.verdict; });
      if (wrong != record.cases.end()) {
        words += element("p", wrong->reason);
        words += element("pre", "plumbline replay " + replay_subject(record, *wrong),
                         "class=\"replay\" tabindex=\"0\"");
      }
    }
    html += element("div", element("p", box) + words, "class=\"lead\"");
  }
  if (failing.size() > shown)
    html += element("p", fmt::format("{} more below.",
                                     counted(std::ssize(failing) - static_cast<std::int64_t>(shown),
                                             "failing kernel")));
  return html + reasons_to_mistrust(record);
}

namespace {

// The error that 99 % of a kernel's outputs keep within where values have one sign, of each output
// format.
std::map<std::string, double> typical_errors(const RunRecord& record, const KernelRecord& kernel) {
  std::map<std::string, double> errors;
  for (const ErrorProfile& profile : error_profiles(record, kernel.name, "positive")) {
    double& error = errors[profile.format];
    error = std::max(error, profile.quantile(0.99));
  }
  std::erase_if(errors, [&](const auto& one) { return !is_meaningful(one.second, kernel); });
  return errors;
}

// By how much a kernel exceeds its bound, or how large its errors are.
Cell error_cell(const RunRecord& record, const KernelRecord& kernel) {
  Cell out;
  if (kernel.compared == 0) {
    out = cell(kernel.verdict == Verdict::skip ? "did not run" : "not compared");
    out.tone = Tone::off;
  } else if (kernel.worst_share > 1) {
    out =
        number_cell(kernel.worst_share, std::isinf(kernel.worst_share)
                                            ? "an error where none is allowed"
                                            : share_text(kernel.worst_share) + " what is allowed");
    out.tone = Tone::fail;
  } else if (kernel.worst_ulp == 0) {
    out = number_cell(0, "exact");
    out.tone = Tone::exact;
  } else {
    std::string words;
    double largest = std::nan("");
    for (const auto& [format, error] : typical_errors(record, kernel)) {
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", format, ulp_number(error));
      largest = std::isnan(largest) ? error : std::max(largest, error);
    }
    if (words.empty()) words = share_text(kernel.worst_share) + " of what is allowed";
    out = number_cell(largest, words);
  }
  return out;
}

// Of the device where the cases reach the least.
Cell code_cell(const KernelRecord& kernel) {
  if (kernel.code.empty()) return {};
  double least = 1;
  for (const auto& [device, code] : kernel.code) {
    if (code.instructions == 0) continue;
    least = std::min(least,
                     static_cast<double>(code.executed) / static_cast<double>(code.instructions));
  }
  return number_cell(100 * least, fmt::format("{:.0f} %", std::floor(100 * least)));
}

std::string overview_finding(const RunRecord& record) {
  std::int64_t beyond = 0, tried = 0, rounded = 0;
  double largest = 0;
  std::string where, kernel;
  for (const KernelRecord& k : record.kernels) {
    beyond += k.compared > 0 && k.worst_share > 1;
    if (k.compared == 0 || k.worst_share > 1) continue;
    const std::map<std::string, double> errors = typical_errors(record, k);
    if (errors.empty()) continue;
    ++tried;
    // The narrowest format tells: in a wider one the sum's own error is many ulp.
    const auto most = std::ranges::min_element(errors, {}, [](const auto& format_and_error) {
      const std::optional<FormatId> id = format_by_name(format_and_error.first);
      return id ? format(*id).storage_bits : 64;
    });
    rounded += most->second <= 0.5;
    if (most->second <= largest) continue;
    largest = most->second;
    where = fmt::format("{} ulp ({})", ulp_number(largest), most->first);
    kernel = k.name;
  }
  std::string text;
  if (beyond > 0)
    text = fmt::format("{} beyond what the contract allows. ", counted(beyond, "kernel"));
  if (tried == 0) return text;
  const std::string_view half = "half an ulp";
  const bool all = rounded == tried || rounded == 0;
  text += fmt::format("Where values have one sign, 99 % of the outputs{} are within {} of exact",
                      tried == 1 ? ""
                      : all      ? " of every kernel"
                                 : fmt::format(" of {} of {} kernels", rounded, tried),
                      rounded > 0 ? half : where);
  if (rounded < tried && tried > 1)
    text += fmt::format("; those of {} are furthest from it{}", kernel,
                        rounded > 0 ? ", within " + where : "");
  return text + ".";
}

}  // namespace

Html kernel_overview(const RunRecord& record) {
  if (record.kernels.empty() && !record.depths.empty()) return {};  // none was asked for
  std::vector<const KernelRecord*> kernels;
  for (const KernelRecord& k : record.kernels) kernels.push_back(&k);
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) {
    return std::tuple(-severity(a->verdict), a->operation) <
           std::tuple(-severity(b->verdict), b->operation);
  });
  Table table;
  table.head = {"verdict", "kernel",           "operation",
                "cases",   "outputs compared", "error without cancellation, in ulp"};
  const bool any_failed =
      std::ranges::any_of(kernels, [](const KernelRecord* k) { return k->failed + k->errors > 0; });
  if (any_failed) table.head.insert(table.head.begin() + 4, "of them failed");
  const bool code_ran =
      std::ranges::any_of(kernels, [](const KernelRecord* k) { return !k->code.empty(); });
  if (code_ran) table.head.push_back("code run");
  const bool timed =
      std::ranges::any_of(kernels, [](const KernelRecord* k) { return k->elapsed_ms > 0; });
  if (timed) table.head.push_back("seconds of workers");
  for (const KernelRecord* k : kernels) {
    table.rows.push_back({Cell{badge(k->verdict)}, Cell{link_to(*k)}, cell(k->operation),
                          count_cell(k->cases), count_cell(k->compared), error_cell(record, *k)});
    if (any_failed) {
      table.rows.back().insert(table.rows.back().begin() + 4, count_cell(k->failed + k->errors));
    }
    if (code_ran) table.rows.back().push_back(code_cell(*k));
    if (timed)
      table.rows.back().push_back(
          number_cell(k->elapsed_ms / 1000, fmt::format("{:.1f}", k->elapsed_ms / 1000)));
  }
  Html html = figure_around("Verdicts and errors", overview_finding(record), to_html(table));
  constexpr std::size_t kFewKernels = 8;
  if (kernels.size() <= kFewKernels) return html;
  Html filter = element("label", Html{"Show only kernels, operations and verdicts with "
                                      "<input type=\"search\"/>"});
  return element("p", filter, "class=\"filter\" hidden=\"hidden\"") + html;
}

Html change_section(const RunRecord& record, const PageOptions& options) {
  if (!options.baseline) return {};
  Table table;
  table.head = {"change", "kernel", "how"};
  std::map<Change, int> counts;
  for (const KernelChange& change : changes(*options.baseline, baseline_of(record))) {
    ++counts[change.change];
    Cell word = cell(name(change.change));
    word.tone = change.broke || change.change == Change::worse || change.change == Change::error
                    ? Tone::fail
                : change.change == Change::better  ? Tone::pass
                : change.change == Change::unclear ? Tone::near
                                                   : Tone::off;
    table.rows.push_back({word, cell(change.kernel), cell(change.words)});
  }
  std::string finding;
  for (const auto& [change, count] : counts)
    finding += fmt::format("{}{} {}", finding.empty() ? "" : ", ", count, name(change));
  return figure_around(fmt::format("Since {}", options.baseline->from),
                       finding.empty() ? "Nothing to compare." : finding + ".", to_html(table));
}

}  // namespace plumbline
