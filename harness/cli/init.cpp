// SPDX-License-Identifier: MIT
// plumbline init: a first manifest for a PTX file or a CUDA source.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "harness/cli/draft/draft.h"
#include "harness/cli/draft/source_names.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/device/entry_name.h"
#include "kernels/manifest/compile.h"
#include "kernels/ops/text_operation.h"
#include "oracles/base/file.h"
#include "oracles/models/generation.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using emulator::EntrySurvey;
using emulator::PtxSurvey;

// Files that nvcc wrote for a draft: they go where the draft does not need them.
class MadeFiles {
 public:
  MadeFiles() = default;

  MadeFiles(MadeFiles&& other) noexcept : paths_(std::exchange(other.paths_, {})) {}

  MadeFiles& operator=(MadeFiles&& other) noexcept {
    std::swap(paths_, other.paths_);
    return *this;
  }

  ~MadeFiles() {
    std::error_code ignored;
    for (const fs::path& path : paths_) fs::remove(path, ignored);
  }

  // Before nvcc runs. A file that is there already stays.
  void add(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) paths_.push_back(path);
  }

  void keep() { paths_.clear(); }

 private:
  std::vector<fs::path> paths_;
};

// The PTX that a draft is made from, and its entry point.
struct Subject {
  PtxSurvey survey;
  EntrySurvey entry;
  MadeFiles made;

  bool runs() const { return entry.missing.empty() && entry.refused.empty(); }
};

Result<EntrySurvey> chosen_entry(const PtxSurvey& survey, const std::string& file,
                                 const std::string& wanted) {
  std::vector<std::string> names;
  for (const EntrySurvey& entry : survey.entries) {
    const bool is_wanted = entry.name == wanted || cpp_name(entry.name) == wanted;
    if (is_wanted || (wanted.empty() && survey.entries.size() == 1)) return entry;
    names.push_back(entry.name);
  }
  if (names.empty()) {
    return Error{ErrorKind::bad_input, "it has no entry point", file,
                 "a __global__ function, and of a template an instance"};
  }
  return Error{ErrorKind::bad_input,
               wanted.empty() ? fmt::format("it has {} entry points", names.size())
                              : fmt::format("it has no entry point \"{}\"", wanted),
               file, fmt::format("--entry and one of {}", fmt::join(names, ", "))};
}

Result<Subject> subject_of(const fs::path& ptx, const Arguments& arguments) {
  const Result<std::string> text = read_text_file(ptx.string(), "");
  if (!text) return text.error();
  Result<PtxSurvey> survey = emulator::survey_ptx(*text, ptx.string());
  if (!survey) return survey.error();
  Result<EntrySurvey> entry = chosen_entry(*survey, arguments.names.front(), arguments.entry);
  if (!entry) return entry.error();
  if (entry->unreadable) return *entry->unreadable;
  if (const std::string_view why = refused_chip(survey->target_sm); !why.empty())
    return Error{ErrorKind::bad_input, std::string(why), ptx.string(), "compile for another chip"};
  return Subject{*std::move(survey), *std::move(entry), {}};
}

// The source compiled for a chip.
Result<Subject> compiled_for(int sm, const fs::path& file, const Arguments& arguments,
                             Terminal& terminal) {
  Manifest source;
  source.name = file.stem().string();
  source.path = (file.parent_path() / (source.name + ".toml")).string();
  source.source = file.filename().string();
  source.targets = {sm};
  const fs::path ptx = source.ptx_path(sm);
  MadeFiles made;
  made.add(ptx);
  made.add(ptx.string() + ".inputs");
  terminal.status(fmt::format("  compiling {} for sm_{}", source.source, sm));
  const Status compiled = compile_outdated(source);
  terminal.clear_status();
  if (!compiled) return compiled.error();
  Result<Subject> subject = subject_of(ptx, arguments);
  if (subject) subject->made = std::move(made);
  return subject;
}

// PTX as it is; a source for --sm, or for the oldest of the usual chips that has its instructions.
Result<Subject> find_subject(const fs::path& file, const Arguments& arguments, Terminal& terminal) {
  if (file.extension() == ".ptx") return subject_of(file, arguments);
  if (file.extension() != ".cu") {
    return Error{ErrorKind::bad_input, "it is neither PTX (.ptx) nor a CUDA source (.cu)",
                 file.string(), "plumbline init mine.ptx"};
  }
  if (std::error_code failure; !fs::exists(file, failure)) {
    return Error{ErrorKind::bad_input, "cannot be read: No such file or directory", file.string(),
                 "name a CUDA source or PTX"};
  }
  if (arguments.no_compile) {
    return Error{ErrorKind::bad_input,
                 "a CUDA source has to be compiled, which --no-compile forbids", file.string(),
                 "name its PTX"};
  }
  if (arguments.sm) return compiled_for(*arguments.sm, file, arguments, terminal);
  Result<Subject> oldest = compiled_for(80, file, arguments, terminal);
  if (!oldest || oldest->runs()) return oldest;
  for (const int sm : {89, 90}) {
    Result<Subject> newer = compiled_for(sm, file, arguments, terminal);
    if (newer && newer->runs()) return newer;
  }
  return oldest;
}

// The operation of a text, by whose path a manifest in `folder` calls it.
Result<OperationGuess> text_operation(const fs::path& path, const fs::path& folder,
                                      std::string reason) {
  const Result<const TextOperation*> operation = read_text_operation(path.string());
  if (!operation) return operation.error();
  const fs::path from = folder.empty() ? "." : folder;
  return OperationGuess{*operation, std::move(reason), fs::proximate(path, from).generic_string()};
}

// What --operation says, else a text beside the file, else the entry's name and instructions.
Result<OperationGuess> chosen_operation(const EntrySurvey& entry, const fs::path& file,
                                        const std::string& wanted, const fs::path& folder) {
  std::vector<std::string_view> names;
  for (const Operation* operation : all_operations()) names.push_back(operation->name());
  const std::string known = fmt::format(
      "one of {}, or a text that says it (docs/operation_texts.md)", fmt::join(names, ", "));
  if (wanted.ends_with(".op")) return text_operation(wanted, folder, "--operation says so");
  if (!wanted.empty()) {
    if (const Operation* operation = find_operation(wanted))
      return OperationGuess{operation, "--operation says so", ""};
    return Error{ErrorKind::bad_input, fmt::format("there is no operation \"{}\"", wanted), "",
                 known};
  }
  fs::path text = file;
  std::error_code ignored;
  if (fs::exists(text.replace_extension(".op"), ignored))
    return text_operation(text, folder, "a text of that name lies beside it");
  OperationGuess guess = guess_operation(entry);
  guess.is_guessed = true;
  if (guess.operation) return guess;
  return Error{
      ErrorKind::bad_input,
      fmt::format("the name and the instructions of \"{}\" do not say what it computes",
                  entry.name),
      file.string(),
      fmt::format("give --operation and {}, or put {} beside it", known, text.filename().string())};
}

// "gemm" of an entry that is called "_ZN4mine4gemmI...".
std::string function_name(const std::string& entry) {
  const std::string name = cpp_name(entry);
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

std::ptrdiff_t count_of(const std::string& text, std::string_view word) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size())
    ++count;
  return count;
}

}  // namespace

ExitCode init(const Arguments& arguments, Terminal& terminal) {
  if (arguments.names.size() != 1) {
    return report_error({ErrorKind::bad_input, "init takes one file, PTX or a CUDA source", "",
                         "plumbline init mine.ptx"});
  }
  const fs::path file = arguments.names.front();
  Result<Subject> subject = find_subject(file, arguments, terminal);
  if (!subject) return report_error(subject.error());
  const EntrySurvey& entry = subject->entry;
  const fs::path out = arguments.draft_out.empty()
                           ? file.parent_path() / (file.stem().string() + ".toml")
                           : fs::path(arguments.draft_out);
  const fs::path folder = out == "-" ? file.parent_path() : out.parent_path();
  const Result<OperationGuess> guess = chosen_operation(entry, file, arguments.operation, folder);
  if (!guess) return report_error(guess.error());

  DraftSource source{file.filename().string(), subject->survey.version, subject->survey.target};
  if (file.extension() == ".cu") {
    if (const Result<std::string> code = read_text_file(file.string(), "")) {
      source.types = parameter_declarations(*code, function_name(entry.name));
      source.parameters = parameter_names(source.types);
    }
  }
  // A template's parameters have their types in the mangled name alone.
  if (const std::string signature = cpp_signature(entry.name); !signature.empty())
    source.types = parameter_types(signature);
  const std::string draft = draft_manifest(entry, *guess, source);
  if (out == "-") {
    terminal.print_lines(draft);
    return ExitCode::held;
  }
  std::error_code ignored;
  if (fs::exists(out, ignored)) {
    return report_error({ErrorKind::bad_input, "it exists already, and is not replaced",
                         out.string(), "--out another.toml, or --out - to print the draft"});
  }
  std::ofstream written(out);
  written << draft << std::flush;
  if (!written) return report_error({ErrorKind::bad_input, "cannot be written", out.string(), ""});
  subject->made.keep();
  terminal.print_wrapped(fmt::format(
      "{}: a draft for \"{}\" as {}, since {}. {} to look at (TODO).", out.string(), entry.name,
      guess->operation->name(), guess->reason, counted(count_of(draft, "TODO:"), "line")));
  if (guess->is_guessed) {
    terminal.print_wrapped(fmt::format(
        "If it computes something else: remove the draft, and say --operation, or write {} beside "
        "it (docs/operation_texts.md)",
        fs::path(file).replace_extension(".op").filename().string()));
  }
  if (const Result<Manifest> manifest = parse_manifest(draft, out.string()); !manifest)
    terminal.print_wrapped("It does not load yet: " + manifest.error().text());
  terminal.print_wrapped(
      fmt::format("then  plumbline verify --kernel {} --profile quick", out.string()));
  return ExitCode::held;
}

}  // namespace plumbline
