// SPDX-License-Identifier: MIT
#include "harness/check/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/case_file/corpus.h"
#include "harness/check/safetensors.h"
#include "harness/judge/order_of_additions.h"
#include "harness/launch/memory_limit.h"
#include "kernels/ops/text_operation.h"
#include "oracles/base/text.h"
#include "oracles/models/generation.h"
#include "reports/card.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

// Of the metadata.
constexpr const char *kCase = "case", *kSm = "sm", *kDevice = "device";

Error bad(const std::string& path, std::string message, std::string hint = "") {
  return {ErrorKind::bad_input, std::move(message), path, std::move(hint)};
}

std::string metadata_of(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

// Control characters of a stranger's file do not reach a terminal.
std::string plain(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

Result<int> chip_of(const std::string& path, const SafetensorsFile& file, const Manifest& kernel,
                    std::optional<int> sm) {
  const std::string text = metadata_of(file, kSm);
  if (!sm && text.empty()) {
    if (kernel.targets.size() == 1) return kernel.targets.front();
    return bad(path, "it does not say on which chip the kernel ran",
               "--sm 90, or \"sm\" in the file's metadata");
  }
  const std::optional<int> given = sm ? sm : parse_number<int>(text);
  if (!given) return bad(path, fmt::format("its metadata say sm \"{}\", which is no number", text));
  const int chip = *given;
  if (!best_build(kernel, chip)) {
    return bad(path, fmt::format("the contract of {} is for sm_{}, not for sm_{}", kernel.name,
                                 fmt::join(kernel.targets, ", sm_"), chip));
  }
  if (!is_modeled(chip)) {
    return bad(path, fmt::format("how sm_{} adds is not known", chip), "plumbline list models");
  }
  return chip;
}

std::vector<std::int64_t> without_ones(std::vector<std::int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

// The file's tensor in the shape the problem has.
Result<Tensor> fitted(const std::string& path, const TensorSpec& spec, const SafetensorsFile& file,
                      const SafetensorsFile::Entry& found) {
  const TensorLayout wanted = dense_layout(spec.layout.format, spec.layout.shape);
  if (found.layout.format != wanted.format ||
      without_ones(found.layout.shape) != without_ones(wanted.shape)) {
    return bad(path, fmt::format("tensor {} is {}, this problem needs {}", spec.name,
                                 found.layout.text(), wanted.text()));
  }
  Result<Tensor> tensor = file.read(found);
  if (tensor) tensor->layout = wanted;
  return tensor;
}

// Whether the values of the inputs are the problem's: sizes of groups, starts of sequences.
Status check_inputs(const std::string& path, const Case& test_case) {
  if (!check_memory(test_case)) return {};  // said of the case
  const Result<CaseTensors> tensors = materialize(test_case);
  const Status fits = tensors
                          ? test_case.kernel->operation->check_values(test_case.problem, *tensors)
                          : Status(tensors.error());
  if (fits) return {};
  Error error = fits.error();
  error.where = path;
  return error;
}

// How far from exact half of the admissible outputs may be before passing says nothing: an ulp of
// formats of at most 16 bits, of wider ones 2^-10 of the result.
double largest_useful_bound(const Format& f) {
  constexpr int kTellingBits = 10;
  return f.storage_bits <= 16 ? 1 : std::ldexp(1.0, f.mantissa_bits - kTellingBits);
}

void mistrust_open_bounds(const Operation& operation, Examined& examined) {
  CaseRecord& record = examined.record;
  for (const OutputRecord& output : record.outputs) {
    const OutputVerdict& v = output.verdict;
    const std::optional<FormatId> id = format_by_name(output.format);
    if (record.verdict != Verdict::pass || !id || v.bounded == 0 || v.modeled > 0) continue;
    if (v.median_bound_ulp <= largest_useful_bound(format(*id))) continue;
    record.verdict = record.claims[Claim::bound] = Verdict::mistrusted;
    const bool is_text = as_text(operation) != nullptr;
    record.reason = fmt::format(
        "the contract is too open to tell: for half of the outputs of {} it admits values {} from "
        "exact or further; {}",
        output.name, ulp_text(v.median_bound_ulp),
        is_text ? "say more of the kernel's sums in its contract (`lanes`), or judge them with the "
                  "built-in operation, whose contract has schedules"
                : "name the kernel's schedule in its contract");
  }
}

// That the outputs were held to the bits of the contract's arithmetic, where it fixes them.
std::string bits_compared(const OutputRecord& output) {
  const OutputVerdict& v = output.verdict;
  if (v.modeled == 0 || v.failed > 0 || v.other_bits > 0) return "";
  const std::string which = v.modeled == v.compared ? fmt::format("all {}", count_text(v.compared))
                                                    : fmt::format("{} of {}", count_text(v.modeled),
                                                                  count_text(v.compared));
  return fmt::format(
      "{}: {} outputs were compared bit by bit with the contract's arithmetic, and "
      "are equal",
      output.name, which);
}

// How far an output may be from exact, where that was all it was held to: the width decides what a
// pass says.
std::string values_admitted(const OutputRecord& output) {
  const OutputVerdict& v = output.verdict;
  if (v.bounded == 0 || v.modeled > 0 || v.failed > 0) return "";
  if (v.exact_required == v.bounded)
    return fmt::format("{}: each output has one admissible value", output.name);
  const double values = std::floor(2 * v.median_bound_ulp) + 1;
  return fmt::format("{}: half of the outputs may be up to {} from exact ({} of {})", output.name,
                     ulp_text(v.median_bound_ulp),
                     values == 1     ? "one value"
                     : values > 1000 ? "more than 1,000 values"
                                     : fmt::format("at most {:.0f} values", values),
                     output.format);
}

// The case with the sizes that the tensors' shapes give, where a text says what was computed.
std::string with_sizes(const std::string& text, const Registry& registry,
                       const SafetensorsFile& file) {
  const Manifest* kernel = registry.find(text.substr(0, text.find(' ')));
  const TextOperation* operation = kernel ? as_text(*kernel->operation) : nullptr;
  if (!operation) return text;
  std::set<std::string, std::less<>> unknown;
  std::string all = text.substr(kernel->name.size());
  for (const std::string& size : operation->sizes()) {
    if ((all + " ").find(fmt::format(" {}=", size)) != std::string::npos) continue;
    unknown.insert(size);
    all += fmt::format(" {}=1", size);
  }
  Result<Problem> problem = parse_problem(kernel->schema(), all);
  if (!problem) return text;  // said of the case
  TextOperation::Shapes shapes;
  for (const auto& entry : file.entries()) shapes[entry.name] = entry.layout.shape;
  const auto wanted = unknown;
  operation->find_sizes(shapes, unknown, *problem);
  std::string out = text;
  for (const std::string& size : wanted) {
    if (!unknown.contains(size)) out += fmt::format(" {}={}", size, problem->integer(size));
  }
  return out;
}

}  // namespace

Result<Dump> read_dump(const std::string& path, const Registry& registry,
                       const std::string& case_text, std::optional<int> sm, bool partial) {
  const Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file) return file.error();
  const std::string text =
      with_sizes(case_text.empty() ? metadata_of(*file, kCase) : case_text, registry, *file);
  if (text.empty()) {
    return bad(path, "it does not say which kernel ran on which problem",
               "--case 'gemm_bf16 m=128 n=64 k=512', or \"case\" in the file's metadata");
  }
  Result<Case> parsed = parse_case_line(text, registry, case_text.empty() ? path : "--case");
  if (!parsed) return parsed.error();
  Dump dump;
  dump.test_case = *std::move(parsed);
  dump.test_case.recipe = {std::string(kLiteralValues), 0};
  dump.test_case.origin = "dump";
  if (const Status accepted = check_domain(dump.test_case); !accepted) return accepted.error();
  const Manifest& kernel = *dump.test_case.kernel;
  const Result<int> chip = chip_of(path, *file, kernel, sm);
  if (!chip) return chip.error();
  dump.target.sm = *chip;
  dump.target.on_gpu = true;
  dump.target.gpu_name = plain(metadata_of(*file, kDevice));
  if (dump.target.gpu_name.empty()) dump.target.gpu_name = "dump";

  const Result<std::vector<TensorSpec>> specs = kernel.tensors(dump.test_case.problem);
  if (!specs) return specs.error();
  for (const SafetensorsFile::Entry& entry : file->entries()) {
    const auto known = std::ranges::find(*specs, entry.name, &TensorSpec::name);
    if (known != specs->end() && known->role != TensorRole::workspace) continue;
    std::vector<std::string> names;
    for (const TensorSpec& spec : *specs) {
      if (spec.role != TensorRole::workspace) names.push_back(spec.name);
    }
    return bad(path, fmt::format("this problem has no tensor \"{}\"", entry.name),
               fmt::format("it has {}", fmt::join(names, ", ")));
  }
  for (const TensorSpec& spec : *specs) {
    if (spec.role == TensorRole::workspace) continue;
    const SafetensorsFile::Entry* found = file->find(spec.name);
    if (!found && spec.role == TensorRole::output) {
      dump.absent.push_back(spec.name);
      continue;
    }
    if (!found) return bad(path, fmt::format("input {} is missing", spec.name));
    Result<Tensor> tensor = fitted(path, spec, *file, *found);
    if (!tensor) return tensor.error();
    (spec.role == TensorRole::input ? dump.test_case.literals : dump.outputs)
        .emplace_back(spec.name, *std::move(tensor));
  }
  for (const auto& [output, from] : kernel.operation->follows()) {
    if (file->find(output) && !file->find(from))
      return bad(path, fmt::format("output {} is missing: {} is judged by it", from, output));
  }
  if (!dump.absent.empty() && !partial && !dump.outputs.empty()) {
    return bad(path,
               fmt::format("output{} {} {} missing", dump.absent.size() > 1 ? "s" : "",
                           fmt::join(dump.absent, ", "), dump.absent.size() > 1 ? "are" : "is"),
               "--partial judges the outputs that are there");
  }
  if (dump.outputs.empty())
    return bad(path, fmt::format("it holds none of the outputs {}", fmt::join(dump.absent, ", ")));
  if (const Status fits = check_inputs(path, dump.test_case); !fits) return fits.error();
  return dump;
}

Result<ExaminedDump> examine_dump(const Dump& dump, const JudgeOptions& options) {
  const Case& test_case = dump.test_case;
  if (const Status memory = check_memory(test_case); !memory) return memory.error();
  Result<CaseTensors> tensors = materialize(test_case);
  if (!tensors) return tensors.error();
  auto examined = std::make_unique<Examined>();
  examined->tensors = *std::move(tensors);
  const Operation& operation = *test_case.kernel->operation;
  if (const Status fits = operation.check_values(test_case.problem, examined->tensors); !fits)
    return fits.error();
  for (const auto& [name, tensor] : dump.outputs) {
    // Always true: outputs share no storage.
    copy_literal(tensor, *examined->tensors.find(name));
  }
  examined->launch.absent = dump.absent;
  examined->launch.fingerprint = literal_fingerprint(dump.outputs);
  examined->oracle =
      operation.oracle(test_case.problem, *test_case.kernel, dump.target.sm, examined->tensors);
  examined->record =
      judge_case(test_case, examined->tensors, examined->launch, *examined->oracle, options);
  examined->record.claims.erase(Claim::in_bounds);  // the kernel's memory was not watched
  examined->record.device = dump.target.name();
  ExaminedDump out{std::move(examined), ""};
  std::vector<std::string> words;
  const std::vector<OutputRecord>& outputs = out.examined->record.outputs;
  std::ranges::transform(outputs, std::back_inserter(words), bits_compared);
  words.push_back(name_orders(*out.examined, options.threads));
  std::ranges::transform(outputs, std::back_inserter(words), values_admitted);
  std::erase(words, "");
  out.arithmetic = fmt::format("{}", fmt::join(words, "; "));
  mistrust_open_bounds(operation, *out.examined);
  return out;
}

Status write_dump(const std::string& path, const Case& test_case, const Target& target,
                  const CaseTensors& tensors) {
  NamedTensors file;
  file.metadata[kCase] = test_case.problem_text();
  file.metadata[kSm] = fmt::format("{}", target.sm);
  file.metadata[kDevice] = target.on_gpu ? target.gpu_name : "emulator";
  for (std::size_t i = 0; i < tensors.specs.size(); ++i) {
    if (tensors.specs[i].role == TensorRole::workspace) continue;
    file.tensors.emplace_back(tensors.specs[i].name, tensors.tensors[i]);
  }
  return write_safetensors(path, file);
}

}  // namespace plumbline
