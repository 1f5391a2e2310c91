// SPDX-License-Identifier: MIT
// plumbline check: outputs that were computed elsewhere, held against their kernel's contract.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "fuzz/case_file/corpus.h"
#include "harness/check/dump.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/explain/explain.h"
#include "harness/launch/interrupt.h"
#include "harness/run/evidence.h"

namespace plumbline {
namespace {

// Inputs up to this size are saved as a case file beside a failure, to run them on the emulator.
constexpr std::int64_t kLargestCase = 1 << 20;

// Up to here every output is bounded, however wide it is: some minutes on two cores.
constexpr double kMostProducts = 3e11;

std::string save_inputs(const Dump& dump, const std::filesystem::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : dump.test_case.literals) bytes += tensor.layout.storage_bytes();
  if (bytes > kLargestCase) return "";
  CaseFile file;
  file.test_case = dump.test_case;
  file.notes.emplace_back("note", "failed on " + dump.target.name());
  const Result<SavedCase> saved = save_case(folder / "cases", file);
  return saved ? saved->path : "";
}

// Outputs that the dumps of a kernel lack, each said once.
void note_absent(const std::vector<Dump>& dumps, KernelRecord& kernel) {
  std::map<std::string, int> lack;
  int all = 0;
  for (const Dump& dump : dumps) {
    if (dump.test_case.kernel->name != kernel.name) continue;
    ++all;
    for (const std::string& output : dump.absent) ++lack[output];
  }
  for (const auto& [output, count] : lack) {
    kernel.reasons.push_back(
        fmt::format("output {} is not in {} and was not judged", output,
                    all == 1 ? "the dump" : fmt::format("{} of {} dumps", count, all)));
  }
}

}  // namespace

ExitCode check(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  if (arguments.names.empty()) {
    return report_error({ErrorKind::bad_input, "check needs a safetensors file", "",
                         "docs/check.md shows how to write one"});
  }
  std::vector<Dump> dumps;
  for (const std::string& path : arguments.names) {
    Result<Dump> dump =
        read_dump(path, *registry, arguments.case_text, arguments.sm, arguments.partial);
    if (!dump) return report_error(dump.error());
    dumps.push_back(*std::move(dump));
  }
  const auto start = std::chrono::steady_clock::now();
  RunRecord record;
  std::vector<const Manifest*> kernels;
  for (const Dump& dump : dumps) kernels.push_back(dump.test_case.kernel);
  std::vector<std::string> files;
  for (const std::string& path : arguments.names) files.push_back(hash_of_file(path));
  const std::string id = run_id(arguments, kernels, 0, files);
  label_record(record, arguments, id);
  record.planned = static_cast<std::int64_t>(dumps.size());
  describe_environment(record);
  Result<RunFolder> folder = create_run_folder(arguments, id);
  if (!folder) return report_error(folder.error());

  const Result<RunOptions> options = run_options(arguments, {});
  if (!options) return report_error(options.error());
  JudgeOptions judge = options->runner.judge;
  judge.threads = options->jobs;
  judge.most_products = kMostProducts;
  Console console(arguments, terminal, *folder, id);
  for (const Dump& dump : dumps) {
    const Manifest& kernel = *dump.test_case.kernel;
    if (std::none_of(record.kernels.begin(), record.kernels.end(),
                     [&](const KernelRecord& k) { return k.name == kernel.name; }))
      record.kernels.push_back(describe_kernel(kernel, {dump.target}));
  }
  folder->begin(record);
  for (std::size_t i = 0; i < dumps.size(); ++i) {
    if (interrupted()) break;
    const Dump& dump = dumps[i];
    const std::string& file = arguments.names[i];
    const std::string of_file = dumps.size() == 1 ? "" : file + ": ";
    const Result<ExaminedDump> judged = examine_dump(dump, judge);
    record.cases.push_back(judged ? judged->examined->record
                                  : error_record(dump.test_case, dump.target, judged.error()));
    if (judged && !judged->arithmetic.empty()) {
      const auto kernel =
          std::ranges::find(record.kernels, dump.test_case.kernel->name, &KernelRecord::name);
      kernel->arithmetic[dumps.size() == 1 ? dump.target.name() : file] = judged->arithmetic;
    }
    std::string& reason = record.cases.back().reason;
    if (!reason.empty()) reason = of_file + reason;
    record.cases.back().position = static_cast<std::int64_t>(record.cases.size()) - 1;
    console.finished(record.cases.back(), static_cast<std::int64_t>(record.cases.size()),
                     record.planned);
    if (record.cases.back().verdict != Verdict::fail) continue;
    Counterexample card = explain_failure(dump.test_case, *judged->examined);
    drop_faults_of_class(card);
    card.original = card.text;
    card.headline = of_file + card.headline;
    // What has no PTX cannot be replayed.
    const Manifest& kernel = *dump.test_case.kernel;
    const std::optional<int> build = best_build(kernel, dump.target.sm);
    std::error_code code;
    if (build && std::filesystem::exists(kernel.ptx_path(*build), code))
      card.case_file = save_inputs(dump, folder->path());
    record.counterexamples.push_back(std::move(card));
  }
  record.interrupted = interrupted();
  record.elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  summarize(record);
  weigh_evidence(record);
  for (KernelRecord& kernel : record.kernels) note_absent(dumps, kernel);
  folder->link_as_latest();
  print_cards(record, arguments, terminal);
  return end_run(record, *folder, arguments, terminal);
}

}  // namespace plumbline
