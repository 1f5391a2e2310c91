// SPDX-License-Identifier: MIT
#include "harness/perf/perf_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "oracles/base/file.h"
#include "reports/record/inlined_calls.h"
#include "reports/record/parse_json.h"

namespace plumbline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKind = "plumbline perf 1";
constexpr std::string_view kKindWithoutVersion = "plumbline perf ";

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Without folders, which differ from machine to machine.
std::string place_of(const CodePlace& place) {
  return place.source_file.empty()
             ? fmt::format("{}:{}", file_name(place.ptx_file), place.ptx_line)
             : fmt::format("{}:{}", file_name(place.source_file), place.source_line);
}

// Beyond being executed. The others are in the totals alone: they are most of the code.
bool moves_something(Counts counts) {
  counts[Counter::warp_instructions] = 0;
  counts[Counter::thread_instructions] = 0;
  return counts != Counts();
}

Json json_of(const Counts& counts) {
  Json json = Json::object();
  for (const CounterInfo& info : counter_table()) {
    if (counts[info.counter] != 0) json[std::string(info.key)] = counts[info.counter];
  }
  return json;
}

// Names of files come from untrusted PTX: bytes that are not UTF-8 are replaced.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const PerfLine& line) {
  Json json = {{"at", line.at}};
  if (!line.inlined_at.empty()) json["inlined_at"] = line.inlined_at;
  json["instruction"] = line.instruction;
  json["ptx_line"] = line.ptx_line;
  if (line.access != Access::none) {
    json["access"] = name(line.access);
    json["bytes"] = line.bytes;
  }
  json["counts"] = json_of(line.counts);
  return json;
}

Json json_of(const PerfLaunch& launch) {
  Json json = {{"entry", launch.entry},
               {"grid", launch.grid},
               {"block", launch.block},
               {"shared_bytes", launch.shared_bytes},
               {"sectors_only_read", launch.sectors_only_read},
               {"sectors_written", launch.sectors_written}};
  if (launch.tensor_columns > 0) json["tensor_columns"] = launch.tensor_columns;
  if (launch.compiled) {
    json["compiled"] = {{"registers", launch.compiled->registers},
                        {"stack_bytes", launch.compiled->stack_bytes},
                        {"spill_store_bytes", launch.compiled->spill_store_bytes},
                        {"spill_load_bytes", launch.compiled->spill_load_bytes},
                        {"static_shared_bytes", launch.compiled->static_shared_bytes}};
  }
  json["totals"] = json_of(launch.totals);
  for (std::size_t i = 0; i < kInstructionClasses; ++i)
    json["classes"][std::string(name(static_cast<InstructionClass>(i)))] = launch.classes[i];
  return json;
}

// --- reading ---

Counts counts_of(const nlohmann::json& json) {
  Counts counts;
  for (const auto& [key, value] : json.items()) {
    const std::optional<Counter> counter = counter_by_key(key);
    if (!counter) continue;
    if (!value.is_number_unsigned())
      throw nlohmann::json::other_error::create(501, key + " is no whole number", &value);
    counts[*counter] = value.get<std::uint64_t>();
  }
  return counts;
}

PerfLine line_of(const nlohmann::json& json) {
  PerfLine line;
  line.at = json.at("at");
  line.inlined_at = json.value("inlined_at", "");
  line.instruction = json.at("instruction");
  line.ptx_line = json.at("ptx_line");
  const std::string access = json.value("access", "none");
  for (const Access one : {Access::load, Access::store, Access::atomic, Access::copy}) {
    if (access == name(one)) line.access = one;
  }
  line.bytes = json.value("bytes", 0);
  line.counts = counts_of(json.at("counts"));
  return line;
}

PerfLaunch launch_of(const nlohmann::json& json) {
  PerfLaunch launch;
  launch.entry = json.at("entry");
  launch.grid = json.at("grid");
  launch.block = json.at("block");
  launch.shared_bytes = json.at("shared_bytes");
  launch.sectors_only_read = json.at("sectors_only_read");
  launch.sectors_written = json.at("sectors_written");
  launch.tensor_columns = json.value("tensor_columns", 0);
  if (json.contains("compiled")) {
    const nlohmann::json& compiled = json["compiled"];
    launch.compiled = {compiled.at("registers"), compiled.at("stack_bytes"),
                       compiled.at("spill_store_bytes"), compiled.at("spill_load_bytes"),
                       compiled.at("static_shared_bytes")};
  }
  launch.totals = counts_of(json.at("totals"));
  for (std::size_t i = 0; i < kInstructionClasses; ++i)
    launch.classes[i] = json.at("classes").at(std::string(name(static_cast<InstructionClass>(i))));
  for (const nlohmann::json& line : json.at("lines")) launch.lines.push_back(line_of(line));
  return launch;
}

PerfEntry entry_of(const nlohmann::json& json) {
  PerfEntry entry;
  entry.kernel = json.at("kernel");
  entry.sm = json.at("sm");
  entry.problem = json.at("problem");
  entry.compiler = json.value("compiler", "");
  if (json.contains("useful_macs")) entry.useful_macs = json["useful_macs"].get<double>();
  for (const nlohmann::json& launch : json.at("launches"))
    entry.launches.push_back(launch_of(launch));
  return entry;
}

}  // namespace

std::string PerfLine::text() const {
  return inlined_at.empty() ? fmt::format("{} at {}", instruction, at)
                            : fmt::format("{} at {} (inlined at {})", instruction, at, inlined_at);
}

std::string compiler_of(std::string_view ptx) {
  constexpr std::string_view kTools = "Cuda compilation tools";
  const std::string_view head = ptx.substr(0, ptx.find(".version"));
  const std::size_t at = head.find(kTools);
  if (at == std::string_view::npos) return "";
  return std::string(head.substr(at, head.find('\n', at) - at));
}

std::string PerfEntry::text() const { return fmt::format("{} sm_{} {}", kernel, sm, problem); }

std::uint64_t PerfEntry::total(Counter counter) const {
  std::uint64_t sum = 0;
  for (const PerfLaunch& launch : launches) sum += launch.totals[counter];
  return sum;
}

PerfLaunch perf_launch(const CountedLaunch& launch) {
  const LaunchTraffic& traffic = launch.traffic;
  PerfLaunch out;
  out.entry = traffic.entry;
  out.grid = launch.grid;
  out.block = launch.block;
  out.shared_bytes = traffic.static_shared_bytes + launch.dynamic_shared_bytes;
  out.sectors_only_read = traffic.sectors_only_read;
  out.sectors_written = traffic.sectors_written;
  out.tensor_columns = traffic.tensor_columns;
  out.representatives = traffic.representatives;
  out.all_ran_because = traffic.all_ran_because;
  std::map<std::tuple<std::string, std::string, std::string>, PerfLine> lines;
  for (const InstructionTraffic& one : traffic.instructions) {
    std::string at = place_of(one.place);
    const std::vector<std::string> calls = calls_of(one.place.inlined_at);
    std::string inlined_at = calls.empty() ? "" : file_name(calls.front());
    PerfLine& line = lines[{at, inlined_at, one.instruction}];
    if (line.at.empty()) {
      line.at = std::move(at);
      line.inlined_at = std::move(inlined_at);
      line.instruction = one.instruction;
      line.ptx_line = one.place.ptx_line;
      const bool has_source = !one.place.source_file.empty();
      line.file = has_source ? one.place.source_file : one.place.ptx_file;
      line.file_line = has_source ? one.place.source_line : one.place.ptx_line;
    }
    if (one.access != Access::none) {
      line.access = one.access;
      line.bytes = one.bytes;
    }
    line.counts.add(one.counts);
    out.totals.add(one.counts);
    out.classes[static_cast<std::size_t>(class_of(one.instruction))] +=
        one.counts[Counter::warp_instructions];
  }
  for (auto& [key, line] : lines) {
    if (moves_something(line.counts)) out.lines.push_back(std::move(line));
  }
  return out;
}

std::string perf_json(const PerfRecord& record) {
  // A line of text for each line of code: small to read in a diff.
  std::string text = fmt::format("{{\"kind\": \"{}\",\n\"entries\": [", kKind);
  const char* comma = "\n";
  for (const PerfEntry& entry : record.entries) {
    Json head = {{"kernel", entry.kernel}, {"sm", entry.sm}, {"problem", entry.problem}};
    if (!entry.compiler.empty()) head["compiler"] = entry.compiler;
    if (entry.useful_macs) head["useful_macs"] = *entry.useful_macs;
    std::string own = text_of(head);
    own.pop_back();
    text += comma + own + ",\n \"launches\": [";
    const char* before = "\n  ";
    for (const PerfLaunch& launch : entry.launches) {
      own = text_of(json_of(launch));
      own.pop_back();
      text += before + own + ",\n   \"lines\": [";
      const char* separator = "\n    ";
      for (const PerfLine& line : launch.lines) {
        text += separator + text_of(json_of(line));
        separator = ",\n    ";
      }
      text += "]}";
      before = ",\n  ";
    }
    text += "]}";
    comma = ",\n";
  }
  return text + "\n]}\n";
}

Result<PerfRecord> read_perf(const std::string& path) {
  std::error_code code;
  const std::string file = std::filesystem::is_directory(path, code) ? path + "/perf.json" : path;
  const Result<std::string> text = read_text_file(file, "a perf.json, or the folder of a perf run");
  if (!text) return text.error();
  const auto refuse = [&](std::string message) {
    return Error{ErrorKind::bad_input, std::move(message), file,
                 "plumbline perf writes perf.json into its run folder"};
  };
  const std::optional<nlohmann::json> json = parse_json(*text);
  if (!json || !json->is_object()) return refuse("the file is no JSON object");
  const std::string kind =
      json->contains("kind") && (*json)["kind"].is_string() ? (*json)["kind"] : "";
  if (kind != kKind) {
    return refuse(
        kind.starts_with(kKindWithoutVersion)
            ? fmt::format("the file is of another version: \"{}\", not \"{}\"", kind, kKind)
            : "the file is not of plumbline perf");
  }
  PerfRecord record;
  try {
    for (const nlohmann::json& entry : json->at("entries"))
      record.entries.push_back(entry_of(entry));
  } catch (const nlohmann::json::exception&) {
    return refuse(fmt::format("entry {} is not complete, or has no whole numbers",
                              record.entries.size() + 1));
  }
  return record;
}

}  // namespace plumbline
