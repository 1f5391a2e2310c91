// SPDX-License-Identifier: MIT
#include "reports/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "oracles/base/file.h"
#include "oracles/base/hash.h"
#include "oracles/reference/output_tally.h"
#include "reports/record/json.h"
#include "reports/record/parse_json.h"

namespace plumbline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKind = "plumbline baseline 1";

// What one row adds up.
struct Sums {
  BaselineRow row;
  double error = 0, outputs = 0, exact = 0;
  std::vector<std::string> inputs, bits;

  void add(const CaseRecord& test_case) {
    ++row.cases;
    row.failed += test_case.verdict == Verdict::fail;
    inputs.push_back(test_case.text);
    bits.push_back(test_case.text + test_case.fingerprint);
    for (const OutputRecord& output : test_case.outputs) {
      const OutputVerdict& verdict = output.verdict;
      if (!std::isnan(verdict.worst_share))
        row.worst_share = std::max(row.worst_share, verdict.worst_share);
      if (!verdict.magnitudes.empty()) exact += static_cast<double>(verdict.magnitudes.front());
      const auto cells = static_cast<double>(verdict.histogram.size());
      for (std::size_t cell = 0; cell < verdict.histogram.size(); ++cell) {
        // Cells of equal width over [-4, 4].
        const double middle = 8 * (static_cast<double>(cell) + 0.5) / cells - 4;
        const auto count = static_cast<double>(verdict.histogram[cell]);
        error += count * std::fabs(middle);
        outputs += count;
      }
    }
  }

  static std::string hash(std::vector<std::string> texts) {
    std::sort(texts.begin(), texts.end());
    return fmt::format("{:016x}", fingerprint(fmt::format("{}", fmt::join(texts, "\n"))));
  }

  BaselineRow done() {
    if (outputs > 0) row.mean_ulp = error / outputs;
    row.exact = outputs > 0 ? exact / outputs : 0;
    row.inputs = hash(std::move(inputs));
    row.outputs = hash(std::move(bits));
    return row;
  }
};

// JSON has no infinity: a share where no error was allowed.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json("inf"); }

bool has_string(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_string();
}

bool has_number(const nlohmann::json& json, const char* key) {
  return json.contains(key) && (json[key].is_number() || json[key] == "inf");
}

// A count that fits its type.
bool has_count(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_number_unsigned() &&
         std::in_range<std::int64_t>(json[key].get<std::uint64_t>());
}

double number_of(const nlohmann::json& json) {
  return json.is_number() ? json.get<double>() : INFINITY;
}

Result<BaselineRow> read_row(const nlohmann::json& json, const std::string& path,
                             std::size_t number) {
  const bool complete = json.is_object() && has_string(json, "kernel") &&
                        has_string(json, "device") && has_string(json, "class") &&
                        has_string(json, "inputs") && has_string(json, "outputs") &&
                        has_count(json, "cases") && has_count(json, "failed") &&
                        has_number(json, "worst_share") && has_number(json, "mean_ulp");
  if (!complete) {
    return Error{ErrorKind::bad_input,
                 fmt::format("row {} of the baseline is not complete", number), path,
                 "plumbline accept writes it again"};
  }
  BaselineRow row;
  row.kernel = json["kernel"];
  row.device = json["device"];
  row.value_class = json["class"];
  row.cases = json["cases"];
  row.failed = json["failed"];
  row.worst_share = number_of(json["worst_share"]);
  row.mean_ulp = number_of(json["mean_ulp"]);
  if (has_number(json, "exact")) row.exact = number_of(json["exact"]);
  row.inputs = json["inputs"];
  row.outputs = json["outputs"];
  return row;
}

void sort_rows(Baseline& baseline) {
  std::sort(baseline.rows.begin(), baseline.rows.end(),
            [](const BaselineRow& a, const BaselineRow& b) { return a.key() < b.key(); });
}

}  // namespace

namespace {

std::string incomplete_because(const RunRecord& record) {
  const auto cases = static_cast<std::int64_t>(record.cases.size());
  if (record.ended_early() || cases < record.planned)
    return fmt::format("the run did not end: {} of {} cases", cases, record.planned);
  if (record.shard)
    return fmt::format("it is shard {} of {}", record.shard->index, record.shard->count);
  if (!record.missing_shards.empty())
    return fmt::format("shard {} is missing", record.missing_shards.front());
  return "";
}

}  // namespace

double BaselineRow::mean_error() const {
  constexpr double kExactCounts = 4.0 / OutputTally::kCells;  // half a cell
  return std::max(0.0, mean_ulp - exact.value_or(0) * kExactCounts);
}

Baseline baseline_of(const RunRecord& record) {
  std::map<std::tuple<std::string, std::string, std::string>, Sums> sums;
  Baseline baseline;
  for (const CaseRecord& test_case : record.cases) {
    if (test_case.verdict == Verdict::error) ++baseline.errors[test_case.kernel];
    if (test_case.verdict == Verdict::error || test_case.verdict == Verdict::skip) continue;
    Sums& own = sums[{test_case.kernel, test_case.device, test_case.value_class}];
    own.row.kernel = test_case.kernel;
    own.row.device = test_case.device;
    own.row.value_class = test_case.value_class;
    own.add(test_case);
  }
  baseline.from = fmt::format("plumbline {}, {}, seed {:#x}", record.plumbline_version,
                              record.profile, record.seed);
  for (auto& [key, own] : sums) baseline.rows.push_back(own.done());
  baseline.incomplete = incomplete_because(record);
  baseline.filter = record.filter;
  sort_rows(baseline);
  return baseline;
}

std::string baseline_json(const Baseline& baseline) {
  std::string text = fmt::format("{{\"kind\": \"{}\",\n \"from\": {},\n \"rows\": [", kKind,
                                 Json(baseline.from).dump());
  const char* separator = "\n  ";
  for (const BaselineRow& row : baseline.rows) {
    Json json = {{"kernel", row.kernel},
                 {"device", row.device},
                 {"class", row.value_class},
                 {"cases", row.cases},
                 {"failed", row.failed},
                 {"worst_share", number(row.worst_share)},
                 {"mean_ulp", number(row.mean_ulp)},
                 {"inputs", row.inputs},
                 {"outputs", row.outputs}};
    if (row.exact) json["exact"] = *row.exact;
    text += separator + json.dump();
    separator = ",\n  ";
  }
  return text + "\n]}\n";
}

Result<Baseline> read_baseline(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    const Result<RunRecord> record = read_record(path);
    if (!record) return record.error();
    return baseline_of(*record);
  }
  const std::string& file = path;
  const Result<std::string> text =
      read_text_file(file, "a baseline, a record.json, or a run's folder");
  if (!text) return text.error();
  const std::optional<nlohmann::json> parsed = parse_json(*text);
  const nlohmann::json json = parsed.value_or(nullptr);
  if (!json.is_object() || !has_string(json, "kind") || json["kind"] != kKind) {
    const Result<RunRecord> record = read_record(file);
    if (!record) return record.error();
    return baseline_of(*record);
  }
  if (!has_string(json, "from") || !json.contains("rows") || !json["rows"].is_array())
    return Error{ErrorKind::bad_input, "the baseline has no rows", file, ""};
  Baseline baseline;
  baseline.from = json["from"];
  for (const nlohmann::json& entry : json["rows"]) {
    Result<BaselineRow> row = read_row(entry, file, baseline.rows.size() + 1);
    if (!row) return row.error();
    baseline.rows.push_back(*std::move(row));
  }
  sort_rows(baseline);
  return baseline;
}

}  // namespace plumbline
