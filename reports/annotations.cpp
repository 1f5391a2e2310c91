// SPDX-License-Identifier: MIT
#include "reports/annotations.h"

#include <fmt/format.h>

#include "reports/card.h"
#include "reports/places.h"
#include "reports/record/escape.h"

namespace plumbline {
namespace {

constexpr std::size_t kMost = 9;

// How workflow commands write what would end a line or, in a property, the property.
std::string command_text(std::string_view text, bool property) {
  std::string out;
  for (const char c : readable(text)) {
    const bool escaped = c == '%' || c == '\n' || (property && (c == ':' || c == ','));
    out += escaped ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string annotation(const std::string& title, const std::string& message,
                       const std::string& file = {}, int line = 0) {
  const std::string place =
      file.empty() ? "" : fmt::format("file={},line={},", command_text(file, true), line);
  return fmt::format("::error {}title={}::{}", place, command_text(title, true),
                     command_text(message, false));
}

}  // namespace

std::vector<std::string> github_annotations(const RunRecord& record, const std::string& root) {
  std::vector<std::string> all;
  // A wrong access comes first: it owns a line, and the numbers after it mean nothing.
  for (const FindingPlace& place : finding_places(record, root)) {
    all.push_back(annotation(fmt::format("{}: {}", place.kernel, place.finding.kind),
                             place.finding.text, place.file, place.line));
  }
  for (const Counterexample& c : record.counterexamples) {
    if (!c.findings.empty()) continue;
    std::string message = c.headline;
    if (!c.faults.empty()) message += "\n" + fits_sentence(c);
    if (const std::string subject = replay_subject(c); !subject.empty())
      message += "\nplumbline replay " + subject;
    const auto [file, line] = code_line(c.store, root);
    all.push_back(annotation(fmt::format("{}: {}", c.kernel, c.claim), message, file, line));
  }
  for (const KernelRecord& k : record.kernels) {
    if (k.errors == 0) continue;
    for (const CaseRecord& c : record.cases) {
      if (c.kernel != k.name || c.verdict != Verdict::error) continue;
      all.push_back(annotation(k.name + ": could not run", c.reason));
      break;
    }
  }
  if (all.size() > kMost) {
    const std::size_t more = all.size() - kMost;
    all.resize(kMost);
    all.push_back(annotation("plumbline", fmt::format("and {} more in report.html", more)));
  }
  return all;
}

}  // namespace plumbline
