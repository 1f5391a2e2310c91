// SPDX-License-Identifier: MIT
#include "harness/cli/verb_table.h"

#include <CLI/CLI.hpp>
#include <array>

#include "harness/cli/verbs.h"

namespace plumbline {
namespace {

// --- flags that several verbs have ---

void add_on(FlagTargets to, const char* help) { to.app.add_option("--on", to.raw.on, help); }

void add_sm(FlagTargets to, const char* help) {
  to.app.add_option("--sm", to.raw.sm, help)->type_name("CHIP");
}

void add_seed(FlagTargets to, const char* help) { to.app.add_option("--seed", to.raw.seed, help); }

void add_kernel(FlagTargets to) {
  to.app.add_option("--kernel", to.arguments.manifests, "a manifest outside the kernel folder")
      ->type_name("FILE")
      ->allow_extra_args(false);  // what follows the file names kernels again
  to.app.add_flag("--no-compile", to.arguments.no_compile,
                  "take the PTX of manifests outside the folder as it is: nothing calls nvcc");
}

void add_only(FlagTargets to, const char* what, const char* help) {
  to.app.add_option("--only", to.arguments.only, help)->type_name(what);
}

void add_jobs(FlagTargets to) {
  to.app.add_option("--jobs,-j", to.arguments.jobs, "worker threads (default: one per core)")
      ->check(CLI::Range(1, 4096));
}

// Where results go, and who works.
void add_out_and_jobs(FlagTargets to) {
  to.app.add_option("--out", to.arguments.out, "folder for records and reports")->type_name("DIR");
  add_jobs(to);
}

void add_oracle(FlagTargets to) {
  to.app.add_option("--oracle", to.raw.oracle,
                    "auto, or mpfr[:BITS]: every element by the plain MPFR definition");
}

void add_repeat(FlagTargets to) {
  to.app.add_option("--repeat", to.arguments.repeat, "launches per case, compared bit for bit")
      ->check(CLI::Range(1, 10000));
}

void add_allow_mistrusted(FlagTargets to) {
  to.app.add_flag("--allow-mistrusted", to.arguments.allow_mistrusted,
                  "a pass that proves too little (mistrusted) is exit 0, not 5");
}

// Of verbs that judge outputs.
void add_judging(FlagTargets to) {
  add_kernel(to);
  add_oracle(to);
  add_out_and_jobs(to);
  add_allow_mistrusted(to);
  to.app.add_flag("--strict", to.arguments.strict, "a kernel that was skipped fails, too");
}

// Of verbs that run cases.
void add_running(FlagTargets to) {
  add_on(to, "where: auto (GPU if present), emulator, gpu, both (and compare)");
  add_sm(to, "this chip only, for example 90: the GPU if it is one, else emulated");
  add_judging(to);
  add_repeat(to);
}

// Of verbs that look for failures.
void add_searching(FlagTargets to) {
  add_running(to);
  to.app
      .add_option("--corpus", to.arguments.corpus,
                  "case files: replayed first, failures saved here")
      ->type_name("DIR");
  to.app.add_flag("--no-corpus", to.arguments.no_corpus, "neither read nor write a corpus");
  to.app.add_flag("--no-shrink", to.arguments.no_shrink, "report failures as found");
}

// Of verbs that choose cases.
void add_choosing(FlagTargets to) {
  to.app.add_option("--shard", to.raw.shard,
                    "i/n: this part of the plan, by hash of the case text");
  add_only(to, "TERMS",
           "filter by class, shape, strides, origin and fields: 'class=cancelling k>512'");
}

void add_strict_baseline(FlagTargets to) {
  to.app.add_flag("--strict-baseline", to.arguments.strict_baseline,
                  "an error that grew since the baseline fails, even inside its bound");
}

void add_baseline(FlagTargets to, const char* help) {
  to.app.add_option("--baseline", to.arguments.baseline, help)->type_name("FILE");
}

// --- the verbs' own ---

void no_flags(FlagTargets) {}

void verify_flags(FlagTargets to) {
  add_searching(to);
  add_seed(to, "of the plan");
  add_choosing(to);
  to.app.add_option("--profile", to.raw.profile,
                    "quick (seconds), default (minutes) or deep (hours)");
  to.app.add_flag("--failed", to.arguments.failed, "only what failed last time");
  add_baseline(to, "say what changed since this baseline or run");
  add_strict_baseline(to);
}

void fuzz_flags(FlagTargets to) {
  add_searching(to);
  add_seed(to, "first seed (default: fresh, and printed)");
  add_choosing(to);
  to.app.add_option("--for", to.raw.duration, "time box: 90s, 10m, 2h (default 60s)");
  to.app.add_flag("--minimize", to.arguments.minimize,
                  "drop remembered cases that show nothing the others do not, and stop");
}

void replay_flags(FlagTargets to) {
  add_running(to);
  to.app
      .add_option("--tensors", to.arguments.tensors,
                  "write inputs and outputs there as safetensors, for `plumbline check`")
      ->type_name("DIR");
}

void explain_flags(FlagTargets to) {
  add_on(to, "where: auto and emulator (emulated), gpu, both (and compare)");
  add_sm(to, "this chip only, for example 90");
  add_kernel(to);
  add_oracle(to);
  add_jobs(to);
  add_repeat(to);
  to.app.add_flag("--allow-mistrusted", to.arguments.allow_mistrusted,
                  "exit 0 where probes contradict the contract");
}

void check_flags(FlagTargets to) {
  to.app.add_flag("--partial", to.arguments.partial,
                  "judge the outputs that are there, where a file lacks some");
  to.app
      .add_option("--case", to.arguments.case_text,
                  "kernel and problem, where the file's metadata lack them")
      ->type_name("TEXT");
  add_sm(to, "the chip the kernel ran on, for example 90");
  add_judging(to);
}

void propagate_flags(FlagTargets to) {
  add_on(to, "where: auto (GPU if present), emulator or gpu");
  add_sm(to, "emulate this chip (default: the newest the kernel has)");
  add_kernel(to);
  add_only(to, "TERMS",
           "of the kernel's propagation cases: 'class=outliers out=f32' (default: the first)");
  add_seed(to, "of the data");
  to.app
      .add_option("--draws", to.arguments.draws,
                  "gradients: this many draws of data, for bias and what training sees of it")
      ->check(CLI::Range(2, 4096));
  to.app
      .add_option("--stochastic", to.arguments.stochastic,
                  "run each case this many times with random rounding: significant bits, and bias")
      ->check(CLI::Range(2, 4096));
  to.app
      .add_option(
          "--depth", to.arguments.depth,
          "a stack of this many transformer layers, forward and backward, instead of a kernel")
      ->check(CLI::Range(2, 4096));
  to.app
      .add_option("--decode", to.arguments.decode,
                  "a small model that decodes this many tokens from its own output and a KV cache")
      ->check(CLI::Range(2, 4096));
  to.app
      .add_option("--denoise", to.arguments.denoise,
                  "a small diffusion model over this many denoising steps")
      ->check(CLI::Range(2, 4096));
  add_out_and_jobs(to);
}

void mutants_flags(FlagTargets to) {
  to.app
      .add_option("--auto", to.arguments.auto_mutants,
                  "so many faults of the program's own in the PTX, instead of the curated patches")
      ->check(CLI::Range(1, 1000000));
  add_only(to, "IDS", "only these ids, with commas; leaves the faulty kernel");
  to.app
      .add_option("--min-score", to.arguments.min_score,
                  "fail when less percent of them are caught")
      ->check(CLI::Range(0, 100))
      ->type_name("PERCENT");
  to.app.add_flag("--peers", to.arguments.peers,
                  "hold other projects' tolerance rules against the same outputs");
  to.app.add_option("--profile", to.raw.profile, "whose planned cases: quick, default or deep");
  add_seed(to, "of the plan, and of the choice of faults");
  add_sm(to, "emulate this chip (default: the newest the kernel is built for)");
  add_kernel(to);
  add_allow_mistrusted(to);
  add_out_and_jobs(to);
}

void report_flags(FlagTargets to) {
  to.app
      .add_option("--out", to.arguments.report_folder,
                  "where the files go (default: plumbline-out/<run>)")
      ->type_name("DIR");
  add_baseline(to, "report.html shows what changed since this baseline or run");
  add_allow_mistrusted(to);
  to.app.add_flag("--strict", to.arguments.strict, "a kernel that was skipped fails, too");
}

void accept_flags(FlagTargets to) {
  add_baseline(to, "the file to write (default: plumbline-baseline.json)");
  to.app.add_flag("--dry-run", to.arguments.dry_run, "only show what would change");
}

constexpr std::string_view kKernels =
                               "kernel names or globs (default: those of --kernel, else all)",
                           kCases = "case files, folders of them, or case texts in quotes",
                           kRuns = "runs (their folder or record.json) or baselines";

constexpr std::array<Verb, 12> kVerbs = {{
    {"list", "WHAT",
     "kernels (default), oracles, formats, models, devices, classes; or ptx and files: their "
     "entries, and every instruction that the emulator lacks",
     "what there is: kernels, oracles, formats, models, devices, classes, entries of PTX",
     add_kernel, list, false, false},
    {"verify", "KERNEL", kKernels, "the planned cases, corpus first, judged against the contract",
     verify_flags, verify},
    {"fuzz", "KERNEL", kKernels,
     "search for worse until the time is up; failures are shrunk and saved", fuzz_flags, fuzz},
    {"replay", "CASE", kCases, "saved cases (files or folders) or case texts, exactly",
     replay_flags, replay},
    {"explain", "CASE",
     "kernel names or globs, case files, folders of them, or case texts in quotes",
     "one case slowly: where it left the exact path, and why; of a kernel, how it adds",
     explain_flags, explain, false, false},
    {"check", "DUMP", "safetensors files with the inputs and outputs of one call",
     "outputs that were computed elsewhere (safetensors files), judged like a case", check_flags,
     check},
    {"propagate", "KERNEL",
     "kernel names or globs (default: those of --kernel, else all), or case texts in quotes",
     "which stage the error comes from, what it grows to in a deep stack and does to gradients",
     propagate_flags, propagate},
    {"mutants", "KERNEL", kKernels,
     "plants known faults and counts how many the planned cases catch", mutants_flags, mutants},
    {"report", "RUN", "run folders, record.json or record.jsonl (default: the latest run)",
     "the files of a run again, from its record; the shards of one run become one record",
     report_flags, report, false},
    {"compare", "RUN", kRuns, "what became better or worse between two runs or baselines: OLD NEW",
     add_strict_baseline, compare},
    {"accept", "RUN", "a run (its folder or record.json), then kernels (default: all of them)",
     "make a run the baseline after showing the change", accept_flags, accept},
    {"doctor", "", "", "what works here (GPU, emulator, oracle) and what to do about the rest",
     no_flags, doctor, false, false},
}};

}  // namespace

std::span<const Verb> verb_table() { return kVerbs; }

}  // namespace plumbline
