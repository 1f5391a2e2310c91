// SPDX-License-Identifier: MIT
#include "reports/record/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "oracles/base/file.h"
#include "reports/record/consistency.h"
#include "reports/record/parse_json.h"
#include "reports/record/record_fields.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Text from outside (PTX, file names) may hold any bytes; what is no UTF-8 becomes U+FFFD.
std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Everything that differs between two equal runs.
Json timing_json(const RunRecord& r) {
  Json kernels = Json::object();
  for (const KernelRecord& k : r.kernels) kernels[k.name] = k.elapsed_ms;
  Json cases = Json::array(), mutants = Json::array();
  const auto rounded = [](double elapsed_ms) { return std::round(elapsed_ms * 1000) / 1000; };
  for (const CaseRecord& c : r.cases) cases.push_back(rounded(c.elapsed_ms));
  for (const MutantRecord& m : r.mutants) mutants.push_back(rounded(m.elapsed_ms));
  Json json = {{"command", r.command},
               {"elapsed_ms", r.elapsed_ms},
               {"kernels", std::move(kernels)},
               {"cases", std::move(cases)}};
  if (!mutants.empty()) json["mutants"] = std::move(mutants);
  return json;
}

// The score of each kernel that faults were planted in: follows from them, so no reader needs it.
Json scores_json(const RunRecord& r) {
  Json scores = Json::object();
  for (const KernelRecord& k : r.kernels) {
    const MutantScore s = score(r.mutants, k.name);
    scores[k.name] = {{"caught", s.caught},       {"survived", s.survived},
                      {"no_effect", s.no_effect}, {"duplicates", s.duplicates},
                      {"refused", s.refused},     {"percent", s.percent()}};
  }
  return scores;
}

double number_or_zero(const nlohmann::json& json) {
  return json.is_number() ? json.get<double>() : 0;
}

// Times are for people; what is missing or odd in them is no reason to refuse a record.
void read_timing(const nlohmann::json& json, RunRecord& r) {
  if (!json.is_object()) return;
  if (const auto command = json.find("command"); command != json.end() && command->is_string())
    r.command = command->get<std::string>();
  if (json.contains("elapsed_ms")) r.elapsed_ms = number_or_zero(json["elapsed_ms"]);
  if (json.contains("kernels") && json["kernels"].is_object()) {
    for (KernelRecord& k : r.kernels) {
      const auto found = json["kernels"].find(k.name);
      if (found != json["kernels"].end()) k.elapsed_ms = number_or_zero(*found);
    }
  }
  if (json.contains("cases") && json["cases"].is_array()) {
    for (std::size_t i = 0; i < std::min(json["cases"].size(), r.cases.size()); ++i)
      r.cases[i].elapsed_ms = number_or_zero(json["cases"][i]);
  }
}

Error broken(const std::string& path, std::string_view what) {
  return {ErrorKind::bad_input, fmt::format("not a whole record of plumbline: {}", what), path,
          "records are written by verify, fuzz and replay; record.jsonl beside a damaged "
          "record.json may be whole"};
}

Result<RunRecord> read_whole(const std::string& path, const std::string& text) {
  const std::optional<nlohmann::json> json = parse_json(text);
  if (!json) return broken(path, "it is cut short or no JSON");
  RunRecord record;
  std::string error;
  JsonReader reader(*json, "", error);
  describe(reader, record);
  if (error.empty()) error = inconsistency(record);
  if (error.empty()) error = contradiction(record);
  if (!error.empty()) return broken(path, error);
  if (json->contains("timing")) read_timing((*json)["timing"], record);
  return record;
}

// What propagate found in one record, behind that of another.
void add_found(RunRecord& from, RunRecord& to) {
  const auto append = [](auto& more, auto& all) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  append(from.propagations, to.propagations);
  append(from.depths, to.depths);
  append(from.gradients, to.gradients);
  append(from.stochastics, to.stochastics);
}

// The lines of a run that did not end. Only the last one may be cut short: the run was killed while
// it wrote it.
Result<RunRecord> read_lines(const std::string& path, const std::string& text) {
  RunRecord record;
  std::string error;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool last = lines.eof();  // without its newline
    const std::optional<nlohmann::json> parsed = parse_json(line);
    if (!parsed) {
      if (last && number > 1) break;
      return broken(path, fmt::format("line {} is no JSON", number));
    }
    const nlohmann::json& json = *parsed;
    JsonReader reader(json, fmt::format("line {}", number), error);
    if (number == 1 || json.contains("plumbline")) {
      RunRecord run;
      describe_run(reader, run);
      if (error.empty() && json.contains("command") && json["command"].is_string())
        run.command = json["command"].get<std::string>();
      run.cases = std::move(record.cases);
      run.mutants = std::move(record.mutants);
      add_found(record, run);
      record = std::move(run);
    } else if (json.contains("outcome")) {
      MutantRecord& m = record.mutants.emplace_back();
      describe(reader, m);
      if (error.empty() && json.contains("elapsed_ms"))
        m.elapsed_ms = number_or_zero(json["elapsed_ms"]);
    } else if (json.contains("propagations") || json.contains("depths") ||
               json.contains("gradients") || json.contains("stochastics")) {
      RunRecord found;
      describe_found(reader, found);
      add_found(found, record);
    } else {
      CaseRecord& c = record.cases.emplace_back();
      describe(reader, c);
      if (error.empty() && json.contains("elapsed_ms"))
        c.elapsed_ms = number_or_zero(json["elapsed_ms"]);
    }
    if (!error.empty()) return broken(path, error);
  }
  if (number == 0) return broken(path, "it is empty: the run ended before its first case");
  error = inconsistency(record);
  if (!error.empty()) return broken(path, error);
  std::sort(record.cases.begin(), record.cases.end(),
            [](const CaseRecord& a, const CaseRecord& b) { return a.position < b.position; });
  record.interrupted = true;
  for (KernelRecord& kernel : record.kernels) kernel = without_cases(kernel);
  summarize(record);
  return record;
}

}  // namespace

std::string run_json_line(const RunRecord& record) {
  JsonWriter writer;
  describe_run(writer, record);
  Json json = writer.take();
  json["command"] = record.command;
  return dumped(json, -1);
}

std::string found_json_line(const RunRecord& found) {
  JsonWriter writer;
  describe_found(writer, found);
  return dumped(writer.take(), -1);
}

std::string case_json_line(const CaseRecord& record) {
  Json json = JsonWriter::written(record);
  json["elapsed_ms"] = record.elapsed_ms;
  if (record.kernel_ms > 0) json["kernel_ms"] = record.kernel_ms;
  return dumped(json, -1);
}

std::string mutant_json_line(const MutantRecord& record) {
  Json json = JsonWriter::written(record);
  json["elapsed_ms"] = record.elapsed_ms;
  return dumped(json, -1);
}

std::string record_json(const RunRecord& record) {
  Json json = JsonWriter::written(record);
  if (!record.mutants.empty()) json["scores"] = scores_json(record);
  json["timing"] = timing_json(record);
  return dumped(json, 1) + "\n";
}

Result<RunRecord> read_record(const std::string& path) {
  std::string file_path = path;
  std::error_code code;
  if (fs::is_directory(path, code)) {
    file_path = path + "/record.json";
    if (!fs::exists(file_path, code)) file_path = path + "/record.jsonl";
  }
  const Result<std::string> text =
      read_text_file(file_path, "give the folder of a run, its record.json or its record.jsonl");
  if (!text) return text.error();
  const bool lines = fs::path(file_path).extension() == ".jsonl";
  return lines ? read_lines(file_path, *text) : read_whole(file_path, *text);
}

}  // namespace plumbline
