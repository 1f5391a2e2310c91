// SPDX-License-Identifier: MIT
#include "reports/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "reports/card.h"
#include "reports/record/escape.h"

namespace plumbline {
namespace {

// Beside the claims: whether what a kernel passed is worth anything.
constexpr std::string_view kEvidence = "evidence";

// And what it is since a baseline.
constexpr std::string_view kBaseline = "baseline";

// Beside the kernels: whether all of the plan ran. No kernel has such a name.
constexpr std::string_view kWholeRun = "(run)";

// No text is worth more of a server's time: what is in it for one kernel, and of that a message.
constexpr std::size_t kMostOfKernel = 100 * 1000, kMostOfMessage = 1000;
constexpr std::string_view kCut = "... cut; record.json has all of it";

struct Tally {
  int cases = 0;
  Verdict worst = Verdict::skip;
  std::string message;  // of the first case with the worst verdict
  std::string body;
  double elapsed_ms = 0;
};

// Of a failed test case; each claim has its own.
std::string_view failure_type(std::string_view claim) {
  static const std::map<std::string_view, std::string_view> kTypes = {
      {name(Claim::bound), "bound-exceeded"},
      {name(Claim::bits), "bits-differ"},
      {name(Claim::specials), "special-value"},
      {name(Claim::in_bounds), "memory"},
      {name(Claim::deterministic), "nondeterministic"},
      {name(Claim::agrees), "devices-disagree"},
      {name(Claim::related), "relation-broken"},
      {name(Claim::population), "errors-together"},
  };
  const auto found = kTypes.find(claim);
  if (claim == kBaseline) return "worse-than-baseline";
  return found == kTypes.end() ? "mistrusted" : found->second;
}

// What a case says in the test case of one of its claims. Its reason and findings belong to the
// claim that it broke first, and are said there alone.
void tell(const CaseRecord& c, Claim claim, Verdict verdict, Tally& t) {
  t.worst = verdict;
  if (verdict == Verdict::pass) return;
  t.message = c.reason;
  const Claim broken = broken_claim(c);
  const bool told_elsewhere = verdict == Verdict::fail && claim != broken;
  if (told_elsewhere)
    t.message = fmt::format("fails as well; see {}/{}", name(broken), c.value_class);
  t.body = fmt::format("{}\ndevice {}\ncase   {}\n", t.message, c.device, c.text);
  if (told_elsewhere) return;
  std::set<std::string> said;
  for (const FindingRecord& finding : c.findings) {
    if (said.insert(finding.text).second) t.body += finding.text + "\n";
  }
}

using Tallies = std::map<std::tuple<std::string, std::string>, Tally>;  // kernel, "claim/class"

Tallies tally(const RunRecord& record) {
  Tallies tallies;
  for (const CaseRecord& c : record.cases) {
    // A case that could not run has no claims; it counts as an error of `bound`.
    std::map<Claim, Verdict> claims = c.claims;
    if (claims.empty()) claims[Claim::bound] = c.verdict;
    bool first = true;
    for (const auto& [claim, verdict] : claims) {
      Tally& t = tallies[{c.kernel, fmt::format("{}/{}", name(claim), c.value_class)}];
      ++t.cases;
      if (first) t.elapsed_ms += c.elapsed_ms;  // time counts once per case
      first = false;
      if (claim == Claim::agrees && verdict == Verdict::skip && t.message.empty())
        t.message = kNotAsked;
      if (severity(verdict) > severity(t.worst)) tell(c, claim, verdict, t);
    }
  }
  for (const KernelRecord& kernel : record.kernels) {
    const bool skipped = kernel.verdict == Verdict::skip;
    std::vector<std::string> why = kernel.mistrusted_because;
    // What probes found against it, or why it was skipped. Of a kernel that passes these are notes.
    if (skipped || kernel.verdict == Verdict::mistrusted)
      why.insert(why.begin(), kernel.reasons.begin(), kernel.reasons.end());
    if (why.empty()) continue;
    tallies[{kernel.name, std::string(kEvidence)}] = {
        1, skipped ? Verdict::skip : Verdict::mistrusted, why.front(),
        fmt::format("{}\n", fmt::join(why, "\n")), 0};
  }
  if (const std::string why = describe_incomplete(record); !why.empty()) {
    const Verdict verdict = record.interrupted ? Verdict::error : Verdict::mistrusted;
    tallies[{std::string(kWholeRun), std::string(kEvidence)}] = {1, verdict, why, why + "\n", 0};
  }
  for (const Counterexample& c : record.counterexamples) {
    const auto found = tallies.find({c.kernel, c.claim + "/" + c.value_class});
    if (found == tallies.end()) continue;
    found->second.body.clear();
    for (const std::string& line : card_lines(c)) found->second.body += line + "\n";
  }
  return tallies;
}

void add_changes(const std::vector<KernelChange>& since, bool strict, Tallies& tallies) {
  for (const KernelChange& change : since) {
    const Verdict verdict = verdict_of(change, strict);
    const bool fails = verdict == Verdict::fail || verdict == Verdict::mistrusted;
    const std::string words = fmt::format("{}: {}", name(change.change), change.words);
    tallies[{change.kernel, std::string(kBaseline)}] = {1, fails ? Verdict::fail : verdict, words,
                                                        words + "\n", 0};
  }
}

// The size of a text in the file, where "<" is "&lt;".
std::size_t written_size(const std::string& text) {
  std::size_t size = text.size();
  for (const char c : text) size += 4 * (c == '<' || c == '>' || c == '&' || c == '"');
  return size;
}

// Whole characters of UTF-8 from the front that take at most `most` bytes in the file.
std::string front_of(const std::string& text, std::size_t most) {
  std::size_t size = 0, end = 0, whole = 0;
  for (; end < text.size(); ++end) {
    if ((text[end] & 0xC0) != 0x80) whole = end;
    size += written_size(text.substr(end, 1));
    if (size > most) return text.substr(0, whole);
  }
  return text;
}

// Cuts what the test cases of a kernel say to kMostOfKernel bytes, short texts last. How many were
// cut.
int cut(std::vector<std::pair<std::string, Tally>>& entries, const std::string& kernel) {
  std::size_t left = kMostOfKernel;
  std::vector<Tally*> by_size;
  for (auto& [claim_class, t] : entries) {
    t.message = readable(t.message);
    t.body = readable(t.body);
    const std::size_t fixed = (t.worst == Verdict::pass ? 80 : 200) + written_size(kernel) +
                              written_size(claim_class) +
                              std::min(kMostOfMessage, written_size(t.message));
    left -= std::min(left, fixed);
    by_size.push_back(&t);
  }
  std::ranges::sort(by_size, {}, [](const Tally* t) { return written_size(t->body); });
  int texts = 0;
  for (std::size_t i = 0; i < by_size.size(); ++i) {
    Tally& t = *by_size[i];
    const bool long_message = written_size(t.message) > kMostOfMessage;
    if (long_message) t.message = front_of(t.message, kMostOfMessage - 4) + " ...";
    const std::size_t share = left / (by_size.size() - i);
    const bool long_body = written_size(t.body) > share;
    if (long_body) {
      t.body = front_of(t.body, share - std::min(share, kCut.size() + 1));
      t.body += std::string(kCut) + "\n";
    }
    left -= std::min(left, written_size(t.body));
    texts += long_message || long_body;
  }
  return texts;
}

void add_outcome(pugi::xml_node node, const std::string& claim, const Tally& t,
                 bool allow_mistrusted) {
  const auto child = [&](const char* tag, std::string_view type) {
    pugi::xml_node outcome = node.append_child(tag);
    if (!type.empty()) outcome.append_attribute("type") = std::string(type).c_str();
    outcome.append_attribute("message") = t.message.c_str();
    if (!t.body.empty()) outcome.text().set(t.body.c_str());
  };
  switch (t.worst) {
    case Verdict::pass:
      break;
    case Verdict::fail:
      child("failure", failure_type(claim));
      break;
    case Verdict::error:
      child("error", "could-not-run");
      break;
    case Verdict::mistrusted:
      !allow_mistrusted ? child("failure", claim == kEvidence ? failure_type(claim) : "mistrusted")
                        : child("skipped", "");
      break;
    case Verdict::skip:
      child("skipped", "");
      break;
  }
}

}  // namespace

std::string junit_xml(const RunRecord& record, bool allow_mistrusted,
                      const std::vector<KernelChange>& since, bool strict_baseline) {
  Tallies tallies = tally(record);
  add_changes(since, strict_baseline, tallies);
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  root.append_attribute("name") = "plumbline";
  std::map<std::string, std::vector<std::pair<std::string, Tally>>> suites;
  for (const auto& [key, t] : tallies) suites[std::get<0>(key)].emplace_back(std::get<1>(key), t);
  for (auto& [kernel, entries] : suites) {
    const int texts = cut(entries, kernel);
    pugi::xml_node suite = root.append_child("testsuite");
    int failures = 0, errors = 0, skipped = 0;
    double seconds = 0;
    for (const auto& [claim_class, t] : entries) {
      const bool failed =
          t.worst == Verdict::fail || (!allow_mistrusted && t.worst == Verdict::mistrusted);
      failures += failed;
      errors += t.worst == Verdict::error;
      skipped += t.worst == Verdict::skip || (allow_mistrusted && t.worst == Verdict::mistrusted);
      seconds += t.elapsed_ms / 1000;
    }
    suite.append_attribute("name") = readable(kernel).c_str();
    suite.append_attribute("tests") = static_cast<int>(entries.size());
    suite.append_attribute("failures") = failures;
    suite.append_attribute("errors") = errors;
    suite.append_attribute("skipped") = skipped;
    suite.append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
    for (const auto& [claim_class, t] : entries) {
      pugi::xml_node node = suite.append_child("testcase");
      node.append_attribute("classname") = readable(kernel).c_str();
      node.append_attribute("name") = readable(claim_class).c_str();
      node.append_attribute("time") = fmt::format("{:.3f}", t.elapsed_ms / 1000).c_str();
      add_outcome(node, claim_class.substr(0, claim_class.find('/')), t, allow_mistrusted);
    }
    if (texts > 0) {
      const std::string note = fmt::format(
          "{} text{} cut: a kernel has {} bytes of this file. record.json has all of {}.", texts,
          texts == 1 ? " is" : "s are", kMostOfKernel, texts == 1 ? "it" : "them");
      suite.append_child("system-out").text().set(note.c_str());
    }
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace plumbline
