// SPDX-License-Identifier: MIT
#include "reports/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "oracles/base/hash.h"
#include "reports/card.h"
#include "reports/record/inlined_calls.h"

namespace plumbline {
namespace {

// The part of `file` below `root`; nullopt where it lies elsewhere.
std::optional<std::string> below(const std::string& file, std::string root) {
  if (!root.ends_with('/')) root += '/';
  if (!file.starts_with(root)) return std::nullopt;
  return file.substr(root.size());
}

// The innermost call below the root.
CodeLine call_below(const std::string& inlined_at, const std::string& root) {
  for (const std::string& call : calls_of(inlined_at)) {
    if (const auto file = below(call, root)) {
      if (CodeLine line = named_line(*file); line.line > 0) return line;
    }
  }
  return {};
}

// Of a finding or its other access.
template <typename Access>
CodeLine line_of(const Access& access, const std::string& root) {
  if (!access.source_file.empty() && access.source_line > 0) {
    if (const auto file = below(access.source_file, root)) return {*file, access.source_line};
    if (CodeLine line = call_below(access.inlined_at, root); line.line > 0) return line;
    return {access.source_file, access.source_line};
  }
  if (access.ptx_file.empty() || access.ptx_line <= 0) return {};
  return {below(access.ptx_file, root).value_or(access.ptx_file), access.ptx_line};
}

// Where the kernel asked for a store: many kernels share the function that does it.
CodeLine store_line(const FindingRecord& store, const std::string& root) {
  if (CodeLine line = call_below(store.inlined_at, root); line.line > 0) return line;
  return line_of(store, root);
}

}  // namespace

CodeLine named_line(const std::string& file_and_line) {
  const std::size_t colon = file_and_line.rfind(':');
  if (colon == std::string::npos) return {};
  return {file_and_line.substr(0, colon), std::atoi(file_and_line.c_str() + colon + 1)};
}

CodeLine code_line(const FindingRecord& finding, const std::string& root) {
  return line_of(finding, root);
}

CodeLine code_line(const OtherAccessRecord& access, const std::string& root) {
  return line_of(access, root);
}

std::string relative_to(const std::string& root, const std::string& file) {
  return below(file, root).value_or(file);
}

std::string with_relative_paths(std::string text, const std::string& root) {
  if (root.empty() || root == "/") return text;
  const std::string folder = root + '/';
  for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) {
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '(';
    if (begins) {
      text.erase(at, folder.size());
    } else {
      at += folder.size();
    }
  }
  return text;
}

std::optional<RunRecord> with_relative_paths(const RunRecord& record, const std::string& root) {
  if (std::ranges::none_of(record.cases, [&](const CaseRecord& c) {
        return c.reason != with_relative_paths(c.reason, root);
      }))
    return std::nullopt;
  RunRecord relative = record;
  for (CaseRecord& c : relative.cases) {
    c.reason = with_relative_paths(std::move(c.reason), root);
    for (FindingRecord& finding : c.findings) {
      finding.text = with_relative_paths(std::move(finding.text), root);
      if (finding.other)
        finding.other->text = with_relative_paths(std::move(finding.other->text), root);
    }
  }
  return relative;
}

std::vector<FindingPlace> finding_places(const RunRecord& record, const std::string& root) {
  std::map<std::tuple<std::string, std::string, std::string, int>, FindingPlace> places;
  for (const CaseRecord& c : record.cases) {
    std::set<const FindingPlace*> seen;  // in this case, at whichever instruction of the line
    for (const FindingRecord& f : c.findings) {
      const auto [file, line] = code_line(f, root);
      if (file.empty()) continue;
      FindingPlace& place = places[{c.kernel, f.kind, file, line}];
      if (place.cases == 0) {
        const CodeLine other = f.other ? code_line(*f.other, root) : CodeLine{};
        place = {c.kernel, f, file, line, other, replay_subject(record, c)};
      }
      if (seen.insert(&place).second) ++place.cases;
    }
  }
  std::vector<FindingPlace> sorted;
  for (auto& [key, place] : places) sorted.push_back(std::move(place));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const FindingPlace& a, const FindingPlace& b) { return a.cases > b.cases; });
  return sorted;
}

std::vector<FindingPlace> store_places(const RunRecord& record, const std::string& root) {
  std::vector<FindingPlace> places;
  std::set<std::tuple<std::string, std::string, int>> seen;
  for (const Counterexample& card : record.counterexamples) {
    const auto [file, line] = store_line(card.store, root);
    if (file.empty() || !seen.insert({card.kernel, file, line}).second) continue;
    Claim claim = Claim::bound;
    by_name(card.claim, claim);
    const auto cases = std::ranges::count_if(record.cases, [&](const CaseRecord& c) {
      const auto found = c.claims.find(claim);
      return c.kernel == card.kernel && found != c.claims.end() && found->second == Verdict::fail;
    });
    places.push_back({card.kernel,
                      card.store,
                      file,
                      line,
                      {},
                      replay_subject(card),
                      cases,
                      card.faults.empty() ? "" : fits_sentence(card)});
  }
  return places;
}

std::vector<PlaceFindings> code_places(const RunRecord& record, const std::string& root) {
  std::vector<FindingPlace> all = finding_places(record, root);
  std::ranges::move(store_places(record, root), std::back_inserter(all));
  using Line = std::tuple<std::string, int>;
  std::map<std::tuple<std::string, Line, Line>, std::size_t> known;
  std::vector<PlaceFindings> places;
  for (FindingPlace& place : all) {
    Line here{place.file, place.line}, there = here;
    // Only where both accesses are known does the place of the other one tell findings apart.
    if (!place.other.file.empty()) there = {place.other.file, place.other.line};
    const auto [at, added] =
        known.emplace(std::tuple(place.finding.kind, std::min(here, there), std::max(here, there)),
                      places.size());
    if (added) places.push_back({place, {}, 0, {}});
    PlaceFindings& one = places[at->second];
    if (std::ranges::find(one.kernels, place.kernel) == one.kernels.end())
      one.kernels.push_back(place.kernel);
    one.cases += place.cases;
  }
  // Counting the findings of a kind in a file instead of naming the line keeps a fingerprint.
  std::vector<PlaceFindings*> by_line;
  for (PlaceFindings& place : places) by_line.push_back(&place);
  std::ranges::stable_sort(by_line, {}, [](const PlaceFindings* place) {
    const FindingPlace& f = place->first;
    return std::tuple(f.finding.kind, f.file, f.line, f.other.file, f.other.line);
  });
  std::map<std::string, int> count;
  for (PlaceFindings* place : by_line) {
    const std::string kind = fmt::format("{}\n{}", place->first.finding.kind, place->first.file);
    place->fingerprint =
        fmt::format("{:016x}", fingerprint(fmt::format("{}\n{}", kind, ++count[kind])));
  }
  return places;
}

std::string seen_in(const PlaceFindings& place) {
  const std::size_t others = place.kernels.size() - 1;
  const std::string& cause = place.first.cause;
  return fmt::format("{}Seen in {} case{} of {}{}; replay one with: plumbline replay {}",
                     cause.empty() ? "" : cause + " ", place.cases, place.cases == 1 ? "" : "s",
                     place.first.kernel,
                     others == 0   ? ""
                     : others == 1 ? " and of " + place.kernels.back()
                                   : fmt::format(" and of {} other kernels", others),
                     place.first.replay);
}

}  // namespace plumbline
