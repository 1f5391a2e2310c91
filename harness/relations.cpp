// SPDX-License-Identifier: MIT
// The relations of GEMM. Each edits logical elements of the inputs; layouts stay what they are.
#include "harness/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "harness/plain_gemm.h"
#include "kernels/manifest.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

bool same_result(const Format& f, std::uint64_t x, std::uint64_t y) {
  if (x == y) return true;
  const double a = to_double(f, x), b = to_double(f, y);
  return std::isnan(a) ? std::isnan(b) : a == b;
}

const Format& format_of(const Tensor& tensor) { return format(tensor.layout.format); }

// The case as the relations see it.
struct Gemm : PlainGemm {
  const CaseTensors& tensors;

  Gemm(const Case& original, const CaseTensors& inputs) : PlainGemm(original), tensors(inputs) {}

  RelatedRun copy() const { return {test_case, tensors, {}}; }
};

// The same problem with other fields: nothing where the kernel does not have it.
std::optional<RelatedRun> with_fields(const Gemm& gemm, const std::string& fields) {
  const Result<Problem> problem = parse_problem(gemm.kernel.schema(), fields);
  if (!problem || gemm.kernel.excluded(*problem)) return std::nullopt;
  const Result<std::vector<TensorSpec>> specs = gemm.kernel.tensors(*problem);
  if (!specs) return std::nullopt;
  RelatedRun run;
  run.test_case = gemm.test_case;
  run.test_case.problem = *problem;
  for (const TensorSpec& spec : *specs) {
    run.tensors.specs.push_back(spec);
    run.tensors.tensors.emplace_back(spec.layout);
  }
  return run;
}

// The value of a field in canonical text.
std::string field_text(const Problem& problem, const Field& field) {
  switch (field.kind) {
    case FieldKind::integer:
      return fmt::format("{}", problem.integer(field.name));
    case FieldKind::word:
      return std::string(problem.word(field.name));
    case FieldKind::real:
      break;
  }
  return fmt::format("0x{:08x}", std::bit_cast<std::uint32_t>(problem.real(field.name)));
}

// All fields, some replaced.
std::string edited_fields(const Problem& problem,
                          std::initializer_list<std::pair<std::string_view, std::string>> edits) {
  std::string text;
  for (const Field& field : problem.schema()) {
    const auto edit = std::find_if(edits.begin(), edits.end(),
                                   [&](const auto& e) { return e.first == field.name; });
    text += fmt::format("{}={} ", field.name,
                        edit == edits.end() ? field_text(problem, field) : edit->second);
  }
  return text;
}

bool tight(const Problem& problem) {
  constexpr std::array<std::string_view, 8> kStrides = {
      "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d"};
  return std::all_of(kStrides.begin(), kStrides.end(),
                     [&](std::string_view f) { return problem.is_default(f); });
}

void copy_all(const Tensor* from, Tensor* to) {
  if (!from || !to) return;
  for (std::int64_t i = 0; i < from->layout.count(); ++i) to->set_bits(i, from->bits(i));
}

// Reverses the order along one dimension of a tensor that is seen as [outer, length, inner]. False
// where elements share storage (batches of an input may overlap) and no tensor is the reversed one.
bool reverse(const Tensor* from, Tensor* to, std::int64_t length, std::int64_t inner) {
  if (!from || !to || length == 0) return true;
  const auto mirrored = [&](std::int64_t i) {
    return i + (length - 1 - 2 * (i / inner % length)) * inner;
  };
  const std::int64_t count = from->layout.count();
  for (std::int64_t i = 0; i < count; ++i) to->set_bits(mirrored(i), from->bits(i));
  for (std::int64_t i = 0; i < count; ++i) {
    if (to->bits(mirrored(i)) != from->bits(i)) return false;
  }
  return true;
}

std::optional<RelatedRun> negated_a(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  if (!gemm.contract.odd_symmetric || !gemm.floating() || !gemm.pure_product()) return std::nullopt;
  RelatedRun run = gemm.copy();
  Tensor& a = *run.tensors.find("a");
  const std::uint64_t sign = std::uint64_t{1} << (format_of(a).storage_bits - 1);
  const Tensor& original = *tensors.find("a");
  for (std::int64_t i = 0; i < a.layout.count(); ++i) a.set_bits(i, original.bits(i) ^ sign);
  run.follows = [](const Tensor& first, std::int64_t index, std::uint64_t second) {
    const Format& f = format_of(first);
    const double x = to_double(f, first.bits(index)), y = to_double(f, second);
    return std::isnan(x) ? std::isnan(y) : x == -y;
  };
  return run;
}

// Away from both ends of f32, where powers of two commute with every rounding.
std::optional<RelatedRun> doubled_a(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  const Tensor& original = *tensors.find("a");
  const FormatId out = tensors.find("d")->layout.format;
  const bool wide = out == FormatId::f32 || out == FormatId::bf16;
  if (!wide || !gemm.floating() || !gemm.pure_product()) return std::nullopt;
  const Format& f = format_of(original);
  const double limit = to_double(f, f.max_finite()) / 2;
  RelatedRun run = gemm.copy();
  Tensor& a = *run.tensors.find("a");
  for (std::int64_t i = 0; i < a.layout.count(); ++i) {
    const double value = to_double(f, original.bits(i));
    // A subnormal is aligned as the smallest normal number is, so doubling it does not move it.
    const bool subnormal = value != 0 && std::fabs(value) < std::ldexp(1.0, f.emin());
    if (!(std::fabs(value) <= limit) || subnormal) return std::nullopt;
    a.set_bits(i, encode(f, 2 * value));
  }
  run.follows = [](const Tensor& first, std::int64_t index, std::uint64_t second) {
    const Format& d = format_of(first);
    const double x = to_double(d, first.bits(index)), y = to_double(d, second);
    if (!(std::fabs(x) < 0x1p100) || std::fabs(x) < 0x1p-60) return true;
    return y == 2 * x;
  };
  return run;
}

std::optional<RelatedRun> reversed_rows(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  const std::int64_t m = gemm.size("m"), n = gemm.size("n"), k = gemm.size("k");
  if (!gemm.contract.position_independent || m < 2) return std::nullopt;
  RelatedRun run = gemm.copy();
  if (!reverse(tensors.find("a"), run.tensors.find("a"), m, k) ||
      !reverse(tensors.find("c"), run.tensors.find("c"), m, n))
    return std::nullopt;
  if (gemm.is("bias", "row")) reverse(tensors.find("bias"), run.tensors.find("bias"), m, 1);
  const Tensor* scale = tensors.find("scale_a");
  if (scale && scale->layout.shape[0] == m) {
    reverse(scale, run.tensors.find("scale_a"), m, scale->layout.count() / m);
  }
  run.follows = [m, n](const Tensor& first, std::int64_t index, std::uint64_t second) {
    const std::int64_t row = index / n % m;
    return same_result(format_of(first), first.bits(index + (m - 1 - 2 * row) * n), second);
  };
  return run;
}

// Zeros at the end of k belong to steps of their own, or fill the last one: a sum that is complete
// does not change.
std::optional<RelatedRun> longer_k(const Case& test_case, const CaseTensors& tensors) {
  constexpr std::int64_t kMore = 128;
  const Gemm gemm{test_case, tensors};
  const std::int64_t k = gemm.size("k"), longer = k + kMore;
  const bool in_order =
      gemm.contract.schedule != Schedule::split_k && gemm.contract.schedule != Schedule::any;
  if (!in_order || !tight(gemm.problem)) return std::nullopt;
  if (gemm.size("zero_a") != 0 || gemm.size("zero_b") != 0) return std::nullopt;
  std::optional<RelatedRun> run =
      with_fields(gemm, edited_fields(gemm.problem, {{"k", fmt::format("{}", longer)}}));
  if (!run) return std::nullopt;
  const std::int64_t n = gemm.size("n");
  const Tensor &a = *tensors.find("a"), &b = *tensors.find("b");
  Tensor &a2 = *run->tensors.find("a"), &b2 = *run->tensors.find("b");
  for (std::int64_t i = 0; i < a.layout.count(); ++i)
    a2.set_bits(i / k * longer + i % k, a.bits(i));
  for (std::int64_t i = 0; i < b.layout.count(); ++i) {
    const std::int64_t matrix = i / n / k, row = i / n % k;
    b2.set_bits((matrix * longer + row) * n + i % n, b.bits(i));
  }
  for (const std::string_view same : {"c", "bias", "scale_d"})
    copy_all(tensors.find(same), run->tensors.find(same));
  for (const std::string_view name : {"scale_a", "scale_b"}) {
    const Tensor* scale = tensors.find(name);
    Tensor* scale2 = run->tensors.find(name);
    if (!scale || !scale2) continue;
    const Format& f = format_of(*scale);
    for (std::int64_t i = 0; i < scale2->layout.count(); ++i) scale2->set_bits(i, encode(f, 1.0));
    const bool along_k =
        name == "scale_a" && scale->layout.shape.size() == 2;  // [m, blocks]: rows get longer
    const std::int64_t row = along_k ? scale->layout.shape[1] : 1,
                       row2 = along_k ? scale2->layout.shape[1] : 1;
    for (std::int64_t i = 0; i < scale->layout.count(); ++i)
      scale2->set_bits(i / row * row2 + i % row, scale->bits(i));
  }
  run->follows = [](const Tensor& first, std::int64_t index, std::uint64_t second) {
    return same_result(format_of(first), first.bits(index), second);
  };
  return run;
}

// D^T = B^T A^T: the same products in the same order.
std::optional<RelatedRun> transposed(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  const Problem& p = gemm.problem;
  if (!tight(p) || !gemm.is("c", "auto") || p.real("beta") != 0 || gemm.size("batch") != 1)
    return std::nullopt;
  // Two roundings, one for each scale, would come in the other order.
  const auto rounds_separately = [&](std::string_view scale, std::string_view per_vector) {
    return gemm.is(scale, "tensor") || gemm.is(scale, per_vector);
  };
  const auto& steps = gemm.contract.epilogue;
  if (rounds_separately("scale_a", "row") && rounds_separately("scale_b", "column") &&
      std::find(steps.begin(), steps.end(), EpilogueStep::scale_ab) == steps.end()) {
    return std::nullopt;
  }
  const auto swapped = [](std::string_view word) {
    return std::string(word == "row" ? "column" : word == "column" ? "row" : word);
  };
  const std::string_view layout = p.word("layout");
  const std::string turned{layout[1] == 't' ? 'n' : 't', layout[0] == 't' ? 'n' : 't'};
  std::optional<RelatedRun> run =
      with_fields(gemm, edited_fields(p, {{"m", fmt::format("{}", gemm.size("n"))},
                                          {"n", fmt::format("{}", gemm.size("m"))},
                                          {"layout", turned},
                                          {"a", std::string(p.word("b"))},
                                          {"b", std::string(p.word("a"))},
                                          {"bias", swapped(p.word("bias"))},
                                          {"scale_a", swapped(p.word("scale_b"))},
                                          {"scale_b", swapped(p.word("scale_a"))},
                                          {"zero_a", fmt::format("{}", gemm.size("zero_b"))},
                                          {"zero_b", fmt::format("{}", gemm.size("zero_a"))}}));
  if (!run) return std::nullopt;
  const auto turn = [&](std::string_view from, std::string_view to) {
    const Tensor& matrix = *tensors.find(from);
    Tensor& result = *run->tensors.find(to);
    const std::int64_t rows = matrix.layout.shape[1], columns = matrix.layout.shape[2];
    for (std::int64_t i = 0; i < rows * columns; ++i)
      result.set_bits(i % columns * rows + i / columns, matrix.bits(i));
  };
  turn("a", "b");
  turn("b", "a");
  copy_all(tensors.find("bias"), run->tensors.find("bias"));
  copy_all(tensors.find("scale_a"), run->tensors.find("scale_b"));
  copy_all(tensors.find("scale_b"), run->tensors.find("scale_a"));
  copy_all(tensors.find("scale_d"), run->tensors.find("scale_d"));
  const std::int64_t m = gemm.size("m"), n = gemm.size("n");
  run->follows = [m, n](const Tensor& first, std::int64_t index, std::uint64_t second) {
    return same_result(format_of(first), first.bits(index % m * n + index / m), second);
  };
  return run;
}

// A scale of 1 for every row multiplies by 1, which is exact.
std::optional<RelatedRun> unit_scales(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  if (!gemm.is("scale_a", "none") || !gemm.is("scale_b", "none")) return std::nullopt;
  std::optional<RelatedRun> run =
      with_fields(gemm, edited_fields(gemm.problem, {{"scale_a", "row"}, {"scale_b", "column"}}));
  if (!run) return std::nullopt;
  for (const std::string_view same : {"a", "b", "c", "bias", "scale_d"}) {
    copy_all(tensors.find(same), run->tensors.find(same));
  }
  for (const std::string_view name : {"scale_a", "scale_b"}) {
    Tensor& scale = *run->tensors.find(name);
    for (std::int64_t i = 0; i < scale.layout.count(); ++i)
      scale.set_bits(i, encode(format_of(scale), 1.0));
  }
  run->follows = [](const Tensor& first, std::int64_t index, std::uint64_t second) {
    return same_result(format_of(first), first.bits(index), second);
  };
  return run;
}

// The first matrix of a batch, alone.
std::optional<RelatedRun> one_of_the_batch(const Case& test_case, const CaseTensors& tensors) {
  const Gemm gemm{test_case, tensors};
  if (gemm.size("batch") < 2) return std::nullopt;
  std::optional<RelatedRun> run = with_fields(gemm, edited_fields(gemm.problem, {{"batch", "1"}}));
  if (!run) return std::nullopt;
  for (std::size_t i = 0; i < run->tensors.tensors.size(); ++i) {
    const Tensor* all = tensors.find(run->tensors.specs[i].name);
    Tensor& one = run->tensors.tensors[i];
    if (run->tensors.specs[i].role != TensorRole::input || !all) continue;
    for (std::int64_t e = 0; e < one.layout.count(); ++e) one.set_bits(e, all->bits(e));
  }
  run->follows = [](const Tensor& first, std::int64_t index, std::uint64_t second) {
    return same_result(format_of(first), first.bits(index), second);
  };
  return run;
}

}  // namespace

std::vector<Relation> relations_of(const Operation& operation) {
  if (operation.name() != "gemm") return {};
  return {
      {"G1", "negating A negates every output", negated_a},
      {"G2", "doubling A doubles every output", doubled_a},
      {"G3", "reversing the rows of A reverses the rows of D", reversed_rows},
      {"G4", "zeros appended along k change nothing", longer_k},
      {"G7", "D transposed is B transposed times A transposed", transposed},
      {"G8", "scales of 1 change nothing", unit_scales},
      {"G9", "a matrix of a batch is the same alone", one_of_the_batch},
  };
}

}  // namespace plumbline
