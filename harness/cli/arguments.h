// SPDX-License-Identifier: MIT
// The command line as data. parse_arguments() is the one place that knows CLI11.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/plan/plan.h"
#include "harness/cli/text/verb_help.h"
#include "harness/launch/target.h"
#include "harness/run/filter.h"
#include "harness/run/shard.h"
#include "oracles/base/result.h"

namespace plumbline {

enum class OutputFormat : std::uint8_t { human, line, json };
enum class ColorChoice : std::uint8_t { automatic, always, never };

struct Arguments {
  std::string verb;                    // empty: help was printed into `help`
  std::string help;                    // text to print, exit 0
  std::vector<std::string> names;      // kernels, case files, or what to list
  std::vector<std::string> manifests;  // --kernel
  bool no_compile = false;
  On on = On::automatic;
  std::optional<int> sm;
  Profile profile = Profile::standard;
  std::string profile_name = "default";
  std::string only;       // --only, parsed once the kernels are known; of mutants, their ids
  std::string case_text;  // --case
  std::string tensors;    // --tensors
  std::vector<std::string> problems;  // --problem of perf; empty: a small one
  std::string chip;                   // --chip of perf; empty: the usual one
  bool partial = false;               // --partial: outputs that a dump lacks are no error
  std::string baseline;               // --baseline
  bool strict_baseline = false;
  bool dry_run = false;
  bool minimize = false;
  bool failed = false;
  std::optional<std::uint64_t> seed;
  double seconds = 60;  // --for
  std::string task;     // --task of judge
  bool no_sandbox = false;
  std::uint64_t sample = 0;  // --sample of scan; 0: all inputs
  int auto_mutants = 0;      // --auto; 0: the curated ones
  std::optional<double> min_score;
  bool peers = false;  // --peers
  std::optional<Shard> shard;
  int mpfr_bits = 0;  // --oracle mpfr[:BITS]
  int repeat = 1;
  bool stateless = false;
  int depth = 0;       // --depth: layers of a stack; 0: no stack
  std::string model;   // --model: sizes and one more arithmetic of the stacks; empty: none
  std::string sweep;   // --sweep FIELD=VALUES; empty: none
  int draws = 0;       // --draws, of gradients; 0: none
  int stochastic = 0;  // --stochastic: runs with random rounding; 0: none
  int decode = 0;      // --decode: steps; 0: none
  int denoise = 0;     // --denoise: steps; 0: none
  bool strict = false;
  bool allow_mistrusted = false;
  OutputFormat format = OutputFormat::human;
  std::string out = "plumbline-out";
  std::string operation, entry, draft_out;  // of init
  bool tables = false;                      // --tables of report
  std::string report_folder;  // --out of report; empty: a folder of the run's name in plumbline-out
  std::string corpus;         // empty: the default folder
  bool no_corpus = false;
  bool no_shrink = false;
  std::int64_t max_failures = 0;  // --fail-fast: 1; --max-fail; 0: none ends the run
  bool list_cases = false;
  bool resume = false;
  int jobs = 0;  // 0: one per core
  ColorChoice color = ColorChoice::automatic;
  bool quiet = false, verbose = false;
  std::string command;  // as typed, for the record
};

Result<Arguments> parse_arguments(int argc, const char* const* argv);

// Every verb with its flags and examples.
std::vector<VerbHelp> described_verbs();

// Every verb's help, for docs/cli.md and the test that keeps it true.
std::string full_help();

}  // namespace plumbline
