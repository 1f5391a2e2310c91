// SPDX-License-Identifier: MIT
#include "kernels/ops/attention_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/manifest.h"
#include "kernels/ops/attention_layout.h"
#include "oracles/base/assert.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 3> kCausal = {"none", "bottom_right", "top_left"};
constexpr std::array<std::string_view, 5> kLengths = {"full", "random", "gaps", "ones", "slack"};
constexpr std::array<std::string_view, 2> kBias = {"none", "f32"};
constexpr std::array<std::string_view, 2> kSink = {"none", "f32"};
constexpr std::array<std::string_view, 4> kScales = {"none", "head", "block", "tensor"};
constexpr std::array<std::string_view, 3> kLayouts = {"bhs", "bsh", "sbh"};
constexpr std::array<std::string_view, 2> kSharing = {"own", "shared"};
constexpr std::array<std::string_view, 3> kLses = {"natural", "base_2", "none"};
constexpr std::array<std::string_view, 3> kOutputs = {"bf16", "f16", "f32"};

constexpr std::array<std::string_view, 4> kUnits = {"mma.sync", "wgmma", "tcgen05", "fma.f32"};
constexpr std::array<std::string_view, 2> kScoreUnits = {"unit", "int32"};
constexpr std::array<std::string_view, 4> kProbabilities = {"bf16", "f16", "e4m3", "f32"};
constexpr std::array<std::string_view, 2> kRowSums = {"unrounded", "rounded"};
constexpr std::array<std::string_view, 5> kLogitBases = {"natural", "base 2", "base 2 fused",
                                                         "natural either", "natural difference"};
constexpr std::array<std::string_view, 2> kLseSums = {"as logits", "base 2"};
constexpr std::array<std::string_view, 2> kSumStarts = {"zero", "sum"};
constexpr std::array<std::string_view, 3> kSinkSteps = {"last", "first", "maximum first"};
constexpr std::array<std::string_view, 2> kOrders = {"ascending", "descending"};
constexpr std::array<std::string_view, 2> kLog2Es = {"f32", "f64"};
constexpr std::array<std::string_view, 2> kTanhs = {"ex2", "approx"};
constexpr std::array<std::string_view, 2> kSubnormals = {"kept", "flushed"};
constexpr std::array<std::string_view, 2> kNanRows = {"nan", "open"};
constexpr std::array<std::string_view, 3> kNanLses = {"nan", "+inf", "-inf"};
constexpr std::array<std::string_view, 4> kNormalizations = {"reciprocal", "quotient", "div.full",
                                                             "rcp.approx"};
constexpr std::array<std::string_view, 2> kMasked = {"-inf", "+inf"};

constexpr auto kInteger = FieldKind::integer;
constexpr auto kReal = FieldKind::real;
constexpr auto kWord = FieldKind::word;
constexpr std::int64_t kOne = 0x3f800000;  // 1.0 as f32 bits
// The product of the largest batch, heads, length (all sequences) and row still fits 63 bits; with
// padding attention_layout() looks.
constexpr std::int64_t kMostSequences = 1 << 10, kMostHeads = 1 << 12, kLongest = 1 << 24,
                       kWidest = 1 << 10, kMostPadding = std::int64_t{1} << 40;
constexpr std::int64_t kScaleBlock = 64;  // rows

// clang-format off
constexpr std::array kSchema = {
    Field{"batch",        kInteger, 1, 1, kMostSequences, {},    "sequences"},
    Field{"heads",        kInteger, 1, 1, kMostHeads, {},        "query heads"},
    Field{"kv_heads",     kInteger, 0, 0, kMostHeads, {},        "heads of K and V, a divisor of heads; 0 is as many as heads"},
    Field{"queries",      kInteger, -1, 0, kLongest, {},         "queries per sequence; on average where lengths vary"},
    Field{"keys",         kInteger, -1, 0, kLongest, {},         "keys per sequence; on average where lengths vary"},
    Field{"d",            kInteger, -1, 1, kWidest, {},          "width of queries and keys"},
    Field{"dv",           kInteger, 0, 0, kWidest, {},           "width of values; 0 is d"},
    Field{"causal",       kWord, 0, 0, 0, kCausal,               "the corner of the scores that the causal diagonal ends in"},
    Field{"window_left",  kInteger, -1, -1, kLongest, {},        "keys visible before a query's own, which is i + keys - queries for query i, with causal=top_left i; -1 is all"},
    Field{"window_right", kInteger, -1, -1, kLongest, {},        "keys visible after a query's own; -1 is all"},
    Field{"lengths",      kWord, 0, 0, 0, kLengths,              "full: every sequence has all queries and keys. Packed one after the other: random, many empty, all but one of one row, ending before the tensors do"},
    Field{"bias",         kWord, 0, 0, 0, kBias,                 "format of a bias added to the scores"},
    Field{"sink",         kWord, 0, 0, 0, kSink,                 "format of a logit per head that takes part in the softmax and has no value"},
    Field{"scales",       kWord, 0, 0, 0, kScales,               "head: elements of Q, K and V stand for themselves times one factor per sequence and head; block: those of Q, K and an 8-bit V times one per 64 rows of a head; tensor: one for each matrix; for 8-bit formats"},
    Field{"softcap",      kReal, 0, 0, 0, {},                    "scores become softcap * tanh(score / softcap); 0 is off"},
    Field{"scale",        kReal, kOne, 0, 0, {},                 "what q . k is multiplied by, usually 1 / sqrt(d)"},
    Field{"layout",       kWord, 0, 0, 0, kLayouts,              "order in memory of batch, heads and length (s), slowest first"},
    Field{"pad",          kInteger, 0, 0, kMostPadding, {},           "elements after each row of the matrices"},
    Field{"kv",           kWord, 0, 0, 0, kSharing,              "shared: one K and one V for the whole batch (stride 0)"},
    Field{"splits",       kInteger, 1, 1, 64, {},                "parts that the keys of a sequence are cut into, whole tiles each; each has maxima of its own"},
    Field{"out",          kWord, 0, 0, 0, kOutputs,              "format of the outputs"},
};

constexpr Field kLse{"lse", kWord, 0, 0, 0, kLses,               "LSE as an output: the natural logarithm of each row's sum of exponentials, its logarithm in base 2, or none"};

constexpr std::array kTerms = {
    Field{"unit",          kWord, kNoDefault, 0, 0, kUnits,          "what adds products, as for GEMM"},
    Field{"scores",        kWord, 0, 0, 0, kScoreUnits,              "what adds the products of Q and K: the same, or int32, which is exact for 8-bit integers"},
    Field{"tile",          kInteger, 0, 1, 65536, {},                "keys per step of the online softmax"},
    Field{"p",             kWord, kNoDefault, 0, 0, kProbabilities,  "format of the probabilities that meet V; f32: they are not rounded, as in kernels on CUDA cores"},
    Field{"p_shift",       kInteger, 0, 0, 16, {},                   "probabilities are multiplied by 2 to this power before they are rounded"},
    Field{"logits",        kWord, 0, 0, 0, kLogitBases,              "the unit of maxima and of LSE's sum. base 2: each logit is multiplied by log2 e and rounded; base 2 fused: inside of the exponent's FMA; natural either: the exponent is that FMA, or a product and a difference, where ptxas may choose; natural difference: it is log2 e (times the scale) times the logit's difference from the maximum, which is 0 at the maximum however large the logits are"},
    Field{"lse_sum",       kWord, 0, 0, 0, kLseSums,                 "how LSE is added up: as the unit of logits says, or as the maximum times log2 e plus the sum's logarithm in base 2, times ln 2"},
    Field{"row_sum",       kWord, 0, 0, 0, kRowSums,                 "whether the row's sum adds probabilities before or after their rounding"},
    Field{"row_sum_lanes", kInteger, 4, 1, 1024, {},                 "partial sums per row, joined at the end"},
    Field{"row_sum_start", kWord, 0, 0, 0, kSumStarts,               "what such a sum over a tile begins with: 0, and the row's sum is added at its end; or the row's sum"},
    Field{"rescale_threshold", kInteger, 0, 0, 64, {},               "the maximum is kept, and nothing is rescaled, while the new one is not above it by more than 2 to this power in the probabilities; 0: every new maximum counts"},
    Field{"exponential_bits",  kInteger, 0, 0, 22, {},               "the probabilities' exponentials are within 2 to the minus this power of themselves, as a polynomial makes them; 0: ex2.approx"},
    Field{"order",         kWord, 0, 0, 0, kOrders,                  "whether the first tile of keys comes first, or the last"},
    Field{"sink_step",     kWord, 0, 0, 0, kSinkSteps,               "where a sink comes in the online softmax: after all tiles of keys; before them, so that the maximum begins with it and the sum with 1; or the maximum begins with it, and the sum takes it at the end"},
    Field{"log2_e",        kWord, 0, 0, 0, kLog2Es,                  "scale times log2 e: of log2 e rounded to f32, or rounded only once, as host code in double does"},
    Field{"tanh",          kWord, 0, 0, 0, kTanhs,                   "of a softcap: from ex2; or tanh.approx, and the cap is part of the exponent's factor instead of the logits"},
    Field{"normalize",     kWord, 0, 0, 0, kNormalizations,          "O times 1 / l, O / l rounded once, div.full, or O times rcp.approx of l"},
    Field{"subnormals",    kWord, 0, 0, 0, kSubnormals,              "of f32, outside of tensor cores: flushed is nvcc's --use_fast_math"},
    Field{"masked_lse",    kWord, 0, 0, 0, kMasked,                  "LSE of a row that sees no key, where it is an output"},
    Field{"nan_rows",      kWord, 0, 0, 0, kNanRows,                 "a row with a logit that is NaN or +Inf: its O is NaN; or open, where anything may come out, as of code whose max() drops a NaN"},
    Field{"nan_lse",       kWord, 0, 0, 0, kNanLses,                 "LSE of a row with a logit that is NaN or +Inf"},
};

// clang-format on

template <AttentionMatrix matrix, int dimension>
Result<std::int64_t> stride(const Problem& problem) {
  const Result<TensorLayout> layout = attention_layout(problem, matrix, FormatId::f32);
  if (!layout) return layout.error();
  return layout->strides[dimension];
}

Result<std::int64_t> group(const Problem& problem) {
  return problem.integer("heads") / attention_kv_heads(problem);
}

Result<std::int64_t> value_width(const Problem& problem) { return attention_value_width(problem); }

// clang-format off
constexpr std::array kDerived = {
    Derived{"group",    group,                            "query heads per head of K and V"},
    Derived{"width_v",  value_width,                      "width of values in effect"},
    Derived{"q_batch",  stride<AttentionMatrix::q, 0>,    "stride of Q from batch element to batch element"},
    Derived{"q_head",   stride<AttentionMatrix::q, 1>,    "the same from head to head"},
    Derived{"q_row",    stride<AttentionMatrix::q, 2>,    "the same from query to query"},
    Derived{"k_batch",  stride<AttentionMatrix::k, 0>,    "strides of K"},
    Derived{"k_head",   stride<AttentionMatrix::k, 1>,    "also of dK"},
    Derived{"k_row",    stride<AttentionMatrix::k, 2>,    "also of dK"},
    Derived{"v_batch",  stride<AttentionMatrix::v, 0>,    "strides of V"},
    Derived{"v_head",   stride<AttentionMatrix::v, 1>,    "also of dV"},
    Derived{"v_row",    stride<AttentionMatrix::v, 2>,    "also of dV"},
    Derived{"o_batch",  stride<AttentionMatrix::o, 0>,    "strides of O"},
    Derived{"o_head",   stride<AttentionMatrix::o, 1>,    "the same"},
    Derived{"o_row",    stride<AttentionMatrix::o, 2>,    "the same"},
    Derived{"dk_batch", stride<AttentionMatrix::dk, 0>,   "stride of dK from batch element to batch element"},
    Derived{"dv_batch", stride<AttentionMatrix::dv, 0>,   "the same of dV"},
};

constexpr std::array<std::pair<std::string_view, AttentionMatrix>, 8> kMatrices = {{
    {"q", AttentionMatrix::q},   {"k", AttentionMatrix::k},   {"v", AttentionMatrix::v},   {"o", AttentionMatrix::o},
    {"dq", AttentionMatrix::q},  {"dk", AttentionMatrix::dk}, {"dv", AttentionMatrix::dv}, {"do", AttentionMatrix::o},
}};

// clang-format on

Status check_problem(const Problem& problem) {
  const std::int64_t heads = problem.integer("heads"), kv_heads = attention_kv_heads(problem);
  if (heads % kv_heads != 0) {
    return bad_input(
        fmt::format("{} query heads cannot share {} heads of K and V", heads, kv_heads),
        "heads must be a multiple of kv_heads");
  }
  if (problem.word("causal") != "none" && problem.integer("window_right") > 0) {
    return bad_input(fmt::format("window_right={} lets a query see keys that causal={} hides",
                                 problem.integer("window_right"), problem.word("causal")),
                     "leave window_right out, or use causal=none");
  }
  if (attention_lengths_vary(problem)) {
    if (problem.word("bias") != "none") {
      return bad_input("a bias needs sequences of one length", "use lengths=full or bias=none");
    }
    if (problem.word("kv") == "shared") {
      return bad_input("sequences of varying length have keys of their own", "use kv=own");
    }
  }
  return {};
}

// One scale for every block of rows as these lie in a matrix.
std::vector<std::int64_t> blocks_shape(std::int64_t heads, std::int64_t length,
                                       const Problem& problem) {
  const std::int64_t batch = problem.integer("batch");
  const bool vary = attention_lengths_vary(problem);
  const std::int64_t rows = vary ? batch * length : length;
  return {vary ? 1 : batch, heads, (rows + kScaleBlock - 1) / kScaleBlock};
}

// The shape of a tensor that is no matrix; nullopt when the problem goes without it.
std::optional<std::vector<std::int64_t>> vector_shape(std::string_view name, const Problem& problem,
                                                      const Manifest& manifest) {
  const std::int64_t batch = problem.integer("batch"), heads = problem.integer("heads"),
                     queries = problem.integer("queries");
  const bool vary = attention_lengths_vary(problem);
  using Shape = std::vector<std::int64_t>;
  if (name == "lse" && problem.has("lse") && problem.word("lse") == "none") return std::nullopt;
  if (name == "lse") return vary ? Shape{1, heads, batch * queries} : Shape{batch, heads, queries};
  if (name == "bias" && problem.word("bias") != "none")
    return Shape{heads, queries, problem.integer("keys")};
  if (name == "sink" && problem.word("sink") != "none") return Shape{heads};
  if (problem.word("scales") == "tensor" && name.ends_with("_scale")) return Shape{1};
  if (problem.word("scales") == "head") {
    if (name == "q_scale") return Shape{batch, heads};
    if (name == "k_scale" || name == "v_scale") return Shape{batch, attention_kv_heads(problem)};
  }
  if (problem.word("scales") == "block") {
    if (name == "q_scale") return blocks_shape(heads, queries, problem);
    const bool short_values = format(manifest.tensor_format("v", problem)).storage_bits == 8;
    if (name == "k_scale" || (name == "v_scale" && short_values))
      return blocks_shape(attention_kv_heads(problem), problem.integer("keys"), problem);
  }
  if ((name == "query_starts" || name == "key_starts") && vary) return Shape{batch + 1};
  return std::nullopt;
}

Result<std::optional<TensorLayout>> layout_of(const TensorName& tensor, const Problem& problem,
                                              const Manifest& manifest) {
  for (const auto& [name, matrix] : kMatrices) {
    if (name != tensor.name) continue;
    Result<TensorLayout> layout =
        attention_layout(problem, matrix, manifest.tensor_format(name, problem));
    if (!layout) return layout.error();
    return std::optional(*std::move(layout));
  }
  const auto shape = vector_shape(tensor.name, problem, manifest);
  if (!shape) return std::optional<TensorLayout>();
  TensorLayout layout = dense_layout(manifest.tensor_format(tensor.name, problem), *shape);
  if (const Status usable = layout.check(); !usable) return usable.error();
  return std::optional(std::move(layout));
}

std::int64_t integer_at(const Tensor& tensor, std::int64_t index) {
  return static_cast<std::int64_t>(to_double(format(tensor.layout.format), tensor.bits(index)));
}

Status check_starts(const Tensor& starts, std::string_view name, std::int64_t rows) {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < starts.layout.count(); ++i) {
    const std::int64_t start = integer_at(starts, i);
    if (i == 0 ? start != 0 : start < last) {
      return bad_input(fmt::format("{}[{}] is {}", name, i, start),
                       i == 0 ? "the first sequence starts at 0"
                              : fmt::format("sequences follow each other: at least {}", last));
    }
    last = start;
  }
  if (last <= rows) return {};
  return bad_input(fmt::format("the last of {} is {}, the tensor has {} rows", name, last, rows),
                   "sequences lie within their tensors");
}

// Scales far from the ends of f32, so that no product of them gets there: not with each other, nor
// with any element. The problem's own scale counts as one.
constexpr double kSmallestScale = 0x1p-30, kLargestScale = 0x1p30;

Status check_scale(std::string_view name, double scale) {
  if (scale >= kSmallestScale && scale <= kLargestScale) return {};
  return bad_input(fmt::format("{} is {:.9g}", name, scale),
                   "scales of matrices, and of the scores beside them, are from 2^-30 to 2^30");
}

// The backward pass is given LSE.
constexpr auto kForwardSchema = [] {
  std::array<Field, kSchema.size() + 1> fields;
  std::copy(kSchema.begin(), kSchema.end(), fields.begin());
  fields.back() = kLse;
  return fields;
}();

template <typename Value, std::size_t count>
Value choice_of(const Problem& problem, std::string_view name,
                const std::array<std::string_view, count>& words) {
  const auto found = std::find(words.begin(), words.end(), problem.word(name));
  PLUMB_ASSERT(found != words.end());
  return static_cast<Value>(found - words.begin());
}

}  // namespace

std::span<const Field> attention_schema() { return kForwardSchema; }

std::span<const Field> attention_backward_schema() { return kSchema; }

std::span<const Derived> attention_derived() { return kDerived; }

std::span<const Field> attention_terms() { return kTerms; }

Result<std::vector<TensorSpec>> attention_tensors(std::span<const TensorName> names,
                                                  const Problem& problem,
                                                  const Manifest& manifest) {
  if (const Status possible = check_problem(problem); !possible) return possible.error();
  std::vector<TensorSpec> specs;
  for (const TensorName& name : names) {
    Result<std::optional<TensorLayout>> layout = layout_of(name, problem, manifest);
    if (!layout) return layout.error();
    if (*layout) specs.push_back({std::string(name.name), name.role, **std::move(layout)});
  }
  return specs;
}

Status check_attention_starts(const Problem& problem, const CaseTensors& tensors) {
  if (!attention_lengths_vary(problem)) return {};
  for (const auto& [name, rows] : {std::pair{"query_starts", "q"}, {"key_starts", "k"}}) {
    const Status good =
        check_starts(*tensors.find(name), name, tensors.find(rows)->layout.shape[2]);
    if (!good) return good;
  }
  return {};
}

Status check_attention_scales(const Problem& problem, const CaseTensors& tensors) {
  if (problem.word("scales") == "none") return {};
  if (const Status good = check_scale("scale", static_cast<double>(problem.real("scale"))); !good)
    return good;
  for (const std::string_view name : {"q_scale", "k_scale", "v_scale", "do_scale", "ds_scale"}) {
    const Tensor* scales = tensors.find(name);
    for (std::int64_t i = 0; scales && i < scales->layout.count(); ++i) {
      const double scale = to_double(format(scales->layout.format), scales->bits(i));
      if (const Status good = check_scale(fmt::format("{}[{}]", name, i), scale); !good)
        return good;
    }
  }
  return {};
}

Status check_attention_products(std::span<const AttentionProduct> products,
                                const Manifest& manifest) {
  for (const int target : manifest.targets) {
    for (const auto& [sum, a, b] : products) {
      if (const Status possible = sum.check(target, a, b); !possible) return possible;
    }
  }
  return {};
}

AttentionProblem attention_problem(const Problem& problem, const CaseTensors& tensors) {
  AttentionProblem attention;
  attention.q = tensors.find("q");
  attention.k = tensors.find("k");
  attention.v = tensors.find("v");
  attention.bias = tensors.find("bias");
  attention.sink = tensors.find("sink");
  attention.q_scale = tensors.find("q_scale");
  attention.k_scale = tensors.find("k_scale");
  attention.v_scale = tensors.find("v_scale");
  attention.scale_block = problem.word("scales") == "block" ? kScaleBlock : 0;
  attention.query_starts = tensors.find("query_starts");
  attention.key_starts = tensors.find("key_starts");
  if (problem.has("lse")) attention.lse = choice_of<LseKind>(problem, "lse", kLses);
  attention.scale = problem.real("scale");
  attention.softcap = problem.real("softcap");
  attention.mask = {choice_of<Causal>(problem, "causal", kCausal), problem.integer("window_left"),
                    problem.integer("window_right")};
  return attention;
}

AttentionContract attention_contract(const Problem& terms, const Problem& problem) {
  AttentionContract contract;
  const ContractUnit unit = *contract_unit(terms.word("unit"));
  contract.unit = unit.unit;
  contract.instruction = unit.instruction;
  contract.integer_scores = terms.word("scores") == "int32";
  contract.tile = terms.integer("tile");
  contract.p = *format_by_name(terms.word("p"));
  contract.p_shift = static_cast<int>(terms.integer("p_shift"));
  contract.row_sum = choice_of<RowSum>(terms, "row_sum", kRowSums);
  contract.row_sum_lanes = terms.integer("row_sum_lanes");
  contract.logit_base = choice_of<LogitBase>(terms, "logits", kLogitBases);
  contract.lse_sum_in_base_2 = terms.word("lse_sum") == "base 2";
  contract.normalization = choice_of<Normalization>(terms, "normalize", kNormalizations);
  contract.row_sum_start = choice_of<RowSumStart>(terms, "row_sum_start", kSumStarts);
  contract.rescale_threshold = static_cast<double>(terms.integer("rescale_threshold"));
  contract.exponential_bits = static_cast<int>(terms.integer("exponential_bits"));
  contract.sink_step = choice_of<SinkStep>(terms, "sink_step", kSinkSteps);
  contract.order = choice_of<TileOrder>(terms, "order", kOrders);
  contract.log2_e = choice_of<Log2E>(terms, "log2_e", kLog2Es);
  contract.tanh = choice_of<Tanh>(terms, "tanh", kTanhs);
  contract.subnormals_flushed = terms.word("subnormals") == "flushed";
  contract.nan_rows_open = terms.word("nan_rows") == "open";
  contract.nan_lse = choice_of<NanLse>(terms, "nan_lse", kNanLses);
  contract.masked_lse_is_negative = terms.word("masked_lse") == "-inf";
  contract.parts = problem.integer("splits");
  return contract;
}

double attention_work(const Problem& problem) {
  double work = static_cast<double>(problem.integer("d") + attention_value_width(problem));
  for (const std::string_view size : {"batch", "heads", "queries", "keys"})
    work *= static_cast<double>(problem.integer(size));
  return problem.word("causal") == "none" ? work : work / 2;
}

}  // namespace plumbline
