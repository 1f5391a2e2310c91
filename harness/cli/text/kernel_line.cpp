// SPDX-License-Identifier: MIT
#include "harness/cli/text/kernel_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/cli/text/progress.h"
#include "oracles/formats/format.h"
#include "reports/card.h"
#include "reports/count_text.h"
#include "reports/record/separation.h"

namespace plumbline {
namespace {

std::string error_text(const KernelRecord& k, const std::optional<RepresentativeError>& error,
                       bool wide) {
  if (k.errors > 0 && k.errors == k.cases) return "nothing could be judged";
  if (k.compared == 0) return "";
  if (k.worst_share > 1 && !std::isinf(k.worst_share))
    return (wide ? "largest error " : "") + describe_excess(k);
  if (k.verdict == Verdict::fail || std::isinf(k.worst_share)) return "";  // not by its size
  if (k.worst_ulp == 0) return "exact";
  if (!error) return "";
  if (!wide) return ulp_text(error->ulp);
  return error->ulp == 0 ? "99 % exact"
                         : fmt::format("99 % within {} of {}", ulp_text(error->ulp), error->format);
}

// "3.2M" where a column is narrow.
std::string short_count(std::int64_t count) {
  if (count < 10'000) return fmt::format("{}", count);
  const double thousands = static_cast<double>(count) / 1e3;
  if (thousands < 1000) return fmt::format("{:.0f}k", thousands);
  return fmt::format("{:.1f}M", thousands / 1e3);
}

bool is_wide(const KernelColumns& columns) { return columns.width >= 100; }

std::string compared_text(const KernelRecord& k, const KernelColumns& columns) {
  return is_wide(columns) ? count_text(k.compared) : short_count(k.compared);
}

}  // namespace

std::string_view status_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "FAIL";
    case Verdict::mistrusted:
      return "mistrusted";
    case Verdict::error:
      return "error";
    case Verdict::skip:
      return "skip";
  }
  return "";
}

KernelColumns kernel_columns(const std::vector<KernelRecord>& kernels, int width) {
  KernelColumns columns{.verdict = 4, .width = static_cast<std::size_t>(width)};
  for (const KernelRecord& k : kernels) {
    columns.verdict = std::max(columns.verdict, status_word(k.verdict).size());
    columns.name = std::max(columns.name, k.name.size());
    columns.cases = std::max(columns.cases, count_text(k.cases).size());
    columns.compared = std::max(columns.compared, compared_text(k, columns).size());
  }
  return columns;
}

std::string kernel_figures(const KernelRecord& k, const std::optional<RepresentativeError>& error,
                           const KernelColumns& columns) {
  const bool wide = is_wide(columns);
  const std::string gap = wide ? "   " : "  ";
  std::string line = fmt::format("{:<{}}", k.name, columns.name);
  const std::size_t room = columns.width - std::min(columns.width, columns.verdict + 4);
  const auto add = [&](const std::string& figure) {
    if (figure.empty() || line.size() + gap.size() + figure.size() > room) return;
    line += gap + figure;
  };
  const std::string cases = k.cases == 1 ? "case " : "cases";
  add(fmt::format("{:>{}} {}", count_text(k.cases), columns.cases, cases));
  add(fmt::format("{:>{}} {}", compared_text(k, columns), columns.compared,
                  !wide             ? "compared"
                  : k.compared == 1 ? "output compared "
                                    : "outputs compared"));
  add(error_text(k, error, wide));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<std::string> kernel_reasons(const KernelRecord& k) {
  std::vector<std::string> lines;
  if (std::string failures = failures_line(k); !failures.empty())
    lines.push_back(std::move(failures));
  lines.insert(lines.end(), k.reasons.begin(), k.reasons.end());
  if (!k.left_out.empty()) lines.push_back(k.left_out);
  lines.insert(lines.end(), k.mistrusted_because.begin(), k.mistrusted_because.end());
  return lines;
}

std::vector<std::string> kernel_details(const KernelRecord& k) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "{} outputs, {} compared with exact values, {} bounded, {} undecided, referee {} of {} agree",
      k.outputs, k.compared, k.bounded, k.undecided, k.refereed - k.disagreements, k.refereed));
  // A share of 1 is reached by every kernel of an arithmetic that the contract fixes.
  if (k.worst_share > 1 && !std::isinf(k.worst_share)) {
    lines.push_back("largest error: " + describe_excess(k));
  } else if (k.worst_share < 0.995) {
    lines.push_back(fmt::format("largest error: {} of its bound", share_text(k.worst_share)));
  }
  std::map<std::string, std::vector<std::string>> unrepeated;  // loops, and the devices
  for (const auto& [device, code] : k.code) {
    if (!code.unrepeated.empty())
      unrepeated[fmt::format("{}", fmt::join(code.unrepeated, ", "))].push_back(device);
  }
  for (const auto& [loops, devices] : unrepeated) {
    lines.push_back(
        fmt::format("no case repeats the loop at {} ({})", loops, fmt::join(devices, " + ")));
  }
  if (!k.population.empty()) lines.push_back("all errors at once: " + k.population);
  for (const KnownRecord& known : k.known) lines.push_back(known_note(known));
  if (k.sampled_cases > 0) {
    lines.push_back(
        fmt::format("{}: {}", counted(k.sampled_cases, "large case"), sampling_note(k)));
  }
  for (const auto& [device, words] : k.arithmetic)
    lines.push_back(fmt::format("{}: {}", device, words));
  if (const std::string accuracy = accuracy_note(k); !accuracy.empty())
    lines.push_back(fmt::format("{} ({})", accuracy, k.least_accurate_case));
  lines.push_back(fmt::format("its cases took {}, the wall time of each added up",
                              duration_text(k.elapsed_ms / 1000)));
  return lines;
}

}  // namespace plumbline
