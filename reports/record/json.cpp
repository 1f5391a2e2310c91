// SPDX-License-Identifier: MIT
#include "reports/record/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "oracles/base/file.h"
#include "reports/record/code_parts.h"
#include "reports/record/columns.h"
#include "reports/record/consistency.h"
#include "reports/record/parse_json.h"
#include "reports/record/record_fields.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Of record.json and record.jsonl. Another one means that a reader has to know more than that
// fields were added.
constexpr std::int64_t kFormat = 3;

// Text from outside (PTX, file names) may hold any bytes; what is no UTF-8 becomes U+FFFD.
std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_flat(const Json& json) {
  return std::ranges::none_of(json, [](const Json& part) {
    return part.is_object() || (part.is_array() && !is_flat(part));
  });
}

// Objects and lists of them with a line for each member; everything else is one line.
void write_lines(const Json& json, std::size_t depth, std::string& text) {
  const bool columns = json.is_object() && (json.contains("all") || json.contains("each"));
  if (!json.is_structured() || json.empty() || columns || (json.is_array() && is_flat(json))) {
    text += json_line(json);
    return;
  }
  const std::string line = "\n" + std::string(depth + 1, ' ');
  text += json.is_object() ? '{' : '[';
  const char* separator = "";
  for (const auto& [key, part] : json.items()) {
    text += separator + line;
    separator = ",";
    if (json.is_object()) text += json_line(Json(key)) + ": ";
    write_lines(part, depth + 1, text);
  }
  text += "\n" + std::string(depth, ' ') + (json.is_object() ? '}' : ']');
}

// Whether this case is where its kernel came closest to what its contract allows.
bool is_closest(const CaseRecord& c, const KernelRecord& kernel) {
  return kernel.worst_share > 0 && c.text == kernel.worst_case &&
         std::ranges::any_of(c.outputs, [&](const OutputRecord& output) {
           return output.verdict.worst_share == kernel.worst_share;
         });
}

// A case that passed without anything to say of single elements.
Json figures_of(const CaseRecord& c) {
  Json json = JsonWriter::written(c);
  for (Json& output : json["outputs"]) output.erase("worst");
  return json;
}

// Cases in which something is wrong or mistrusted, and those closest to what contracts allow, one
// by one with all details; all others as columns, a table for each kernel.
void write_cases(const RunRecord& r, Json& json) {
  Json detailed = Json::array();
  std::vector<std::pair<const KernelRecord*, std::vector<Json>>> passed;
  for (const KernelRecord& kernel : r.kernels) passed.push_back({&kernel, {}});
  std::map<std::string_view, std::size_t> numbers;
  for (const KernelRecord& kernel : r.kernels) numbers.emplace(kernel.name, numbers.size());
  for (const CaseRecord& c : r.cases) {
    const auto number = numbers.find(c.kernel);
    const bool short_form = c.verdict == Verdict::pass && number != numbers.end() &&
                            !is_closest(c, r.kernels[number->second]);
    if (short_form) {
      passed[number->second].second.push_back(figures_of(c));
    } else {
      detailed.push_back(JsonWriter::written(c));
    }
  }
  json["cases"] = std::move(detailed);
  Json& tables = json["passed"] = Json::array();
  for (auto& [kernel, cases] : passed) {
    if (cases.empty()) continue;
    tables.push_back({{"count", cases.size()}, {"cases", table_of(cases)}});
  }
}

// To microseconds.
double rounded(double elapsed_ms) { return std::round(elapsed_ms * 1000) / 1000; }

// Everything that differs between two equal runs.
Json circumstances_json(const RunRecord& r) {
  Json kernels = Json::object();
  for (const KernelRecord& k : r.kernels) kernels[k.name] = k.elapsed_ms;
  Json cases = Json::array(), mutants = Json::array();
  for (const CaseRecord& c : r.cases) cases.push_back(rounded(c.elapsed_ms));
  for (const MutantRecord& m : r.mutants) mutants.push_back(rounded(m.elapsed_ms));
  Json json = {{"command", r.command},
               {"places", JsonWriter::written(r.places)},
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

// The command, and where the run was made.
void read_origin(const nlohmann::json& json, RunRecord& r) {
  if (const auto command = json.find("command"); command != json.end() && command->is_string())
    r.command = command->get<std::string>();
  std::string ignored;
  JsonReader(json, "", ignored).optional("places", r.places);
}

// They are for people; what is missing or odd in them is no reason to refuse a record.
void read_circumstances(const nlohmann::json& json, RunRecord& r) {
  if (!json.is_object()) return;
  read_origin(json, r);
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

// Why a record of another version cannot be read; nullopt for one of this version, and for what is
// no record at all.
std::optional<Error> other_format(const std::string& path, const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("plumbline") || !json["plumbline"].is_string()) return {};
  std::int64_t format = 1;  // had no number
  if (const auto said = json.find("format"); said != json.end())
    format = said->is_number_integer() ? said->get<std::int64_t>() : 0;
  if (format == kFormat) return {};
  return Error{ErrorKind::bad_input,
               fmt::format("plumbline {} wrote this record in format {}, and this program reads "
                           "format {}",
                           json["plumbline"].get<std::string>().substr(0, 40), format, kFormat),
               path, "run again what made it, or read it with the plumbline that wrote it"};
}

// Takes the cases out of the tables of those that passed.
void read_passed(const nlohmann::json& json, std::string& error, RunRecord& record) {
  const auto tables = json.find("passed");
  if (tables == json.end() || !tables->is_array()) error = "passed: a list is due";
  for (std::size_t i = 0; error.empty() && i < tables->size(); ++i) {
    const std::string where = fmt::format("passed[{}]", i);
    const nlohmann::json& table = (*tables)[i];
    std::int64_t count = 0;
    JsonReader(table, where, error).required("count", count);
    if (error.empty() && !table.contains("cases")) error = where + ".cases: missing";
    if (!error.empty()) return;
    const auto rows = static_cast<std::size_t>(count);
    if (!fits_memory(table["cases"], rows))
      error = fmt::format("{}: {} such cases are more than any run has", where, count);
    if (!error.empty()) return;
    const nlohmann::json cases = without_runs(table["cases"], rows, error);
    if (!error.empty()) error = fmt::format("{}.cases: {}", where, error);
    for (std::size_t row = 0; error.empty() && row < rows; ++row) {
      const nlohmann::json object = object_of(cases, row, rows, error);
      if (!error.empty()) {
        error = fmt::format("{}.cases.{}", where, error);
        return;
      }
      JsonReader reader(object, fmt::format("{}, case {} of {}", where, row + 1, rows), error);
      describe(reader, record.cases.emplace_back());
    }
  }
}

void sort_by_position(std::vector<CaseRecord>& cases) {
  std::ranges::stable_sort(cases, {}, &CaseRecord::position);
}

Result<RunRecord> read_whole(const std::string& path, const std::string& text) {
  const std::optional<nlohmann::json> json = parse_json(text);
  if (!json) return broken(path, "it is cut short or no JSON");
  if (auto other = other_format(path, *json)) return *std::move(other);
  RunRecord record;
  std::string error;
  JsonReader reader(*json, "", error);
  describe(reader, record);
  reader.required("cases", record.cases);
  if (error.empty()) read_passed(*json, error, record);
  sort_by_position(record.cases);
  if (error.empty()) error = inconsistency(record);
  if (error.empty()) error = contradiction(record);
  if (!error.empty()) return broken(path, error);
  if (json->contains("circumstances")) read_circumstances((*json)["circumstances"], record);
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

// What cases say of their kernels' code goes to the kernels.
void take_code_parts(RunRecord& record) {
  for (CaseRecord& c : record.cases) {
    const std::optional<CodeParts> parts = std::exchange(c.code_parts, std::nullopt);
    const auto kernel = std::ranges::find(record.kernels, c.kernel, &KernelRecord::name);
    if (parts && kernel != record.kernels.end())
      add_parts({{c.device, *parts}}, kernel->code_parts);
  }
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
    if (number == 1) {
      if (auto other = other_format(path, json)) return *std::move(other);
    }
    JsonReader reader(json, fmt::format("line {}", number), error);
    if (number == 1 || json.contains("plumbline")) {
      RunRecord run;
      describe_run(reader, run);
      if (error.empty()) read_origin(json, run);
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
      reader.optional("code_parts", c.code_parts);
      if (error.empty() && json.contains("elapsed_ms"))
        c.elapsed_ms = number_or_zero(json["elapsed_ms"]);
    }
    if (!error.empty()) return broken(path, error);
  }
  if (number == 0) return broken(path, "it is empty: the run ended before its first case");
  error = inconsistency(record);
  if (!error.empty()) return broken(path, error);
  sort_by_position(record.cases);
  record.interrupted = true;
  for (KernelRecord& kernel : record.kernels) kernel = without_cases(kernel);
  take_code_parts(record);
  summarize(record);
  return record;
}

}  // namespace

std::string run_json_line(const RunRecord& record) {
  JsonWriter writer;
  writer.required("format", kFormat);
  describe_run(writer, record);
  Json json = writer.take();
  json["command"] = record.command;
  json["places"] = JsonWriter::written(record.places);
  return json_line(json);
}

std::string found_json_line(const RunRecord& found) {
  JsonWriter writer;
  describe_found(writer, found);
  return json_line(writer.take());
}

namespace {

Json case_json(const CaseRecord& record, bool details) {
  Json json = details ? JsonWriter::written(record) : figures_of(record);
  json["elapsed_ms"] = rounded(record.elapsed_ms);
  if (record.kernel_ms > 0) json["kernel_ms"] = record.kernel_ms;
  return json;
}

}  // namespace

std::string case_json_line(const CaseRecord& record) { return json_line(case_json(record, true)); }

std::string case_log_line(const CaseRecord& record, bool details) {
  Json json = case_json(record, details);
  if (record.code_parts) json["code_parts"] = JsonWriter::written(*record.code_parts);
  return json_line(json);
}

std::string mutant_json_line(const MutantRecord& record) {
  Json json = JsonWriter::written(record);
  json["elapsed_ms"] = rounded(record.elapsed_ms);
  return json_line(json);
}

std::string record_json(const RunRecord& record) {
  JsonWriter writer;
  writer.required("format", kFormat);
  describe(writer, record);
  Json json = writer.take();
  if (!record.mutants.empty()) json["scores"] = scores_json(record);
  write_cases(record, json);
  json["circumstances"] = circumstances_json(record);
  std::string text;
  write_lines(json, 0, text);
  return text + "\n";
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
