// SPDX-License-Identifier: MIT
#include "reports/json.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

namespace plumbline {
namespace {

using Json = nlohmann::ordered_json;

// A double that reads back exactly; NaN and Inf, which JSON lacks, keep their bits.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return {{"bits", fmt::format("0x{:016x}", std::bit_cast<std::uint64_t>(value))},
          {"value", std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf")}};
}

Json element(const ElementVerdict& e) {
  return {{"index", e.index},
          {"pass", e.pass},
          {"got", fmt::format("0x{:x}", e.got)},
          {"expected", fmt::format("0x{:x}", e.expected)},
          {"low", fmt::format("0x{:x}", e.low)},
          {"high", fmt::format("0x{:x}", e.high)},
          {"exact", number(e.exact)},
          {"error_ulp", number(e.error_ulp)},
          {"bound_ulp", number(e.bound_ulp)},
          {"share", number(e.share)}};
}

Json output(const OutputRecord& o) {
  const OutputVerdict& v = o.verdict;
  Json failures = Json::array();
  for (const ElementVerdict& failure : v.failures) failures.push_back(element(failure));
  Json json = {{"name", o.name},
               {"format", o.format},
               {"elements", v.elements},
               {"compared", v.compared},
               {"bounded", v.bounded},
               {"failed", v.failed},
               {"class_mismatches", v.class_mismatches},
               {"nonzero", v.nonzero},
               {"exact_required", v.exact_required},
               {"undecided", v.undecided},
               {"unresolved", v.unresolved},
               {"refereed", v.refereed},
               {"disagreements", v.disagreements},
               {"sampled", v.sampled},
               {"worst_ulp", number(v.worst_ulp)},
               {"worst_relative", number(v.worst_relative)},
               {"worst_share", number(v.worst_share)},
               {"median_bound_ulp", number(v.median_bound_ulp)}};
  if (v.compared > 0) json["worst"] = element(v.worst);
  if (!failures.empty()) json["failures"] = std::move(failures);
  json["histogram"] = v.histogram;
  return json;
}

Json case_json(const CaseRecord& c) {
  Json claims = Json::object();
  for (const auto& [claim, verdict] : c.claims) claims[std::string(name(claim))] = name(verdict);
  Json outputs = Json::array();
  for (const OutputRecord& o : c.outputs) outputs.push_back(output(o));
  Json json = {{"case", c.text},
               {"device", c.device},
               {"kernel", c.kernel},
               {"verdict", name(c.verdict)},
               {"claims", std::move(claims)},
               {"shape_class", c.shape_class},
               {"layout_class", c.layout_class},
               {"value_class", c.value_class},
               {"origin", c.origin}};
  if (!c.reason.empty()) json["reason"] = c.reason;
  if (!c.findings.empty()) json["findings"] = c.findings;
  if (!c.population.empty()) json["population"] = c.population;
  json["outputs"] = std::move(outputs);
  json["fingerprint"] = c.fingerprint;
  return json;
}

Json kernel_json(const KernelRecord& k) {
  return {{"name", k.name},
          {"summary", k.summary},
          {"operation", k.operation},
          {"formats", k.formats},
          {"verdict", name(k.verdict)},
          {"reasons", k.reasons},
          {"source_hash", k.source_hash},
          {"ptx_hashes", k.ptx_hashes},
          {"contracts", k.contracts},
          {"arithmetic", k.arithmetic},
          {"population", k.population},
          {"cases", k.cases},
          {"passed", k.passed},
          {"failed", k.failed},
          {"mistrusted", k.mistrusted},
          {"errors", k.errors},
          {"skipped", k.skipped},
          {"outputs", k.outputs},
          {"compared", k.compared},
          {"bounded", k.bounded},
          {"nonzero", k.nonzero},
          {"undecided", k.undecided},
          {"refereed", k.refereed},
          {"disagreements", k.disagreements},
          {"sampled_cases", k.sampled_cases},
          {"worst_ulp", number(k.worst_ulp)},
          {"worst_relative", number(k.worst_relative)},
          {"least_accurate_case", k.least_accurate_case},
          {"worst_share", number(k.worst_share)},
          {"worst_case", k.worst_case}};
}

Json counterexample_json(const Counterexample& c) {
  return {{"kernel", c.kernel},       {"device", c.device},
          {"claim", c.claim},         {"value_class", c.value_class},
          {"original", c.original},   {"case", c.text},
          {"steps", c.steps},         {"tried", c.tried},
          {"case_file", c.case_file}, {"headline", c.headline},
          {"elements", c.elements},   {"explanation", c.explanation},
          {"faults", c.faults},       {"findings", c.findings}};
}

Json mutant_json(const MutantRecord& m) {
  Json json = {{"kernel", m.kernel},         {"id", m.id},       {"kind", m.kind},
               {"outcome", name(m.outcome)}, {"cases", m.cases}, {"changed", m.changed}};
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  add("claim", m.claim);
  add("finding", m.finding);
  add("reason", m.reason);
  add("case", m.text);
  add("device", m.device);
  if (m.outcome == MutantOutcome::survived) json["worst_share"] = number(m.worst_share);
  add("same_as", m.same_as);
  if (m.line > 0) json["line"] = m.line;
  add("source", m.source);
  add("before", m.before);
  add("after", m.after);
  return json;
}

// What a run of mutants adds to a record: each of them, and the score of each kernel.
void add_mutants(const RunRecord& r, Json& json) {
  if (r.mutants.empty()) return;
  Json scores = Json::object(), mutants = Json::array();
  for (const KernelRecord& k : r.kernels) {
    const MutantScore s = score(r.mutants, k.name);
    scores[k.name] = {{"caught", s.caught},       {"survived", s.survived},
                      {"no_effect", s.no_effect}, {"duplicates", s.duplicates},
                      {"refused", s.refused},     {"percent", number(s.percent())}};
  }
  for (const MutantRecord& m : r.mutants) mutants.push_back(mutant_json(m));
  json["scores"] = std::move(scores);
  json["mutants"] = std::move(mutants);
}

Json condition_json(const ConditionRecord& c) {
  Json bands = Json::array();
  for (const ConditionBand& b : c.bands) {
    bands.push_back({{"low", number(b.low)},
                     {"high", number(b.high)},
                     {"elements", b.elements},
                     {"forward", number(b.forward)},
                     {"backward", number(b.backward)}});
  }
  return {{"median", number(c.median)},
          {"largest", number(c.largest)},
          {"worst_forward", number(c.worst_forward)},
          {"worst_condition", number(c.worst_condition)},
          {"worst_backward", number(c.worst_backward)},
          {"expected_backward", number(c.expected_backward)},
          {"bands", std::move(bands)}};
}

Json propagation_json(const PropagationRecord& p) {
  Json stages = Json::array(), parts = Json::array();
  for (const StageRecord& s : p.stages) {
    stages.push_back({{"name", s.name},
                      {"kind", s.kind},
                      {"alone", number(s.alone)},
                      {"without", number(s.without)},
                      {"in_order", number(s.in_order)},
                      {"own_in_order", number(s.own_in_order)},
                      {"any_order", number(s.any_order)},
                      {"any_order_error", number(s.any_order_error)},
                      {"own_any_order", number(s.own_any_order)},
                      {"own_any_order_error", number(s.own_any_order_error)}});
  }
  for (const ErrorPartRecord& part : p.parts) {
    parts.push_back(
        {{"name", part.name}, {"relative", number(part.relative)}, {"share", number(part.share)}});
  }
  return {{"kernel", p.kernel},
          {"case", p.text},
          {"device", p.device},
          {"output", p.output},
          {"magnitude", number(p.magnitude)},
          {"error", number(p.error)},
          {"own_error", number(p.own_error)},
          {"modelled", number(p.modelled)},
          {"unexplained", number(p.unexplained)},
          {"own_unexplained", number(p.own_unexplained)},
          {"interaction", number(p.interaction)},
          {"root_sum_square", number(p.root_sum_square)},
          {"fault_stage", p.fault_stage},
          {"fault", p.fault},
          {"fault_explains", number(p.fault_explains)},
          {"stages", std::move(stages)},
          {"parts", std::move(parts)},
          {"condition", condition_json(p.condition)},
          {"findings", p.findings}};
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

Json depth_json(const DepthRecord& d) {
  Json curves = Json::array();
  for (const DepthCurve& c : d.curves) {
    curves.push_back({{"name", c.name},
                      {"relative", numbers(c.relative)},
                      {"injected", numbers(c.injected)},
                      {"gain", numbers(c.gain)},
                      {"exponent", number(c.exponent)},
                      {"growth", number(c.growth)},
                      {"predicted", number(c.predicted)}});
  }
  return {{"stack", d.stack},
          {"layers", d.layers},
          {"curves", std::move(curves)},
          {"findings", d.findings}};
}

Json gradient_json(const GradientRecord& g) {
  return {{"kernel", g.kernel},
          {"case", g.text},
          {"device", g.device},
          {"output", g.output},
          {"draws", g.draws},
          {"relative", number(g.relative)},
          {"cosine_gap", number(g.cosine_gap)},
          {"parallel", number(g.parallel)},
          {"orthogonal", number(g.orthogonal)},
          {"row_median", number(g.row_median)},
          {"row_99", number(g.row_99)},
          {"row_largest", number(g.row_largest)},
          {"bias", number(g.bias)},
          {"bias_noise", number(g.bias_noise)},
          {"expected", number(g.expected)},
          {"descent", number(g.descent)},
          {"adam_difference", number(g.adam_difference)},
          {"adam_flips", number(g.adam_flips)},
          {"lost", number(g.lost)},
          {"not_finite", number(g.not_finite)},
          {"findings", g.findings}};
}

// Everything that differs between two equal runs.
Json timing_json(const RunRecord& r) {
  Json kernels = Json::object();
  for (const KernelRecord& k : r.kernels) kernels[k.name] = k.elapsed_ms;
  Json cases = Json::array();
  const auto rounded = [](double elapsed_ms) { return std::round(elapsed_ms * 1000) / 1000; };
  for (const CaseRecord& c : r.cases) cases.push_back(rounded(c.elapsed_ms));
  Json json = {
      {"elapsed_ms", r.elapsed_ms}, {"kernels", std::move(kernels)}, {"cases", std::move(cases)}};
  if (!r.mutants.empty()) json["mutants"] = Json::array();
  for (const MutantRecord& m : r.mutants) json["mutants"].push_back(rounded(m.elapsed_ms));
  return json;
}

std::optional<Verdict> verdict_by_name(std::string_view word) {
  for (const Verdict v :
       {Verdict::pass, Verdict::fail, Verdict::mistrusted, Verdict::error, Verdict::skip}) {
    if (name(v) == word) return v;
  }
  return std::nullopt;
}

}  // namespace

std::string case_json_line(const CaseRecord& record) {
  Json json = case_json(record);
  json["elapsed_ms"] = record.elapsed_ms;
  return json.dump();
}

std::string mutant_json_line(const MutantRecord& record) {
  Json json = mutant_json(record);
  json["elapsed_ms"] = record.elapsed_ms;
  return json.dump();
}

std::string record_json(const RunRecord& r) {
  Json kernels = Json::array(), cases = Json::array(), counterexamples = Json::array();
  for (const KernelRecord& k : r.kernels) kernels.push_back(kernel_json(k));
  for (const CaseRecord& c : r.cases) cases.push_back(case_json(c));
  for (const Counterexample& c : r.counterexamples)
    counterexamples.push_back(counterexample_json(c));
  Json json = {{"plumbline", r.plumbline_version},
               {"git", r.git_hash},
               {"command", r.command},
               {"verb", r.verb},
               {"profile", r.profile},
               {"seed", fmt::format("0x{:x}", r.seed)},
               {"run", r.run_id},
               {"devices", r.devices},
               {"environment", r.environment},
               {"interrupted", r.interrupted},
               {"planned", r.planned},
               {"kernels", std::move(kernels)},
               {"counterexamples", std::move(counterexamples)},
               {"cases", std::move(cases)}};
  add_mutants(r, json);
  if (r.verb == "propagate") {
    Json propagations = Json::array(), depths = Json::array(), gradients = Json::array();
    for (const PropagationRecord& p : r.propagations) propagations.push_back(propagation_json(p));
    for (const DepthRecord& d : r.depths) depths.push_back(depth_json(d));
    for (const GradientRecord& g : r.gradients) gradients.push_back(gradient_json(g));
    json["propagations"] = std::move(propagations);
    json["depths"] = std::move(depths);
    json["gradients"] = std::move(gradients);
  }
  json["timing"] = timing_json(r);
  return json.dump(1) + "\n";
}

Result<RunRecord> read_record(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Error{ErrorKind::bad_input, "cannot read the record", path,
                 "run `plumbline verify` first"};
  }
  std::stringstream text;
  text << file.rdbuf();
  const Json json = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  const auto broken = [&](std::string_view what) {
    return Error{ErrorKind::bad_input, fmt::format("not a record of plumbline: {}", what), path,
                 ""};
  };
  if (json.is_discarded() || !json.is_object()) return broken("no JSON object");
  if (!json.contains("cases") || !json["cases"].is_array()) return broken("\"cases\" is missing");
  RunRecord record;
  record.verb = json.value("verb", "");
  record.run_id = json.value("run", "");
  record.profile = json.value("profile", "");
  for (const Json& entry : json["cases"]) {
    CaseRecord c;
    const bool complete = entry.is_object() && entry.contains("case") &&
                          entry["case"].is_string() && entry.contains("verdict") &&
                          entry["verdict"].is_string();
    if (!complete) return broken("a case has no text or verdict");
    c.text = entry["case"].get<std::string>();
    c.kernel = entry.value("kernel", "");
    c.device = entry.value("device", "");
    const auto verdict = verdict_by_name(entry["verdict"].get<std::string>());
    if (!verdict) return broken("unknown verdict \"" + entry["verdict"].get<std::string>() + "\"");
    c.verdict = *verdict;
    record.cases.push_back(std::move(c));
  }
  return record;
}

}  // namespace plumbline
