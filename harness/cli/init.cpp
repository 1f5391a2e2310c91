// SPDX-License-Identifier: MIT
// plumbline init: a first manifest for a PTX file or a CUDA source.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "harness/cli/draft/draft.h"
#include "harness/cli/draft/source_names.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/device/entry_name.h"
#include "kernels/manifest/compile.h"
#include "kernels/ops/text_operation.h"
#include "oracles/base/file.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using emulator::EntrySurvey;
using emulator::PtxSurvey;

// The PTX of `file`, which nvcc makes first where it is a source.
Result<fs::path> ptx_of(const fs::path& file, const Arguments& arguments, Terminal& terminal) {
  if (file.extension() == ".ptx") return file;
  if (file.extension() != ".cu") {
    return Error{ErrorKind::bad_input, "it is neither PTX (.ptx) nor a CUDA source (.cu)",
                 file.string(), "plumbline init mine.ptx"};
  }
  if (arguments.no_compile) {
    return Error{ErrorKind::bad_input,
                 "a CUDA source has to be compiled, which --no-compile forbids", file.string(),
                 "name its PTX"};
  }
  constexpr int kUsualChip = 80;
  Manifest source;
  source.name = file.stem().string();
  source.path = (file.parent_path() / (source.name + ".toml")).string();
  source.source = file.filename().string();
  source.targets = {arguments.sm.value_or(kUsualChip)};
  terminal.status(fmt::format("  compiling {} for sm_{}", source.source, source.targets.front()));
  const Status compiled = compile_outdated(source);
  terminal.clear_status();
  if (!compiled) return compiled.error();
  return fs::path(source.ptx_path(source.targets.front()));
}

Result<EntrySurvey> chosen_entry(const PtxSurvey& survey, const std::string& file,
                                 const std::string& wanted) {
  std::vector<std::string> names;
  for (const EntrySurvey& entry : survey.entries) {
    if (entry.name == wanted || (wanted.empty() && survey.entries.size() == 1)) return entry;
    names.push_back(entry.name);
  }
  if (names.empty()) return Error{ErrorKind::bad_input, "it has no entry point", file, ""};
  return Error{ErrorKind::bad_input,
               wanted.empty() ? fmt::format("it has {} entry points", names.size())
                              : fmt::format("it has no entry point \"{}\"", wanted),
               file, fmt::format("--entry and one of {}", fmt::join(names, ", "))};
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
  if (guess.operation) return guess;
  return Error{
      ErrorKind::bad_input,
      fmt::format("what \"{}\" computes is not to be seen in its name or its instructions",
                  entry.name),
      file.string(),
      fmt::format("--operation and {}: {} is found by itself", known, text.filename().string())};
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
  const Result<fs::path> ptx = ptx_of(file, arguments, terminal);
  if (!ptx) return report_error(ptx.error());
  const Result<std::string> text = read_text_file(ptx->string(), "");
  if (!text) return report_error(text.error());
  const Result<PtxSurvey> survey = emulator::survey_ptx(*text, ptx->string());
  if (!survey) return report_error(survey.error());
  const Result<EntrySurvey> entry = chosen_entry(*survey, file.string(), arguments.entry);
  if (!entry) return report_error(entry.error());
  const fs::path out = arguments.draft_out.empty()
                           ? file.parent_path() / (file.stem().string() + ".toml")
                           : fs::path(arguments.draft_out);
  const fs::path folder = out == "-" ? file.parent_path() : out.parent_path();
  const Result<OperationGuess> guess = chosen_operation(*entry, file, arguments.operation, folder);
  if (!guess) return report_error(guess.error());

  DraftSource source{file.filename().string(), survey->version, survey->target};
  if (file.extension() == ".cu") {
    if (const Result<std::string> code = read_text_file(file.string(), ""))
      source.parameters = parameter_names(*code, function_name(entry->name));
  }
  const std::string draft = draft_manifest(*entry, *guess, source);
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
  terminal.print_wrapped(fmt::format(
      "{}: a draft for \"{}\" as {}, since {}. {} to look at (TODO).", out.string(), entry->name,
      guess->operation->name(), guess->reason, counted(count_of(draft, "TODO") - 1, "line")));
  if (const Result<Manifest> manifest = parse_manifest(draft, out.string()); !manifest)
    terminal.print_wrapped("It does not load yet: " + manifest.error().text());
  terminal.print_wrapped(
      fmt::format("then  plumbline verify --kernel {} --profile quick", out.string()));
  return ExitCode::held;
}

}  // namespace plumbline
