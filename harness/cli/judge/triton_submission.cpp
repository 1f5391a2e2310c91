// SPDX-License-Identifier: MIT
#include "harness/cli/judge/triton_submission.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernels/manifest/command.h"
#include "oracles/base/file.h"
#include "oracles/base/shell_word.h"
#include "oracles/base/text.h"
#include "reports/record/parse_json.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLaunches = 64;
constexpr std::uintmax_t kLargestFile = std::uintmax_t{64} << 20;

// Where the package lies: in a wheel the program is in it, in a checkout beside its build folder.
fs::path package_parent() {
  const fs::path bin = own_program().parent_path();
  if (bin.parent_path().filename() == "plumbline") return bin.parent_path().parent_path();
  return bin.parent_path().parent_path().parent_path() / "python";
}

// What a file of the submission may hold, read where it is one.
Result<std::string> taken_file(const fs::path& path) {
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(path, failure);
  const auto size = fs::file_size(path, failure);
  if (!fs::is_regular_file(status) || failure || size > kLargestFile)
    return Error{ErrorKind::bad_input, path.filename().string() + " was not written", "", ""};
  return read_text_file(path.string(), "");
}

// "submission_0_sm_80.ptx": a name in the folder, and of no other kind.
bool is_plain_name(const std::string& name) {
  return name.ends_with(".ptx") && name.find('/') == std::string::npos && name.front() != '.';
}

// "{out}" -> "out"; empty: it names no field.
std::string field_in(const std::string& format) {
  const bool named = format.size() > 2 && format.front() == '{' && format.back() == '}';
  return named ? format.substr(1, format.size() - 2) : "";
}

template <typename T>
toml::array array_of(const nlohmann::json& json) {
  toml::array array;
  for (const nlohmann::json& one : json) array.push_back(one.get<T>());
  return array;
}

// Numbers and expressions.
toml::array grid_of(const nlohmann::json& json) {
  toml::array array;
  for (const nlohmann::json& one : json) {
    if (one.is_number_integer()) {
      array.push_back(one.get<std::int64_t>());
    } else {
      array.push_back(one.get<std::string>());
    }
  }
  return array;
}

// 90 of "90" and "90a"; 0: it is no target.
int sm_of(const std::string& target) {
  int sm = 0;
  const char* const end = target.data() + target.size();
  const auto [rest, failure] = std::from_chars(target.data(), end, sm);
  return failure == std::errc() && (rest == end || std::string_view(rest, end) == "a") ? sm : 0;
}

// The task with this launch.
toml::table manifest_of(const toml::table& task, const nlohmann::json& launch) {
  toml::table table = task;
  table.erase("source");
  table.insert_or_assign("ptx", launch.at("ptx").get<std::string>());
  const std::string target = launch.at("target");
  toml::array targets;
  if (target.ends_with('a')) {
    targets.push_back(target);
  } else {
    targets.push_back(std::int64_t{sm_of(target)});
  }
  table.insert_or_assign("targets", std::move(targets));
  table.insert_or_assign("entry", launch.at("entry").get<std::string>());
  if (launch.contains("workspace"))  // what descriptors of the kernel are made in
    table.insert_or_assign("workspace", launch.at("workspace").get<std::string>());
  table.insert_or_assign("parameters", array_of<std::string>(launch.at("parameters")));
  table.insert_or_assign("launch",
                         toml::table{{"grid", grid_of(launch.at("grid"))},
                                     {"block", array_of<std::int64_t>(launch.at("block"))},
                                     {"shared", launch.at("shared").get<std::int64_t>()}});
  return table;
}

}  // namespace

std::vector<toml::table> typed_tasks(const toml::table& task) {
  std::vector<toml::table> tasks = {task};
  const toml::table* const formats = task["formats"].as_table();
  if (formats == nullptr) return tasks;
  std::set<std::string> fields;
  for (const auto& [tensor, format] : *formats) {
    const std::string field = field_in(format.value_or(std::string()));
    if (!field.empty()) fields.insert(field);
  }
  for (const std::string& field : fields) {
    const toml::array* const words = task["problem"][field].as_array();
    if (words == nullptr) continue;
    std::vector<toml::table> more;
    for (const toml::table& one : tasks) {
      for (const toml::node& word : *words) {
        toml::table typed = one;
        const std::string text = word.value_or(std::string());
        typed["problem"].as_table()->insert_or_assign(field, toml::array{text});
        for (auto&& [tensor, format] : *typed["formats"].as_table())
          if (field_in(format.value_or(std::string())) == field) format.as_string()->get() = text;
        more.push_back(std::move(typed));
      }
    }
    tasks = std::move(more);
  }
  return tasks;
}

std::string json_of(const std::vector<toml::table>& tasks) {
  std::ostringstream written;
  written << '[';
  for (const toml::table& task : tasks)
    written << (&task == tasks.data() ? "" : ",\n") << toml::json_formatter(task);
  written << "]\n";
  return written.str();
}

Result<SandboxCommand> triton_compiler(const std::string& submission, const std::string& tasks) {
  const char* named = std::getenv("PLUMBLINE_PYTHON");
  std::string python = named != nullptr && *named != '\0' ? named : "python3";
  if (python.find('/') != std::string::npos) python = fs::absolute(python).string();
  // What it is and the folders that it is made of, one a line; other lines are warnings. From a
  // folder without submissions: one called triton.py would be imported here.
  const CommandOutcome asked = run_command(
      "cd / && " + shell_word(python) +
      " -c 'import os, sys, triton; print(*(\"@\" + one for one in (sys.executable, sys.prefix, "
      "sys.base_prefix, os.path.dirname(os.path.dirname(triton.__file__)))), sep=\"\\n\")'");
  std::vector<std::string> answers;
  for (const std::string_view line : split(std::string_view(asked.output), '\n'))
    if (line.starts_with('@')) answers.emplace_back(line.substr(1));
  if (!asked.succeeded || answers.empty()) {
    return Error{ErrorKind::cannot_run, fmt::format("{} has no Triton, which compiles .py", python),
                 "", "set PLUMBLINE_PYTHON to the Python of an environment with it"};
  }
  SandboxCommand command;
  command.words = {answers.front(), "-m", "plumbline.submission", submission, tasks};
  command.shown.assign(answers.begin() + 1, answers.end());
  const fs::path package = package_parent();
  if (!fs::exists(package / "plumbline" / "submission.py")) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("the Python package plumbline, which compiles .py, is not in {}",
                             package.string()),
                 "", "run the program of a checkout or of the installed package"};
  }
  command.shown.push_back(package / "plumbline");
  command.environment = {{"PYTHONPATH", package.string()},
                         {"PYTHONDONTWRITEBYTECODE", "1"},
                         {"PLUMBLINE_PROGRAM", own_program().string()},
                         {"TRITON_CACHE_DIR", "triton-cache"}};
  return command;
}

Status take_launches(const fs::path& folder, const std::vector<toml::table>& tasks,
                     const std::vector<int>& chips, std::vector<NamedText>& files) {
  const Result<std::string> text = taken_file(folder / "launches.json");
  if (!text) return text.error();
  const auto refuse = [](const std::string& why) {
    return Error{ErrorKind::bad_input, "launches.json of the submission: " + why, "", ""};
  };
  const std::optional<nlohmann::json> json = parse_json(*text);
  if (!json || !json->is_array()) return refuse("it is no list of launches");
  if (json->size() > kMostLaunches)
    return refuse(fmt::format("it has more than {} configurations and chips", kMostLaunches));
  std::set<std::pair<std::size_t, int>> missing;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (const int sm : chips) missing.emplace(i, sm);
  try {
    for (std::size_t i = 0; i < json->size(); ++i) {
      const nlohmann::json& launch = (*json)[i];
      const std::string name = launch.at("ptx");
      if (!is_plain_name(name)) return refuse("it names a file elsewhere");
      const auto number = launch.at("task").get<std::size_t>();
      if (number >= tasks.size()) return refuse("it has a launch of no task");
      missing.erase({number, sm_of(launch.at("target"))});
      files.emplace_back(fmt::format("submission_{}.toml", i),
                         text_of(manifest_of(tasks[number], launch)));
      const Result<std::string> ptx = taken_file(folder / name);
      if (!ptx) return ptx.error();
      files.emplace_back(name, *ptx);
    }
  } catch (const nlohmann::json::exception& missing_key) {
    return refuse(
        fmt::format("a launch lacks a key, or has one of another type: {}", missing_key.what()));
  }
  if (!missing.empty())
    return refuse(fmt::format("it has no launch for sm_{}", missing.begin()->second));
  return {};
}

}  // namespace plumbline
