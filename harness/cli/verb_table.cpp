// SPDX-License-Identifier: MIT
#include "harness/cli/verb_table.h"

#include <CLI/CLI.hpp>
#include <array>

#include "harness/cli/verbs.h"

namespace plumbline {
namespace {

// --- flags that several verbs have ---

template <typename T>
CLI::Option* add(FlagTargets to, const char* group, const char* names, T& value, const char* type,
                 const char* help) {
  return to.app.add_option(names, value, help)->type_name(type)->group(group);
}

void add_switch(FlagTargets to, const char* group, const char* names, bool& value,
                const char* help) {
  to.app.add_flag(names, value, help)->group(group);
}

void add_on(FlagTargets to, const char* help) {
  add(to, kPlace, "--on", to.raw.on, "DEVICE", help);
}

void add_sm(FlagTargets to, const char* help) { add(to, kPlace, "--sm", to.raw.sm, "CHIP", help); }

void add_seed(FlagTargets to, const char* help) {
  add(to, kChoosing, "--seed", to.raw.seed, "SEED", help);
}

void add_profile(FlagTargets to, const char* help) {
  add(to, kChoosing, "--profile", to.raw.profile, "PROFILE", help);
}

void add_kernel(FlagTargets to) {
  add(to, kChoosing, "--kernel", to.arguments.manifests, "FILE",
      "a manifest outside the kernel folder")
      ->allow_extra_args(false);  // what follows the file names kernels again
  add_switch(to, kChoosing, "--no-compile", to.arguments.no_compile,
             "take the PTX of manifests outside the folder as it is: nothing calls nvcc");
}

void add_only(FlagTargets to, const char* what, const char* help) {
  add(to, kChoosing, "--only", to.arguments.only, what, help);
}

void add_jobs(FlagTargets to) {
  add(to, kPlace, "-j,--jobs", to.arguments.jobs, "N", "worker threads (default: one per core)")
      ->check(CLI::Range(1, 4096));
}

// Where results go, and who works.
void add_out_and_jobs(FlagTargets to) {
  add(to, kOutput, "--out", to.arguments.out, "DIR", "folder for records and reports");
  add_jobs(to);
}

void add_oracle(FlagTargets to) {
  add(to, kJudging, "--oracle", to.raw.oracle, "ORACLE",
      "auto, or mpfr[:BITS]: every element by the plain MPFR definition");
}

void add_repeat(FlagTargets to) {
  add(to, kJudging, "--repeat", to.arguments.repeat, "N", "launches per case, compared bit for bit")
      ->check(CLI::Range(1, 10000));
}

void add_allow_mistrusted(FlagTargets to) {
  add_switch(to, kJudging, "--allow-mistrusted", to.arguments.allow_mistrusted,
             "a pass that proves too little (mistrusted) is exit 0, not 5");
}

void add_strict(FlagTargets to) {
  add_switch(to, kJudging, "--strict", to.arguments.strict,
             "also fail where a kernel was skipped, or was named and had no case");
}

// Of verbs that judge outputs.
void add_judging(FlagTargets to) {
  add_kernel(to);
  add_oracle(to);
  add_out_and_jobs(to);
  add_allow_mistrusted(to);
  add_strict(to);
}

// Of verbs that run cases.
void add_running(FlagTargets to) {
  add_on(to, "auto (GPU if present), emulator, gpu, both (and compare)");
  add_sm(to, "this chip only, for example 90: the GPU if it is one, else emulated");
  add_judging(to);
  add_repeat(to);
  add_switch(to, kJudging, "--stateless", to.arguments.stateless,
             "a kernel whose calls leave a variable of its module changed is mistrusted");
}

// Of verbs that look for failures.
void add_searching(FlagTargets to) {
  add_running(to);
  add(to, kChoosing, "--corpus", to.arguments.corpus, "DIR",
      "case files: replayed first, failures saved here");
  add_switch(to, kChoosing, "--no-corpus", to.arguments.no_corpus,
             "neither read nor write a corpus");
  add_switch(to, kFailing, "--no-shrink", to.arguments.no_shrink, "report failures as found");
}

// Of verbs that choose cases.
void add_choosing(FlagTargets to) {
  add(to, kChoosing, "--shard", to.raw.shard, "I/N",
      "this part of the plan, by hash of the case text");
  add_only(to, "TERMS",
           "filter by class, shape, strides, origin and fields: 'class=cancelling k>512'");
}

void add_strict_baseline(FlagTargets to) {
  add_switch(
      to, kJudging, "--strict-baseline", to.arguments.strict_baseline,
      "an error that grew since the baseline fails, even inside its bound, and what cannot be "
      "compared");
}

void add_baseline(FlagTargets to, const char* group, const char* help) {
  add(to, group, "--baseline", to.arguments.baseline, "FILE", help);
}

// --- the verbs' own ---

void no_flags(FlagTargets) {}

void init_flags(FlagTargets to) {
  add(to, kChoosing, "--operation", to.arguments.operation, "NAME",
      "what the kernel computes, where its name does not say: an operation, or a text <name>.op");
  add(to, kChoosing, "--entry", to.arguments.entry, "NAME",
      "the entry point, where the PTX has several");
  add_sm(
      to,
      "the chip that a source is compiled for (default: the oldest of 80, 89 and 90 that runs it)");
  add_switch(to, kChoosing, "--no-compile", to.arguments.no_compile,
             "take PTX only: nothing calls nvcc");
  add(to, kOutput, "--out", to.arguments.draft_out, "FILE",
      "the manifest (default: beside the file, with .toml; - prints it)");
}

void verify_flags(FlagTargets to) {
  add_profile(to, "quick (seconds), default (minutes) or deep (hours)");
  add_choosing(to);
  add_switch(to, kChoosing, "--failed", to.arguments.failed, "only what failed last time");
  add_switch(to, kChoosing, "--resume", to.arguments.resume,
             "go on where the same run was interrupted or killed: what passed then does not run "
             "again");
  add_seed(to, "of the plan");
  add_switch(to, kChoosing, "--list-cases", to.arguments.list_cases,
             "list the cases, and how long they will take; run none");
  add_searching(to);
  to.app
      .add_flag_callback(
          "-x,--fail-fast", [to] { to.arguments.max_failures = 1; },
          "end the run with its first failing case, made small and explained")
      ->group(kFailing);
  add(to, kFailing, "--max-fail", to.arguments.max_failures, "N",
      "end the run with so many failing cases")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  add_baseline(to, kJudging, "say what changed since this baseline or run");
  add_strict_baseline(to);
}

void fuzz_flags(FlagTargets to) {
  add(to, kChoosing, "--for", to.raw.duration, "TIME", "time box: 90s, 10m, 2h (default 60s)");
  add_choosing(to);
  add_seed(to, "first seed (default: fresh, and printed)");
  add_searching(to);
  add_switch(to, kChoosing, "--minimize", to.arguments.minimize,
             "drop remembered cases that show nothing the others do not, and stop");
}

void replay_flags(FlagTargets to) {
  add_running(to);
  add(to, kOutput, "--tensors", to.arguments.tensors, "DIR",
      "write inputs and outputs there as safetensors, for `plumbline check`");
}

void explain_flags(FlagTargets to) {
  add_kernel(to);
  add_on(to, "auto and emulator (emulated), gpu, both (and compare)");
  add_sm(to, "this chip only, for example 90");
  add_oracle(to);
  add_jobs(to);
  add_repeat(to);
  add_switch(to, kJudging, "--allow-mistrusted", to.arguments.allow_mistrusted,
             "exit 0 where probes contradict the contract");
}

void check_flags(FlagTargets to) {
  add_switch(to, kChoosing, "--partial", to.arguments.partial,
             "judge the outputs that are there, where a file lacks some");
  add(to, kChoosing, "--case", to.arguments.case_text, "TEXT",
      "kernel and problem, where the file's metadata lack them");
  add_sm(to, "the chip the kernel ran on, for example 90");
  add_judging(to);
}

void judge_flags(FlagTargets to) {
  to.app.preparse_callback([to](std::size_t) { to.raw.profile = "quick"; });
  add(to, kChoosing, "--task", to.arguments.task, "FILE",
      "the manifest of the kernel that is asked for; its source is the submission");
  add_profile(to, "quick (default), default or deep");
  add(to, kChoosing, "--for", to.raw.duration, "TIME",
      "the most it may take, compiling included: 90s, 10m (default 60s)");
  add_seed(to, "of the inputs (default: fresh, and printed)");
  add_sm(to, "emulate this chip only (default: all that the task names)");
  add_jobs(to);
  add_switch(to, kPlace, "--no-sandbox", to.arguments.no_sandbox,
             "limits on time and memory alone, for submissions you trust");
}

void propagate_flags(FlagTargets to) {
  add_only(to, "TERMS",
           "of the kernel's propagation cases: 'class=outliers out=f32' (default: the first)");
  add(to, kChoosing, "--sweep", to.arguments.sweep, "FIELD=VALUES",
      "each case, or stack, once for every value: keys=64..8192 (doubling), keys=64,100");
  add_kernel(to);
  add_seed(to, "of the data");
  const auto add_count = [&](const char* name, int& value, const char* help) {
    add(to, kChoosing, name, value, "N", help)->check(CLI::Range(2, 4096));
  };
  add_count("--draws", to.arguments.draws,
            "gradients: this many draws of data, for bias and what training sees of it");
  add_count("--stochastic", to.arguments.stochastic,
            "run each case this many times with random rounding: significant bits, and bias");
  add_count("--depth", to.arguments.depth,
            "a stack of this many transformer layers, forward and backward, instead of a kernel");
  add_count("--decode", to.arguments.decode,
            "a small model that decodes this many tokens from its own output and a KV cache");
  add_count("--denoise", to.arguments.denoise,
            "a small diffusion model over this many denoising steps");
  add(to, kChoosing, "--model", to.arguments.model, "WORDS",
      "of these three: sizes and one more arithmetic, 'width=256 heads=8 qkv=e4m3 residual=f32'");
  add_on(to, "auto (GPU if present), emulator or gpu");
  add_sm(to, "emulate this chip (default: the newest the kernel has)");
  add_out_and_jobs(to);
}

void mutants_flags(FlagTargets to) {
  add(to, kChoosing, "--auto", to.arguments.auto_mutants, "N",
      "so many faults of the program's own in the PTX, instead of the curated patches")
      ->check(CLI::Range(1, 1000000));
  add_only(to, "IDS", "only these ids, with commas; leaves the faulty kernel");
  add_profile(to, "whose planned cases: quick, default or deep");
  add_seed(to, "of the plan, and of the choice of faults");
  add_kernel(to);
  add_sm(to, "emulate this chip (default: the newest the kernel is built for)");
  add(to, kJudging, "--min-score", to.arguments.min_score, "PERCENT",
      "fail when less percent of them are caught")
      ->check(CLI::Range(0, 100));
  add_switch(to, kJudging, "--peers", to.arguments.peers,
             "hold other projects' tolerance rules against the same outputs");
  add_out_and_jobs(to);
}

void perf_flags(FlagTargets to) {
  add(to, kChoosing, "--problem", to.arguments.problems, "FIELDS",
      "a problem, for example 'm=256 n=256 k=256'; as often as there are some (default: those of "
      "the baseline, or a small one)")
      ->allow_extra_args(false);
  add_kernel(to);
  add_sm(to, "emulate this chip (default: the newest the kernel is built for)");
  add(to, kPlace, "--chip", to.arguments.chip, "NAME",
      "whose peaks and multiprocessors: \"H100 SXM\", \"H200\", \"B200\", \"A100 SXM\", "
      "\"L40S\", \"RTX 4090\", \"RTX 5090\"");
  add_baseline(to, kJudging, "say what grew since this perf.json");
  add_switch(to, kJudging, "--strict", to.arguments.strict,
             "a counter that grew since the baseline fails, and what cannot be compared");
  add_out_and_jobs(to);
}

void scan_flags(FlagTargets to) {
  add(to, kChoosing, "--sample", to.arguments.sample, "N",
      "so many of each instruction's inputs, both ends of every binade first, at least 1024 "
      "(default: all, but of division)")
      ->check(CLI::Range(std::uint64_t{1024}, std::uint64_t{1} << 40));
  add_kernel(to);
  add_on(to, "auto (GPU if present), emulator, gpu, both (one after the other)");
  add_sm(to, "emulate this chip (default: sm_90, or the first that has the instruction)");
  add_jobs(to);
}

void report_flags(FlagTargets to) {
  add_baseline(to, kOutput, "report.html shows what changed since this baseline or run");
  add_switch(to, kOutput, "--tables", to.arguments.tables,
             "the numbers of every figure as CSV, and all of them as JSON, in DIR/tables");
  add(to, kOutput, "--out", to.arguments.report_folder, "DIR",
      "where the files go (default: plumbline-out/<run>)");
  add_allow_mistrusted(to);
  add_strict(to);
}

void accept_flags(FlagTargets to) {
  add_baseline(to, kOutput, "the file to write (default: plumbline-baseline.json)");
  add_switch(to, kOutput, "--dry-run", to.arguments.dry_run, "only show what would change");
}

// --- examples ---

constexpr std::array<Example, 3> kInitExamples = {{
    {"plumbline init mine.ptx", "drafts mine.toml: what the PTX says, and TODO where it does not"},
    {"plumbline init mine.cu --sm 90", "of a source, which nvcc compiles"},
    {"plumbline init triton.ptx --operation softmax --out -", "prints the draft"},
}};
constexpr std::array<Example, 4> kListExamples = {{
    {"plumbline list", "every kernel, by operation, with its chips"},
    {"plumbline list classes", "what --only class=, shape= and strides= may name"},
    {"plumbline list ptx mine.ptx", "entries, and what the emulator lacks, of foreign PTX"},
    {"plumbline list text mine.op", "operations of a text, gradients written out"},
}};
constexpr std::array<Example, 4> kVerifyExamples = {{
    {"plumbline verify gemm_bf16 --profile quick", "one kernel, in seconds"},
    {"plumbline verify --kernel mine.toml -x", "your own kernel, until its first failure"},
    {"plumbline verify 'gemm_*' --sm 90 --only 'class=cancelling k>512'",
     "some cases of some kernels, as sm_90 adds"},
    {"plumbline verify --failed", "what failed last time, after a change"},
}};
constexpr std::array<Example, 2> kFuzzExamples = {{
    {"plumbline fuzz gemm_fp8 --for 10m", "ten minutes on one kernel"},
    {"plumbline fuzz gemm_fp8 --seed 0x2a --only 'k>1000'", "a search that can be repeated"},
}};
constexpr std::array<Example, 3> kReplayExamples = {{
    {"plumbline replay fuzz/corpus/gemm_bf16", "every saved case of a kernel"},
    {"plumbline replay 'gemm_bf16 m=4 n=4 k=64 value=normal seed=0x1' --on both",
     "one case, on the GPU and its emulator"},
    {"plumbline replay mine.case --kernel mine.toml --tensors dump",
     "and its tensors as safetensors"},
}};
constexpr std::array<Example, 2> kExplainExamples = {{
    {"plumbline explain gemm_fp8", "what the kernel promises, and how probes find it to add"},
    {"plumbline explain 'gemm_bf16 m=4 n=4 k=64 value=normal seed=0x1'",
     "where one case leaves the exact path"},
}};
constexpr std::array<Example, 2> kCheckExamples = {{
    {"plumbline check step.safetensors", "a dump whose metadata name kernel and problem"},
    {"plumbline check step.safetensors --case 'gemm_bf16 m=64 n=64 k=512' --sm 90",
     "one whose metadata do not"},
}};
constexpr std::array<Example, 2> kJudgeExamples = {{
    {"plumbline judge submission.cu --task gemm.toml --format json", "one line of JSON"},
    {"plumbline judge submission.ptx --task gemm.toml --seed 0x2a", "with the inputs of a seed"},
}};
constexpr std::array<Example, 4> kPropagateExamples = {{
    {"plumbline propagate attention_bf16_forward", "which stage its error comes from"},
    {"plumbline propagate gemm_bf16 --stochastic 64", "how many bits of its outputs survive"},
    {"plumbline propagate attention_bf16_forward --sweep keys=64..8192",
     "its error by the length of the sums"},
    {"plumbline propagate --depth 32 --model \"qkv=e4m3 up=e4m3 down=e4m3 scales=block\"",
     "what becomes of the error in 32 layers, also with FP8 in some of the products"},
}};
constexpr std::array<Example, 3> kMutantsExamples = {{
    {"plumbline mutants gemm_bf16 --profile quick", "the curated faults of one kernel"},
    {"plumbline mutants gemm_bf16 --only G04 --out planted", "leaves the kernel with fault G04"},
    {"plumbline mutants rmsnorm_bf16 --auto 60 --min-score 90",
     "sixty faults of the program's own"},
}};
constexpr std::array<Example, 4> kPerfExamples = {{
    {"plumbline perf gemm_bf16 --problem 'm=256 n=256 k=256' --sm 90",
     "sectors, bank conflicts, products, occupancy of one launch"},
    {"plumbline perf gemm_bf16 --problem 'm=64 n=4096 k=4096' --problem 'm=1024 n=4096 k=4096'",
     "two points of a roofline"},
    {"plumbline perf --kernel mine.toml --problem 'm=64 n=64 k=64' -v",
     "your own kernel, line by line"},
    {"plumbline perf --baseline perf.json --strict", "a counter that grew fails, with its line"},
}};
constexpr std::array<Example, 3> kScanExamples = {{
    {"plumbline scan 'cvt.*e4m3*'", "the conversions to and from e4m3, on all their inputs"},
    {"plumbline scan gemm_fp8 --sample 1000000", "what a kernel's code has, on a million of each"},
    {"plumbline scan ex2.approx.ftz.f32 --on gpu", "how far this machine's GPU is off"},
}};
constexpr std::array<Example, 3> kReportExamples = {{
    {"plumbline report", "the files of the latest run, again"},
    {"plumbline report --tables", "with the numbers of every figure as CSV and JSON"},
    {"plumbline report shards/*-*of4 --out merged", "four shards as one run"},
}};
constexpr std::array<Example, 2> kCompareExamples = {{
    {"plumbline compare plumbline-baseline.json plumbline-out/latest",
     "what changed since the baseline"},
    {"plumbline compare before/latest after/latest --strict-baseline",
     "two runs; a larger error fails"},
}};
constexpr std::array<Example, 2> kAcceptExamples = {{
    {"plumbline accept plumbline-out/latest", "the latest run becomes the baseline"},
    {"plumbline accept plumbline-out/latest gemm_bf16 --dry-run",
     "what would change for one kernel"},
}};
constexpr std::array<Example, 2> kDoctorExamples = {{
    {"plumbline doctor", "what is wrong or missing first"},
    {"plumbline doctor --verbose", "each kernel on all of its chips, a line each"},
}};
constexpr std::array<Example, 3> kCompletionExamples = {{
    {"eval \"$(plumbline completion bash)\"", "in ~/.bashrc"},
    {"eval \"$(plumbline completion zsh)\"", "in ~/.zshrc, behind compinit"},
    {"plumbline completion fish | source", "in ~/.config/fish/config.fish"},
}};

constexpr std::array<std::string_view, 4> kDevices = {"auto", "emulator", "gpu", "both"};
constexpr std::array<std::string_view, 3> kProfiles = {"quick", "default", "deep"};
constexpr std::array<std::string_view, 3> kOutputFormats = {"human", "line", "json"};
constexpr std::array<std::string_view, 3> kColors = {"auto", "always", "never"};

constexpr std::string_view kKernels =
                               "kernel names or globs (default: those of --kernel, else all)",
                           kCases = "case files, folders of them, or case texts in quotes",
                           kRuns = "runs (their folder or record.json) or baselines";

constexpr std::array<Verb, 17> kVerbs = {{
    {"list", "WHAT",
     "kernels (default), operations, formats, models, devices, classes; ptx and files: their "
     "entries, and every instruction that the emulator lacks; text and files: their operations "
     "(with --format json their fields, contract terms and tensors)",
     "what there is: kernels, operations, formats, models, devices, classes, PTX, texts",
     add_kernel, list, kListExamples, true, false},
    {"init", "FILE", "a PTX file or a CUDA source",
     "a first manifest for a kernel: what its PTX says, and what is left to say", init_flags, init,
     kInitExamples, false, false},
    {"verify", "KERNEL", kKernels, "the planned cases, corpus first, judged against the contract",
     verify_flags, verify, kVerifyExamples},
    {"fuzz", "KERNEL", kKernels,
     "search for worse until the time is up; failures are shrunk and saved", fuzz_flags, fuzz,
     kFuzzExamples},
    {"replay", "CASE", kCases, "saved cases (files or folders) or case texts, exactly",
     replay_flags, replay, kReplayExamples},
    {"explain", "CASE",
     "kernel names or globs, case files, folders of them, or case texts in quotes",
     "one case step by step: where it left the exact path, and why; of a kernel, how it adds",
     explain_flags, explain, kExplainExamples, false, false},
    {"check", "DUMP", "safetensors files with the inputs and outputs of one call",
     "outputs that were computed elsewhere (safetensors files), judged like a case", check_flags,
     check, kCheckExamples},
    {"judge", "SUBMISSION", "the kernel to judge: a CUDA source, PTX or a Triton kernel (.py)",
     "an untrusted kernel: compiled and verified in a sandbox, with inputs it cannot know",
     judge_flags, judge, kJudgeExamples},
    {"propagate", "KERNEL",
     "kernel names or globs (default: those of --kernel, else all), or case texts in quotes",
     "which stage the error comes from, what it grows to in a deep stack and does to gradients",
     propagate_flags, propagate, kPropagateExamples},
    {"mutants", "KERNEL", kKernels,
     "plants known faults and counts how many the planned cases catch", mutants_flags, mutants,
     kMutantsExamples},
    {"perf", "KERNEL",
     "kernel names or globs (default: those of --kernel or of the baseline, else all)",
     "what a launch moves, counted by source line: sectors, bank conflicts, products, occupancy",
     perf_flags, perf, kPerfExamples},
    {"scan", "WHAT", "instructions or globs of them ('cvt.*e4m3*'), kernel names, PTX files",
     "conversions and functions of PTX on all their inputs: largest errors, and where", scan_flags,
     scan, kScanExamples},
    {"report", "RUN", "run folders, record.json or record.jsonl (default: the latest run)",
     "the files of a run again, from its record; the shards of one run become one record",
     report_flags, report, kReportExamples, false},
    {"compare", "RUN", kRuns, "what became better or worse between two runs or baselines: OLD NEW",
     add_strict_baseline, compare, kCompareExamples},
    {"accept", "RUN", "a run (its folder or record.json), then kernels (default: all of them)",
     "make a run the baseline after showing the change", accept_flags, accept, kAcceptExamples},
    {"doctor", "", "", "what works here (GPU, emulator, oracle) and what to do about the rest",
     no_flags, doctor, kDoctorExamples, false, false},
    {"completion", "SHELL", "bash, zsh or fish",
     "a script that completes verbs, flags, values and kernels in a shell", no_flags, completion,
     kCompletionExamples, false, false},
}};

}  // namespace

std::span<const Verb> verb_table() { return kVerbs; }

std::span<const std::string_view> flag_choices(std::string_view flag) {
  if (flag == "--on") return kDevices;
  if (flag == "--profile") return kProfiles;
  if (flag == "--format") return kOutputFormats;
  if (flag == "--color") return kColors;
  return {};
}

}  // namespace plumbline
