// SPDX-License-Identifier: MIT
#include "reports/record/consistency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>

namespace plumbline {
namespace {

// Every planned case is in the record of a run that ended.
std::string missing_cases(const RunRecord& r) {
  const auto cases = static_cast<std::int64_t>(r.cases.size());
  const bool all_run = r.verb == "verify" || r.verb == "replay";
  if (!all_run || r.ended_early() || !r.missing_shards.empty() || cases == r.planned) return {};
  return fmt::format("it has {} of {} planned cases", cases, r.planned);
}

// Whether a case's verdict is the one its claims and outputs give.
std::string contradiction_in(const CaseRecord& c) {
  const bool held = c.verdict == Verdict::pass || c.verdict == Verdict::mistrusted;
  const auto wrong = [&](std::string_view what) {
    return fmt::format("case \"{}\" has the verdict {}, but {}", c.text, name(c.verdict), what);
  };
  const bool passed = c.verdict == Verdict::pass;
  bool broken = false;
  for (const auto& [claim, verdict] : c.claims) {
    broken = broken || verdict == Verdict::fail;
    if (held && verdict == Verdict::fail) return wrong(fmt::format("{} failed", name(claim)));
    if (passed && verdict != Verdict::pass)
      return wrong(fmt::format("{} has {}", name(claim), name(verdict)));
  }
  if (held && c.claims.empty()) return wrong("no claim was judged");
  if (held && !c.findings.empty()) return wrong("it has findings");
  for (const OutputRecord& output : c.outputs) {
    const OutputVerdict& v = output.verdict;
    if (held && (v.failed > 0 || v.class_mismatches > 0 || v.other_bits > 0 || !v.worst.pass))
      return wrong(fmt::format("outputs of {} failed", output.name));
    if (passed && (v.disagreements > 0 || v.unresolved > 0))
      return wrong(fmt::format("outputs of {} could not be judged", output.name));
  }
  if (c.verdict == Verdict::fail && !broken) return wrong("no claim failed");
  return {};
}

// A count or error of a kernel that is not what its cases add up to, in words.
std::string difference(const KernelRecord& said, const KernelRecord& added) {
  const auto differ = [&](std::string_view what, const auto& x, const auto& y) {
    return x == y ? std::string()
                  : fmt::format("kernel {} says {} {}, its cases give {}", said.name, what, x, y);
  };
  for (const std::string& text :
       {differ("cases", said.cases, added.cases), differ("passed", said.passed, added.passed),
        differ("failed", said.failed, added.failed),
        differ("mistrusted", said.mistrusted, added.mistrusted),
        differ("errors", said.errors, added.errors), differ("skipped", said.skipped, added.skipped),
        differ("outputs", said.outputs, added.outputs),
        differ("compared", said.compared, added.compared),
        differ("bounded", said.bounded, added.bounded),
        differ("nonzero", said.nonzero, added.nonzero),
        differ("undecided", said.undecided, added.undecided),
        differ("refereed", said.refereed, added.refereed),
        differ("confirmed", said.confirmed, added.confirmed),
        differ("disagreements", said.disagreements, added.disagreements),
        differ("worst_share", said.worst_share, added.worst_share)}) {
    if (!text.empty()) return text;
  }
  // Rules of evidence, which look at more than cases, only take trust away.
  const bool follows = said.verdict == added.verdict ||
                       (added.verdict == Verdict::pass && said.verdict == Verdict::mistrusted);
  return follows ? "" : differ("verdict", name(said.verdict), name(added.verdict));
}

}  // namespace

std::string inconsistency(const RunRecord& r) {
  std::set<std::string> kernels;
  for (const KernelRecord& k : r.kernels) {
    if (!kernels.insert(k.name).second) return fmt::format("kernel {} is there twice", k.name);
  }
  std::set<std::int64_t> positions;
  for (const CaseRecord& c : r.cases) {
    if (!kernels.contains(c.kernel))
      return fmt::format("case \"{}\" is of a kernel that is not in the record", c.text);
    if (!positions.insert(c.position).second)
      return fmt::format("two cases have the position {}", c.position);
  }
  for (const ErrorMap& p : r.error_maps) {
    const std::size_t width = p.heat.empty() ? 0 : p.heat.front().size();
    const auto fits = [&](const std::vector<std::string>& map) {
      return map.size() == p.heat.size() &&
             std::ranges::all_of(map, [&](const std::string& row) { return row.size() == width; });
    };
    if (!fits(p.heat) || !(p.warps.empty() || fits(p.warps)) || p.heat.size() > 1024 ||
        width > 1024)
      return fmt::format("the heat map of \"{}\" is no rectangle of at most 1024x1024", p.text);
    const bool in_warps =
        std::ranges::all_of(p.threads, [](const std::string& lanes) { return lanes.size() == 32; });
    if (!in_warps || p.threads.size() > 32)
      return fmt::format("the threads of \"{}\" are not up to 32 warps of 32 lanes", p.text);
  }
  constexpr std::string_view kVerbs[] = {"verify", "fuzz",      "replay",
                                         "check",  "propagate", "mutants"};
  if (std::ranges::find(kVerbs, r.verb) == std::end(kVerbs))
    return fmt::format("verb: no run of plumbline is called \"{}\"", r.verb);
  // It names a folder.
  const bool plain = !r.run_id.empty() && r.run_id.size() <= 64 &&
                     std::all_of(r.run_id.begin(), r.run_id.end(),
                                 [](unsigned char c) { return std::isalnum(c) != 0; });
  if (!plain) return "run: a name of letters and digits is due";
  if (r.shard && (r.shard->count < 1 || r.shard->index < 1 || r.shard->index > r.shard->count ||
                  r.shard->count > kMostShards))
    return fmt::format("there is no shard {}/{}", r.shard->index, r.shard->count);
  return {};
}

std::string contradiction(const RunRecord& r) {
  if (std::string missing = missing_cases(r); !missing.empty()) return missing;
  for (const CaseRecord& c : r.cases) {
    if (std::string wrong = contradiction_in(c); !wrong.empty()) return wrong;
  }
  // Other verbs have more to say of a kernel than its cases.
  const bool judges_cases =
      r.verb == "verify" || r.verb == "replay" || r.verb == "fuzz" || r.verb == "check";
  if (!judges_cases) return {};
  RunRecord added;
  added.cases = r.cases;
  for (const KernelRecord& kernel : r.kernels) added.kernels.push_back(without_cases(kernel));
  summarize(added);
  for (std::size_t i = 0; i < r.kernels.size(); ++i) {
    std::string wrong = difference(r.kernels[i], added.kernels[i]);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace plumbline
