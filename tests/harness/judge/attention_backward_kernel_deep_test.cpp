// SPDX-License-Identifier: MIT
// The attention backward kernels on the emulator against the MPFR definition of the gradients, over
// shapes and masks at which kernels have gone wrong. The tolerance covers what a conforming kernel
// may do differently from the stage-faithful reference: a weight may round to either neighbor in
// bf16, and f32 loses a little before and after that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness/emulator/emulator_device.h"
#include "harness/judge/case_runner.h"
#include "harness/launch/launch.h"
#include "kernels/ops/attention_fields.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/attention_backward/definition.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

using Number = RealOf<64>;

constexpr const char* kProblems[] = {
    // One tile, tails, several tiles.
    "queries=64 keys=64 d=64 scale=0.125",
    "queries=1 keys=1 d=8 out=f32",
    "queries=67 keys=130 d=24 dv=40 scale=0.25 out=f32",
    "queries=130 keys=67 d=40 dv=8 scale=0.25 pad=8",
    "queries=3 keys=65 d=64 scale=0.125 layout=bsh heads=2",
    // Masks, with either corner and more of queries or of keys.
    "queries=70 keys=70 d=16 causal=bottom_right scale=0.25",
    "queries=70 keys=140 d=16 causal=bottom_right scale=0.25 out=f32",
    "queries=140 keys=70 d=16 causal=bottom_right scale=0.25 out=f32",
    "queries=70 keys=140 d=16 causal=top_left scale=0.25",
    "queries=140 keys=70 d=16 causal=top_left scale=0.25",
    "queries=200 keys=190 d=16 window_left=3 window_right=70 scale=0.25",
    "queries=150 keys=200 d=16 causal=bottom_right window_left=20 scale=0.25",
    "queries=100 keys=20 d=8 causal=top_left window_left=5",
    "queries=20 keys=300 d=8 window_left=0 window_right=0",
    // Heads that share keys, and a batch that shares all.
    "queries=70 keys=40 d=16 heads=6 kv_heads=2 batch=2 scale=0.25 layout=sbh",
    "queries=40 keys=70 d=16 heads=3 kv_heads=1 causal=bottom_right scale=0.25 layout=bsh out=f32",
    "queries=20 keys=33 d=16 heads=2 batch=3 kv=shared scale=0.25 out=f32",
    // What is done to scores.
    "queries=70 keys=70 d=16 softcap=2 scale=0.5 out=f32",
    "queries=70 keys=70 d=16 heads=2 bias=f32 scale=0.25",
    "queries=33 keys=70 d=16 heads=2 sink=f32 scale=0.25 causal=top_left window_left=3",
    "queries=33 keys=70 d=16 heads=2 sink=f32 bias=f32 softcap=5 scale=0.25 causal=bottom_right",
    // Packed sequences, empty ones and rows after the last.
    "batch=4 queries=30 keys=40 d=16 lengths=random heads=2 scale=0.25 causal=bottom_right",
    "batch=5 queries=30 keys=40 d=16 lengths=gaps heads=4 kv_heads=2 scale=0.25 out=f32",
    "batch=3 queries=70 keys=50 d=16 lengths=slack scale=0.25 layout=bsh pad=8",
    "batch=3 queries=40 keys=50 d=16 lengths=ones scale=0.25 causal=top_left",
    // Nothing to walk over.
    "queries=5 keys=0 d=8",
    "queries=0 keys=5 d=8",
    // Rows that are not aligned to 16 bytes, or not to pairs.
    "queries=70 keys=70 d=24 dv=16 pad=4 scale=0.25",
    "queries=40 keys=70 d=16 pad=3 heads=2 scale=0.25 causal=bottom_right",
    "queries=40 keys=30 d=16 pad=1 out=f32 scale=0.25",
    // Wide heads.
    "queries=70 keys=70 d=128 scale=0.0625 causal=bottom_right",
    "queries=40 keys=70 d=72 dv=128 scale=0.125 out=f32",
    "queries=70 keys=66 d=256 dv=192 scale=0.0625 causal=bottom_right heads=2 kv_heads=1",
    "queries=20 keys=20 d=64 dv=256 scale=0.125 out=f32",
};

// How long each sequence is, by the word `lengths`; together at most all rows.
std::vector<std::int64_t> lengths(std::string_view word, std::int64_t batch, std::int64_t rows,
                                  Random& random) {
  std::vector<std::int64_t> result;
  std::int64_t left = batch * rows - (word == "slack" ? rows / 2 + 1 : 0);
  for (std::int64_t i = 0; i < batch; ++i) {
    std::int64_t length = i + 1 == batch ? left : std::min(left, random.between(0, 2 * rows));
    if (word == "gaps" && i % 2 == 0) length = 0;
    if (word == "ones" && i + 1 < batch) length = 1;
    result.push_back(length);
    left -= length;
  }
  return result;
}

double normal(Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum - 6;
}

void put(Tensor& tensor, std::int64_t storage_index, double value) {
  tensor.set_bits_at(storage_index, encode(format(tensor.layout.format), value));
}

void fill_starts(Tensor& starts, const std::vector<std::int64_t>& rows) {
  std::int64_t start = 0;
  put(starts, 0, 0);
  for (std::size_t i = 0; i < rows.size(); ++i)
    put(starts, static_cast<std::int64_t>(i) + 1, static_cast<double>(start += rows[i]));
}

// Everything but what the forward pass left; NaN where no element is.
void fill(const Problem& problem, CaseTensors& tensors) {
  Random random(7);
  for (std::size_t i = 0; i < tensors.specs.size(); ++i) {
    Tensor& tensor = tensors.tensors[i];
    if (tensors.specs[i].role != TensorRole::input) continue;
    const std::string& name = tensors.specs[i].name;
    if (name == "query_starts" || name == "key_starts") {
      const std::int64_t rows = problem.integer(name == "key_starts" ? "keys" : "queries");
      fill_starts(tensor, lengths(problem.word("lengths"), problem.integer("batch"), rows, random));
      continue;
    }
    const Format& stored = format(tensor.layout.format);
    for (std::int64_t at = 0; at < tensor.layout.storage_elements(); ++at)
      tensor.set_bits_at(at, stored.canonical_nan);
    for (std::int64_t at = 0; at < tensor.layout.count(); ++at) {
      double value = normal(random);
      if (name == "bias" && random.below(8) == 0) value = -std::numeric_limits<double>::infinity();
      put(tensor, tensor.layout.storage_index(at), value);
    }
  }
}

AttentionBackwardProblem gradient_problem(const Problem& problem, const CaseTensors& tensors) {
  AttentionBackwardProblem gradient;
  gradient.attention = attention_problem(problem, tensors);
  gradient.o = tensors.find("o");
  gradient.lse = tensors.find("lse");
  gradient.d_o = tensors.find("do");
  return gradient;
}

std::int64_t element(const TensorLayout& layout, const HeadPlace& place, std::int64_t head,
                     std::int64_t row, std::int64_t column = 0) {
  const std::int64_t width = layout.shape.size() == 4 ? layout.shape[3] : 1;
  return ((place.batch * layout.shape[1] + head) * layout.shape[2] + row) * width + column;
}

void fill_forward(const Problem& problem, CaseTensors& tensors) {
  const AttentionBackwardProblem gradient = gradient_problem(problem, tensors);
  Tensor &o = *tensors.find("o"), &lse = *tensors.find("lse");
  for (const HeadPlace& place : head_places(gradient.attention)) {
    const AttentionHead head = attention_head(gradient.attention, place);
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const DefinedRow<Number> row = defined_row<Number>(head, i, nullptr);
      const std::int64_t query = place.first_query + i;
      lse.set_bits(
          element(lse.layout, place, place.head, query),
          encode(format(FormatId::f32), row.visible ? static_cast<double>(row.lse)
                                                    : -std::numeric_limits<double>::infinity()));
      for (std::int64_t x = 0; x < head.dv; ++x) {
        o.set_bits(element(o.layout, place, place.head, query, x),
                   encode(format(FormatId::bf16),
                          static_cast<double>(row.o[static_cast<std::size_t>(x)])));
      }
    }
  }
}

// The stage-faithful gradients, and how far from them a kernel may be before its output is rounded.
class Reference {
 public:
  Reference(const Problem& problem, const CaseTensors& tensors) {
    const AttentionBackwardProblem gradient = gradient_problem(problem, tensors);
    for (Sums* sums : {&dq_, &dk_, &dv_}) {
      sums->layout = tensors.find(sums->name)->layout;
      sums->exact.resize(static_cast<std::size_t>(sums->layout.count()));
      sums->slack.resize(sums->exact.size());
    }
    for (const std::vector<HeadPlace>& places : gradient_groups(gradient)) {
      const GradientGroup group = gradient_group(gradient, places);
      for (std::size_t h = 0; h < places.size(); ++h) add(group.heads[h], places[h]);
    }
  }

  // The largest part of its tolerance that an element uses.
  double worst(std::string_view name, const Tensor& got) const {
    const Sums& sums = name == "dq" ? dq_ : name == "dk" ? dk_ : dv_;
    const Format& stored = format(got.layout.format);
    const double rounding = stored.id == FormatId::bf16 ? 0x1p-8 : 0x1p-22;
    double worst = 0;
    for (std::size_t i = 0; i < sums.exact.size(); ++i) {
      const double value = to_double(stored, got.bits(static_cast<std::int64_t>(i)));
      const double error = std::abs(value - sums.exact[i]);
      const double tolerance = sums.slack[i] + rounding * std::abs(sums.exact[i]);
      if (error == 0) continue;
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity()
                                : std::max(worst, error / tolerance);
    }
    return worst;
  }

 private:
  struct Sums {
    std::string_view name;
    TensorLayout layout{};
    std::vector<double> exact{}, slack{};

    void add(std::int64_t row, double weight, double off, const float* values) {
      for (std::int64_t x = 0; x < layout.shape[3]; ++x) {
        const auto at = static_cast<std::size_t>(row + x);
        exact[at] += weight * values[x];
        slack[at] += off * std::abs(values[x]);
      }
    }
  };

  void add(const GradientHead& gradient, const HeadPlace& place) {
    static const AttentionBackwardContract contract;
    const AttentionHead& head = gradient.head;
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const GradientRow<Number> row = stored_row<Number>(gradient, i);
      const float* const d_o = gradient.d_o.data() + i * head.dv;
      for (std::int64_t j = 0; j < head.keys; ++j) {
        const GradientWeights<Number> weights = gradient_weights(gradient, row, i, j, &contract);
        const auto p = static_cast<double>(weights.p), ds = static_cast<double>(weights.ds);
        double size = 0;  // of what cancels in ds
        for (std::int64_t x = 0; x < head.dv; ++x) {
          size +=
              std::abs(d_o[x]) * (std::abs(head.v[static_cast<std::size_t>(j * head.dv + x)]) +
                                  std::abs(gradient.o[static_cast<std::size_t>(i * head.dv + x)]));
        }
        const double off_p = 0x1.1p-8 * p, off_ds = 0x1.1p-8 * std::abs(ds) + 0x1p-16 * p * size;
        const std::int64_t query = place.first_query + i, key = place.first_key + j;
        dq_.add(element(dq_.layout, place, place.head, query), ds * head.scale, off_ds * head.scale,
                head.k.data() + j * head.d);
        dk_.add(element(dk_.layout, place, place.kv_head, key), ds * head.scale,
                off_ds * head.scale, head.q.data() + i * head.d);
        dv_.add(element(dv_.layout, place, place.kv_head, key), p, off_p, d_o);
      }
    }
  }

  Sums dq_{"dq"}, dk_{"dk"}, dv_{"dv"};
};

std::string manifest_path(std::string_view kernel) {
  return fmt::format("{0}/kernels/shipped/{1}/{1}.toml", PLUMBLINE_BINARY_DIR, kernel);
}

CaseTensors inputs(const Manifest& kernel, const Problem& problem) {
  CaseTensors tensors;
  tensors.specs = *kernel.tensors(problem);
  for (const TensorSpec& spec : tensors.specs) tensors.tensors.emplace_back(spec.layout);
  fill(problem, tensors);
  fill_forward(problem, tensors);
  return tensors;
}

void launch(const Manifest& kernel, const Problem& problem, int sm, CaseTensors& tensors) {
  const Result<std::string> image = read_image(kernel, sm);
  ASSERT_TRUE(image.ok()) << image.error().text();
  EmulatorOptions options;
  options.sm = sm;
  options.threads = 1;
  const std::unique_ptr<Device> device = make_emulator(options);
  const Result<std::unique_ptr<Module>> module = device->load(*image, kernel.name);
  ASSERT_TRUE(module.ok()) << module.error().text();
  Case test_case;
  test_case.kernel = &kernel;
  test_case.problem = problem;
  const Result<LaunchResult> launched = launch_case(test_case, tensors, *device, **module);
  ASSERT_TRUE(launched.ok()) << launched.error().text();
  for (const Finding& finding : launched->findings) ADD_FAILURE() << finding.message;
  ASSERT_TRUE(launched->completed);
  EXPECT_EQ(launched->unwritten, 0);
}

struct AttentionBackwardKernel : testing::TestWithParam<const char*> {};

TEST_P(AttentionBackwardKernel, KeepsToTheDefinition) {
  for (const std::string name : {"attention_bf16_backward", "attention_bf16_backward_atomic"}) {
    if (!std::filesystem::exists(manifest_path(name))) GTEST_SKIP() << "kernels are not compiled";
    const Result<Manifest> kernel = read_manifest(manifest_path(name));
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    const Problem problem = *parse_problem(kernel->schema(), GetParam());
    ASSERT_FALSE(kernel->excluded(problem)) << *kernel->excluded(problem);
    CaseTensors tensors = inputs(*kernel, problem);
    const Reference reference(problem, tensors);
    for (const int sm : kernel->targets) {
      SCOPED_TRACE(fmt::format("{} on sm_{}", name, sm));
      launch(*kernel, problem, sm, tensors);
      for (const std::string_view output : {"dq", "dk", "dv"})
        EXPECT_LE(reference.worst(output, *tensors.find(output)), 1) << output;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Awkward, AttentionBackwardKernel, testing::ValuesIn(kProblems));

}  // namespace
}  // namespace plumbline
