// SPDX-License-Identifier: MIT
#include "reports/junit.h"

#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <tuple>

#include "reports/card.h"
#include "reports/record/escape.h"

namespace plumbline {
namespace {

// Beside the claims: whether what a kernel passed is worth anything.
constexpr std::string_view kEvidence = "evidence";

// Beside the kernels: whether all of the plan ran. No kernel has such a name.
constexpr std::string_view kWholeRun = "(run)";

struct Tally {
  int cases = 0;
  Verdict worst = Verdict::skip;
  std::string message;  // of the first case with the worst verdict
  std::string body;
  double elapsed_ms = 0;
};

std::string_view failure_type(std::string_view claim) {
  if (claim == "bound") return "bound-exceeded";
  if (claim == "specials") return "special-value";
  if (claim == "in-bounds") return "memory";
  if (claim == "deterministic") return "nondeterministic";
  if (claim == "related") return "relation-broken";
  if (claim == "population") return "errors-together";
  if (claim == kEvidence) return "mistrusted";
  return "devices-disagree";
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
      if (severity(verdict) > severity(t.worst)) {
        t.worst = verdict;
        t.message = c.reason;
        t.body = fmt::format("{}\ndevice {}\ncase   {}\n", c.reason, c.device, c.text);
        for (const FindingRecord& finding : c.findings) t.body += finding.text + "\n";
      }
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

void add_outcome(pugi::xml_node node, const std::string& claim, const Tally& t,
                 bool allow_mistrusted) {
  const auto child = [&](const char* tag, std::string_view type) {
    pugi::xml_node outcome = node.append_child(tag);
    if (!type.empty()) outcome.append_attribute("type") = std::string(type).c_str();
    outcome.append_attribute("message") = readable(t.message).c_str();
    if (!t.body.empty()) outcome.text().set(readable(t.body).c_str());
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

std::string junit_xml(const RunRecord& record, bool allow_mistrusted) {
  const Tallies tallies = tally(record);
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  root.append_attribute("name") = "plumbline";
  std::map<std::string, std::vector<std::pair<std::string, const Tally*>>> suites;
  for (const auto& [key, t] : tallies) suites[std::get<0>(key)].emplace_back(std::get<1>(key), &t);
  for (const auto& [kernel, entries] : suites) {
    pugi::xml_node suite = root.append_child("testsuite");
    int failures = 0, errors = 0, skipped = 0;
    double seconds = 0;
    for (const auto& [claim_class, t] : entries) {
      const bool failed =
          t->worst == Verdict::fail || (!allow_mistrusted && t->worst == Verdict::mistrusted);
      failures += failed;
      errors += t->worst == Verdict::error;
      skipped += t->worst == Verdict::skip || (allow_mistrusted && t->worst == Verdict::mistrusted);
      seconds += t->elapsed_ms / 1000;
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
      node.append_attribute("time") = fmt::format("{:.3f}", t->elapsed_ms / 1000).c_str();
      add_outcome(node, claim_class.substr(0, claim_class.find('/')), *t, allow_mistrusted);
    }
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace plumbline
