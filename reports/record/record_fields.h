// SPDX-License-Identifier: MIT
// The fields of a record as JSON has them: names, order, which may be left out. Both archives of
// json_archive.h walk these lists. A new figure is a member in record.h and a line here; make it
// `optional`, and records of older versions still read.
#pragma once

#include "oracles/reference/oracle.h"
#include "oracles/reference/output_tally.h"
#include "reports/record/json_archive.h"
#include "reports/record/mutant_fields.h"
#include "reports/record/propagation_fields.h"
#include "reports/record/record.h"

namespace plumbline {

template <typename Archive, MaybeConst<ElementVerdict> T>
void describe(Archive& a, T& e) {
  a.required("index", e.index);
  a.required("pass", e.pass);
  a.optional("class_mismatch", e.class_mismatch);
  a.hex("got", e.got);
  a.hex("expected", e.expected);
  a.hex("low", e.low);
  a.hex("high", e.high);
  a.required("exact", e.exact);
  a.required("error_ulp", e.error_ulp);
  a.required("bound_ulp", e.bound_ulp);
  a.required("share", e.share);
}

template <typename Archive, MaybeConst<OutputRecord> T>
void describe(Archive& a, T& o) {
  auto& v = o.verdict;
  a.required("name", o.name);
  a.required("format", o.format);
  a.optional("length_name", o.length_name);
  a.optional("length", o.length);
  a.required("elements", v.elements);
  a.required("compared", v.compared);
  a.optional("open", v.open);
  a.required("bounded", v.bounded);
  a.required("failed", v.failed);
  a.required("class_mismatches", v.class_mismatches);
  a.required("nonzero", v.nonzero);
  a.required("exact_required", v.exact_required);
  a.required("undecided", v.undecided);
  a.required("unresolved", v.unresolved);
  a.required("refereed", v.refereed);
  a.optional("confirmed", v.confirmed);
  a.required("disagreements", v.disagreements);
  a.optional("modeled", v.modeled);
  a.optional("other_bits", v.other_bits);
  a.required("sampled", v.sampled);
  a.optional("unbounded", v.unbounded);
  a.required("worst_ulp", v.worst_ulp);
  a.required("worst_relative", v.worst_relative);
  a.required("worst_share", v.worst_share);
  a.required("median_bound_ulp", v.median_bound_ulp);
  a.detail("worst", v.worst);
  a.optional("failures", v.failures);
  a.optional("others", v.others);
  a.cells("histogram", v.histogram, OutputTally::kCells);
  a.cells("magnitudes", v.magnitudes, OutputTally::kBinades);
}

template <typename Archive, MaybeConst<OtherAccessRecord> T>
void describe(Archive& a, T& o) {
  a.required("access", o.access);
  a.required("text", o.text);
  a.required("warp", o.warp);
  a.required("lane", o.lane);
  a.optional("ptx_file", o.ptx_file);
  a.optional("ptx_line", o.ptx_line);
  a.optional("source_file", o.source_file);
  a.optional("source_line", o.source_line);
  a.optional("inlined_at", o.inlined_at);
}

template <typename Archive, MaybeConst<FindingRecord> T>
void describe(Archive& a, T& f) {
  a.required("kind", f.kind);
  a.required("text", f.text);
  a.optional("ptx_file", f.ptx_file);
  a.optional("ptx_line", f.ptx_line);
  a.optional("source_file", f.source_file);
  a.optional("source_line", f.source_line);
  a.optional("inlined_at", f.inlined_at);
  a.optional("other", f.other);
}

template <typename Archive, MaybeConst<CaseRecord> T>
void describe(Archive& a, T& c) {
  a.required("case", c.text);
  a.required("position", c.position);
  a.required("device", c.device);
  a.required("kernel", c.kernel);
  a.required("verdict", c.verdict);
  a.required("claims", c.claims);
  a.required("shape_class", c.shape_class);
  a.required("layout_class", c.layout_class);
  a.required("value_class", c.value_class);
  a.required("origin", c.origin);
  a.optional("length_name", c.length_name);
  a.optional("length", c.length);
  a.optional("reason", c.reason);
  a.optional("findings", c.findings);
  a.optional("known", c.known);
  a.required("outputs", c.outputs);
  a.optional("population", c.population);
  a.required("fingerprint", c.fingerprint);
}

template <typename Archive, MaybeConst<CodeHole> T>
void describe(Archive& a, T& h) {
  a.required("where", h.where);
  a.required("instructions", h.instructions);
}

template <typename Archive, MaybeConst<CodeRecord> T>
void describe(Archive& a, T& c) {
  a.required("instructions", c.instructions);
  a.required("executed", c.executed);
  a.optional("holes", c.holes);
  a.optional("unrepeated", c.unrepeated);
}

template <typename Archive, MaybeConst<CodeParts> T>
void describe(Archive& a, T& c) {
  a.required("instructions", c.instructions);
  a.optional("missing", c.missing);
  a.optional("reached", c.reached);
  a.optional("repeated", c.repeated);
}

template <typename Archive, MaybeConst<KnownRecord> T>
void describe(Archive& a, T& k) {
  a.required("says", k.says);
  a.required("reason", k.reason);
  a.required("cases", k.cases);
}

template <typename Archive, MaybeConst<KernelRecord> T>
void describe(Archive& a, T& k) {
  a.required("name", k.name);
  a.required("summary", k.summary);
  a.required("operation", k.operation);
  a.required("formats", k.formats);
  a.required("verdict", k.verdict);
  a.required("reasons", k.reasons);
  a.optional("mistrusted_because", k.mistrusted_because);
  a.optional("left_out", k.left_out);
  a.optional("not_run", k.not_run);
  a.optional("manifest", k.manifest);
  a.required("source_hash", k.source_hash);
  a.required("ptx_hashes", k.ptx_hashes);
  a.required("contracts", k.contracts);
  a.required("arithmetic", k.arithmetic);
  a.optional("code", k.code);
  a.optional("code_parts", k.code_parts);
  a.optional("known", k.known);
  a.optional("population", k.population);
  a.optional("failing", k.failing);
  a.required("cases", k.cases);
  a.required("passed", k.passed);
  a.required("failed", k.failed);
  a.required("mistrusted", k.mistrusted);
  a.required("errors", k.errors);
  a.required("skipped", k.skipped);
  a.required("outputs", k.outputs);
  a.required("compared", k.compared);
  a.required("bounded", k.bounded);
  a.required("nonzero", k.nonzero);
  a.required("undecided", k.undecided);
  a.required("refereed", k.refereed);
  a.optional("confirmed", k.confirmed);
  a.required("disagreements", k.disagreements);
  a.required("sampled_cases", k.sampled_cases);
  a.optional("sampled", k.sampled);
  a.optional("unsampled", k.unsampled);
  a.required("worst_ulp", k.worst_ulp);
  a.required("worst_relative", k.worst_relative);
  a.required("least_accurate_case", k.least_accurate_case);
  a.required("worst_share", k.worst_share);
  a.required("worst_case", k.worst_case);
}

template <typename Archive, MaybeConst<SourceExcerpt> T>
void describe(Archive& a, T& e) {
  a.required("what", e.what);
  a.required("file", e.file);
  a.required("line", e.line);
  a.required("first", e.first);
  a.required("text", e.text);
}

template <typename Archive, MaybeConst<Counterexample> T>
void describe(Archive& a, T& c) {
  a.required("kernel", c.kernel);
  a.required("device", c.device);
  a.required("claim", c.claim);
  a.required("value_class", c.value_class);
  a.required("original", c.original);
  a.required("case", c.text);
  a.required("steps", c.steps);
  a.required("tried", c.tried);
  a.required("case_file", c.case_file);
  a.optional("manifest", c.manifest);
  a.required("headline", c.headline);
  a.required("elements", c.elements);
  a.required("explanation", c.explanation);
  a.required("faults", c.faults.names);
  a.optional("evidence", c.faults.evidence);
  a.optional("unnamed", c.faults.unnamed);
  a.required("findings", c.findings);
  a.optional("store", c.store);
  a.optional("excerpts", c.excerpts);
  a.optional("differences", c.differences);
  a.optional("difference_stride", c.difference_stride);
}

template <typename Archive, MaybeConst<ErrorMap::Binade> T>
void describe(Archive& a, T& b) {
  a.required("exponent", b.exponent);
  a.required("outputs", b.outputs);
  a.required("median_ulp", b.median_ulp);
  a.required("worst_ulp", b.worst_ulp);
}

template <typename Archive, MaybeConst<ErrorMap> T>
void describe(Archive& a, T& p) {
  a.required("kernel", p.kernel);
  a.required("case", p.text);
  a.required("device", p.device);
  a.required("output", p.output);
  a.required("rows", p.rows);
  a.required("columns", p.columns);
  a.required("tile_rows", p.tile_rows);
  a.required("tile_columns", p.tile_columns);
  a.required("heat", p.heat);
  a.optional("warps", p.warps);
  a.optional("threads", p.threads);
  a.required("binades", p.binades);
}

template <typename Archive, MaybeConst<ShardRecord> T>
void describe(Archive& a, T& s) {
  a.required("index", s.index);
  a.required("count", s.count);
  a.required("plan", s.plan);
  a.optional("plan_hash", s.plan_hash);
}

template <typename Archive, MaybeConst<PlaceRecord> T>
void describe(Archive& a, T& p) {
  a.required("date", p.date);
  a.required("processor", p.processor);
  a.required("instruction_set", p.instruction_set);
  a.optional("commit", p.commit);
  a.optional("uncommitted_changes", p.uncommitted_changes);
}

// All of a run but its cases and what came of them: what is known once it is planned.
template <typename Archive, MaybeConst<RunRecord> T>
void describe_run(Archive& a, T& r) {
  a.required("plumbline", r.plumbline_version);
  a.required("git", r.git_hash);
  a.required("verb", r.verb);
  a.required("profile", r.profile);
  a.hex("seed", r.seed);
  a.optional("filter", r.filter);
  a.required("run", r.run_id);
  a.required("devices", r.devices);
  a.required("environment", r.environment);
  a.required("interrupted", r.interrupted);
  a.optional("stopped_after", r.stopped_after);
  a.required("planned", r.planned);
  a.optional("shard", r.shard);
  a.optional("missing_shards", r.missing_shards);
  a.required("kernels", r.kernels);
}

// What `plumbline propagate` found.
template <typename Archive, MaybeConst<RunRecord> T>
void describe_found(Archive& a, T& r) {
  a.optional("propagations", r.propagations);
  a.optional("depths", r.depths);
  a.optional("gradients", r.gradients);
  a.optional("stochastics", r.stochastics);
}

// All of a run but its cases, which json.cpp keeps in two ways.
template <typename Archive, MaybeConst<RunRecord> T>
void describe(Archive& a, T& r) {
  describe_run(a, r);
  a.required("counterexamples", r.counterexamples);
  a.optional("error_maps", r.error_maps);
  a.optional("mutants", r.mutants);
  a.optional("peers", r.peers);
  describe_found(a, r);
}

}  // namespace plumbline
