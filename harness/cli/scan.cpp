// SPDX-License-Identifier: MIT
// plumbline scan: conversions and functions of PTX, one instruction at a time, on all their inputs.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/emulator/decode/rows.h"
#include "harness/emulator/frontend/parser.h"
#include "harness/launch/interrupt.h"
#include "harness/launch/launcher.h"
#include "harness/launch/named_entries.h"
#include "harness/scan/scan.h"
#include "oracles/base/file.h"
#include "oracles/base/text.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

// An instruction and the emulated chips to try it on, the first that has it.
struct ScanJob {
  ScanInstruction instruction;
  std::vector<int> chips;
};

// What is to be scanned, each instruction once.
class ScanPlan {
 public:
  explicit ScanPlan(std::optional<int> sm) : sm_(sm) {}

  // As typed. An Error says why it cannot be scanned.
  Status add(std::string_view spelling) {
    Result<ScanInstruction> instruction = parse_scan_instruction(spelling);
    if (!instruction) return instruction.error();
    add(*std::move(instruction), sm_ ? std::vector<int>{*sm_} : std::vector<int>{90, 100, 120});
    return {};
  }

  // What a kernel's code has of them; the rest of its opcodes is left out with the reason.
  void add_code(const emulator::PtxModule& code, int sm) {
    for_each_instruction(code, [&](const emulator::Instruction& instruction) {
      const std::string form = spelling(instruction);
      if (!is_scalar_function(form)) return;
      Result<ScanInstruction> parsed = parse_scan_instruction(form);
      if (parsed) {
        add(*std::move(parsed), {sm_.value_or(sm)});
      } else {
        left_out_.insert(parsed.error().message);
      }
    });
  }

  const std::vector<ScanJob>& jobs() const { return jobs_; }

  const std::set<std::string>& left_out() const { return left_out_; }

 private:
  void add(ScanInstruction instruction, std::vector<int> chips) {
    if (seen_.insert(instruction.spelling).second)
      jobs_.push_back({std::move(instruction), std::move(chips)});
  }

  std::optional<int> sm_;
  std::vector<ScanJob> jobs_;
  std::set<std::string> seen_, left_out_;
};

Status add_file(const std::string& path, ScanPlan& plan) {
  const Result<std::string> text = read_text_file(path, "");
  if (!text) return text.error();
  const Result<emulator::PtxModule> module = emulator::parse_ptx(*text, path);
  if (!module) return module.error();
  plan.add_code(*module, module->target_sm);
  return {};
}

Status add_kernel(const Manifest& kernel, std::optional<int> wanted, ScanPlan& plan) {
  const int newest = wanted.value_or(*std::ranges::max_element(kernel.targets));
  const std::optional<int> build = best_build(kernel, newest);
  if (!build) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} has no build for sm_{}", kernel.name, newest), kernel.path, ""};
  }
  const Result<std::string> text = read_image(kernel, *build);
  if (!text) return text.error();
  const Result<emulator::PtxModule> module =
      parse_named_entries(kernel, *text, kernel.ptx_path(*build));
  if (!module) return module.error();
  plan.add_code(*module, newest);
  return {};
}

Result<ScanPlan> plan_of(const Arguments& arguments, Terminal& terminal) {
  ScanPlan plan(arguments.sm);
  std::vector<std::string> kernels;
  for (const std::string& name : arguments.names) {
    if (name.ends_with(".ptx")) {
      if (Status added = add_file(name, plan); !added) return added.error();
    } else if (!is_glob(name)) {
      if (name.find('.') == std::string::npos) {
        kernels.push_back(name);
      } else if (Status added = plan.add(name); !added) {
        return added.error();
      }
    } else {
      bool any = false;
      for (const std::string_view known : known_scan_instructions()) {
        if (!glob_matches(name, known)) continue;
        if (Status added = plan.add(known); !added) return added.error();
        any = true;
      }
      if (!any && name.find('.') == std::string::npos) {
        kernels.push_back(name);
      } else if (!any) {
        return Error{ErrorKind::bad_input, fmt::format("no instruction matches \"{}\"", name), "",
                     "plumbline scan 'cvt.*e4m3*', plumbline scan '*.approx.*'"};
      }
    }
  }
  if (kernels.empty() && arguments.manifests.empty()) return plan;
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return registry.error();
  const auto matched = registry->match(kernels);
  if (!matched) return matched.error();
  for (const Manifest* kernel : *matched) {
    if (Status added = add_kernel(*kernel, arguments.sm, plan); !added) return added.error();
  }
  return plan;
}

// --- what is printed ---

// "2^32", and "300,000".
std::string number_text(std::uint64_t number) {
  const int power = std::countr_zero(number);
  return power > 10 && std::has_single_bit(number) ? fmt::format("2^{}", power)
                                                   : count_text(static_cast<std::int64_t>(number));
}

// "all 2^16 inputs", "300,000 of 2^32 inputs".
std::string inputs_text(const ScanResult& result) {
  const std::string tried = number_text(result.inputs);
  if (result.exhaustive) return fmt::format("all {} inputs", tried);
  const ScanInstruction& instruction = result.instruction;
  if (instruction.function == ScanFunction::div)
    return fmt::format("{} of 2^{} pairs", tried, 2 * instruction.from.element_bits());
  return fmt::format("{} of {} inputs", tried, number_text(scan_inputs(instruction)));
}

std::string operands_text(const ScanInstruction& instruction, const ScannedElement& element) {
  const std::string a = element_text(instruction.from, element.a);
  return instruction.function == ScanFunction::div
             ? fmt::format("{} and {}", a, element_text(instruction.from, element.b))
             : a;
}

// "2.4998 ulp", "2^-22.003 relative".
std::string error_text(const LargestError& error) {
  const ErrorMeasure measure = error.limit->measure;
  if (error.error == 0) return "no error";
  if (measure == ErrorMeasure::ulp) return fmt::format("{:.4g} ulp", error.error);
  return fmt::format("2^{:.4g} {}", std::log2(error.error), name(measure));
}

std::string wrong_text(const ScanResult& result) {
  const ScanTally& tally = result.tally;
  const ScannedElement& first = *tally.first_wrong();
  return fmt::format("{} of {} results are wrong: {} gives {}, due is {}",
                     count_text(static_cast<std::int64_t>(tally.wrong())),
                     count_text(static_cast<std::int64_t>(tally.elements())),
                     operands_text(result.instruction, first),
                     element_text(result.instruction.to, first.result), tally.due_text(first));
}

std::string limit_text(const ScanInstruction& instruction, const LargestError& error) {
  return fmt::format("{} at {}; allowed: {}", error_text(error),
                     operands_text(instruction, error.at), error.limit->words);
}

nlohmann::ordered_json result_json(const ScanResult& result, const Target& target) {
  const ScanInstruction& instruction = result.instruction;
  const ScanTally& tally = result.tally;
  nlohmann::ordered_json json = {
      {"instruction", instruction.spelling}, {"device", target.name()}, {"inputs", result.inputs},
      {"exhaustive", result.exhaustive},     {"holds", tally.holds()},  {"wrong", tally.wrong()}};
  if (tally.first_wrong()) {
    json["first_wrong"] = {{"input", operands_text(instruction, *tally.first_wrong())},
                           {"result", element_text(instruction.to, tally.first_wrong()->result)},
                           {"due", tally.due_text(*tally.first_wrong())}};
  }
  json["errors"] = nlohmann::ordered_json::array();
  for (const LargestError& error : tally.errors()) {
    if (error.inputs == 0) continue;
    json["errors"].push_back({{"measure", name(error.limit->measure)},
                              {"largest", error.error},
                              {"at", operands_text(instruction, error.at)},
                              {"limit", error.limit->limit},
                              {"allowed", error.limit->words}});
  }
  return json;
}

void print_result(const ScanResult& result, const Target& target, double seconds,
                  const Arguments& arguments, Terminal& terminal) {
  const ScanInstruction& instruction = result.instruction;
  const ScanTally& tally = result.tally;
  if (arguments.format == OutputFormat::json) {
    terminal.print(result_json(result, target).dump());
    return;
  }
  const bool lines = arguments.format == OutputFormat::line;
  const auto print = [&](std::string_view word, const std::string& colored, bool bad,
                         const std::string& text) {
    if (lines) {
      if (bad)
        terminal.print(
            fmt::format("{}: {}: {}: {}", word, instruction.spelling, target.name(), text));
    } else if (bad || !arguments.quiet) {
      terminal.print_wrapped(fmt::format("    {}  {}", colored, text));
    }
  };
  if (!lines && (!arguments.quiet || !tally.holds())) {
    terminal.print_wrapped(fmt::format("  {} on {}, {}, {}", terminal.bold(instruction.spelling),
                                       target.name(), inputs_text(result), duration_text(seconds)));
  }
  if (tally.wrong() > 0) {
    print("wrong", terminal.red("wrong "), true, wrong_text(result));
  } else if (!instruction.approximate) {
    print("exact", terminal.green("exact "), false, "every result is the exact one, rounded");
  }
  for (const LargestError& error : tally.errors()) {
    if (error.inputs == 0) continue;
    const std::string text = limit_text(instruction, error);
    error.within() ? print("within", terminal.green("within"), false, text)
                   : print("beyond", terminal.red("beyond"), true, text);
  }
}

// On the GPU, or emulated as the first of the chips that has the instruction.
Result<ScanResult> scan_on(const std::optional<Target>& gpu, const ScanJob& job,
                           ScanOptions& options) {
  if (gpu) {
    options.target = *gpu;
    return scan(job.instruction, options);
  }
  std::optional<Error> why;
  for (const int sm : job.chips) {
    options.target = {.sm = sm, .gpu_name = {}};
    Result<ScanResult> result = scan(job.instruction, options);
    if (result || interrupted()) return result;
    why = result.error();
  }
  return *why;
}

// Where each instruction runs: nullopt for the emulator.
Result<std::vector<std::optional<Target>>> places_of(On on) {
  const Result<std::optional<Target>> gpu = find_gpu(on);
  if (!gpu) return gpu.error();
  std::vector<std::optional<Target>> places;
  if (*gpu) places.push_back(*gpu);
  if (!*gpu || on == On::both) places.push_back(std::nullopt);
  return places;
}

}  // namespace

ExitCode scan(const Arguments& arguments, Terminal& terminal) {
  const Result<ScanPlan> plan = plan_of(arguments, terminal);
  if (!plan) return report_error(plan.error());
  for (const std::string& reason : plan->left_out()) terminal.note(reason);
  if (plan->jobs().empty()) {
    if (!arguments.names.empty() || !arguments.manifests.empty()) {
      terminal.note("scan: no conversion and no function is there to be scanned");
      return ExitCode::nothing_selected;
    }
    return report_error({ErrorKind::bad_input, "no instruction, kernel or PTX file is named", "",
                         "plumbline scan 'cvt.*e4m3*', plumbline scan gemm_fp8"});
  }
  const Result<std::vector<std::optional<Target>>> places = places_of(arguments.on);
  if (!places) return report_error(places.error());

  ScanOptions options;
  options.threads = worker_threads(arguments);
  options.sample = arguments.sample;
  options.give_up = &interrupt_flag();
  int held = 0, failed = 0, unable = 0;
  const std::size_t all = plan->jobs().size() * places->size();
  for (std::size_t i = 0; i < all && !interrupted(); ++i) {
    const ScanJob& job = plan->jobs()[i / places->size()];
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    options.progress = [&](double share) {
      terminal.status(fmt::format("  {}  {:.0f} %, {} left", job.instruction.spelling, 100 * share,
                                  duration_text(seconds() * (1 - share) / share)));
    };
    const Result<ScanResult> result = scan_on((*places)[i % places->size()], job, options);
    terminal.clear_status();
    if (interrupted()) break;
    if (!result) {
      report_error(result.error());
      ++unable;
      continue;
    }
    ++(result->tally.holds() ? held : failed);
    print_result(*result, options.target, seconds(), arguments, terminal);
  }
  const auto left = static_cast<int>(all) - held - failed - unable;
  if (arguments.format == OutputFormat::human) {
    std::string line = fmt::format("scan: {} passed, {} failed", held, failed);
    if (unable > 0) line += fmt::format(", {} could not run", unable);
    if (left > 0) line += fmt::format(", {} not scanned", left);
    terminal.print(line);
  }
  if (interrupted()) return ExitCode::interrupted;
  return failed > 0 ? ExitCode::broken : unable > 0 ? ExitCode::could_not_run : ExitCode::held;
}

}  // namespace plumbline
