// SPDX-License-Identifier: MIT
// What verify, fuzz and replay share: the kernels they were given, where files go, what is printed
// while cases finish, and how a record becomes files and an exit code.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/cli/arguments.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/run_folder.h"
#include "harness/cli/terminal.h"
#include "harness/cli/text/progress.h"
#include "harness/run/describe.h"
#include "harness/run/run.h"
#include "kernels/registry.h"

namespace plumbline {

// Prints an error on standard error and gives its exit code.
ExitCode report_error(const Error& error);

// The kernel folder's manifests and those named with --kernel, compiled where that is due.
Result<Registry> open_registry(const Arguments& arguments, Terminal& terminal);

// --jobs, or one per core.
int worker_threads(const Arguments& arguments);

// The run's options from the command line; the corpus folder is settled here.
Result<RunOptions> run_options(const Arguments& arguments,
                               const std::vector<const Manifest*>& kernels);

// The run's folder below --out; a shard's name says which one it is.
Result<RunFolder> create_run_folder(const Arguments& arguments, const std::string& run_id);

// What the command line says about a run: verb, profile, command, name.
void label_record(RunRecord& record, const Arguments& arguments, const std::string& run_id);

// Prints progress and lines as cases finish, failures as they are explained, and feeds
// record.jsonl.
class Console : public Observer {
 public:
  Console(const Arguments& arguments, Terminal& terminal, RunFolder& folder, std::string run_id)
      : arguments_(arguments), terminal_(terminal), folder_(folder), run_id_(std::move(run_id)) {}

  void planned(const RunRecord& so_far, const std::vector<Job>& jobs) override;
  void taken_over(const std::vector<CaseRecord>& cases) override;
  void finished(const CaseRecord& record, std::int64_t done, std::int64_t total) override;
  void shrinking(const Case& failing) override;
  void explained(const Counterexample& card) override;
  void probing() override;

 private:
  const Arguments& arguments_;
  Terminal& terminal_;
  RunFolder& folder_;
  std::string run_id_;
  void show_progress();

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Progress progress_;
  std::map<std::string, std::set<std::string>> told_;  // by kernel: the first faults of its cards
  std::map<std::int64_t, double> estimated_;           // seconds, by position
  double all_estimated_ = 0, done_estimated_ = 0;
};

// Six digits from everything that decides a run's results, so that the same run has the same name;
// its shards have it too, on machines whose corpus lies elsewhere as well: what is in a corpus
// counts in the plan. `inputs` are texts that say what else goes in: cases, hashes of files.
std::string run_id(const Arguments& arguments, const std::vector<const Manifest*>& kernels,
                   std::uint64_t seed, const std::vector<std::string>& inputs = {});

// The cards of a record whose failures were not told while they were found.
void print_cards(const RunRecord& record, const Arguments& arguments, Terminal& terminal);

// The table of kernels, what could not run, and the closing "verb: N passed, N failed, N skipped"
// line.
void print_record(const RunRecord& record, const Arguments& arguments, Terminal& terminal);

// A counterexample: text wrapped, what is there to be copied in whole lines. `brief`: what is new
// in it.
void print_card(const Counterexample& card, Terminal& terminal, bool brief = false);

void print_report_path(const std::filesystem::path& folder, const Arguments& arguments,
                       Terminal& terminal);

// On GitHub Actions only: workflow commands that put findings beside the code.
void print_annotations(const RunRecord& record, const Arguments& arguments, Terminal& terminal);

// How a run ends whose files could not be written: a broken promise is one all the same.
ExitCode unless_unwritten(const Status& written, ExitCode code);

// Writes a run's files, prints what it found, and says how it ended. What an interrupt left out is
// no evidence.
ExitCode end_run(RunRecord& record, RunFolder& folder, const Arguments& arguments,
                 Terminal& terminal, const PageOptions& page = {});

// Several at once: 130 first, then 70 > 1 > 3 > 5 > 4.
ExitCode exit_code(const RunRecord& record, const Arguments& arguments);

}  // namespace plumbline
