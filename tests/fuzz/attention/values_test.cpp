// SPDX-License-Identifier: MIT
// What the value classes of attention promise, computed from the tensors in double precision:
// scores in their regime, maxima where they should stand, outputs that are known beforehand.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "kernels/ops/attention_fields.h"
#include "oracles/formats/encode.h"
#include "tests/fuzz/attention/attention_kernel.h"

namespace plumbline {
namespace {

const Manifest& kernel() { return attention_kernel(); }

// The heads of a case, with its scores.
class Heads {
 public:
  explicit Heads(const Case& test_case)
      : tensors_(filled(test_case)),
        problem_(attention_problem(test_case.problem, tensors_)),
        places_(head_places(problem_)) {
    for (const HeadPlace& place : places_) heads_.push_back(attention_head(problem_, place));
  }

  const std::vector<AttentionHead>& all() const { return heads_; }

  const HeadPlace& place(std::size_t index) const { return places_[index]; }

 private:
  CaseTensors tensors_;
  AttentionProblem problem_;
  std::vector<HeadPlace> places_;
  std::vector<AttentionHead> heads_;
};

double score(const AttentionHead& head, std::int64_t i, std::int64_t j) {
  double sum = 0;
  for (std::int64_t x = 0; x < head.d; ++x) {
    sum += static_cast<double>(head.q[static_cast<std::size_t>(i * head.d + x)]) *
           static_cast<double>(head.k[static_cast<std::size_t>(j * head.d + x)]);
  }
  return sum * static_cast<double>(head.scale);
}

double value(const AttentionHead& head, std::int64_t j, std::int64_t x) {
  return static_cast<double>(head.v[static_cast<std::size_t>(j * head.dv + x)]);
}

std::vector<double> row_of_scores(const AttentionHead& head, std::int64_t i) {
  std::vector<double> row;
  for (std::int64_t j = 0; j < head.keys; ++j) row.push_back(score(head, i, j));
  return row;
}

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
};

// Widths and scales that a level must survive.
constexpr std::array<std::string_view, 5> kWidths = {"d=64 scale=0.125", "d=8 scale=0.3",
                                                     "d=72 scale=1", "d=256 scale=0.001",
                                                     "d=16 scale=0.25 lengths=random batch=3"};

std::string problem_with(std::string_view widths) {
  return "heads=2 queries=12 keys=150 " + std::string(widths);
}

Range scores_of(const std::string& value_class, std::string_view widths, std::uint64_t seed) {
  Range range;
  const Heads heads(case_with(kernel(), problem_with(widths), value_class, seed));
  for (const AttentionHead& head : heads.all()) {
    for (std::int64_t i = 0; i < head.queries; ++i) {
      for (const double one : row_of_scores(head, i)) {
        range.least = std::min(range.least, one);
        range.most = std::max(range.most, one);
      }
    }
  }
  return range;
}

TEST(AttentionValues, LevelsAreWhatTheirNamesSay) {
  for (const std::string_view widths : kWidths) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Range low = scores_of("low_scores", widths, seed);
      EXPECT_LT(low.most, -80) << widths;
      EXPECT_GT(low.least, -120) << widths;
      const Range lowest = scores_of("lowest_scores", widths, seed);
      EXPECT_LT(lowest.most, -0.99e5) << widths;
      EXPECT_GT(lowest.least, -1.01e5) << widths;
      EXPECT_LT(lowest.most - lowest.least, 40) << widths;
      const Range high = scores_of("high_scores", widths, seed);
      EXPECT_GT(high.least, 12) << widths;
      EXPECT_LT(high.most, 118) << widths;
      const Range huge = scores_of("huge_scores", widths, seed);
      EXPECT_GT(huge.most, 300) << widths;
      EXPECT_LT(huge.least, -300) << widths;
      EXPECT_LT(huge.most, 5e4) << widths;
    }
  }
}

double maximum(const std::vector<double>& row, std::size_t first, std::size_t end) {
  return *std::max_element(row.begin() + static_cast<std::ptrdiff_t>(first),
                           row.begin() + static_cast<std::ptrdiff_t>(end));
}

TEST(AttentionValues, MaximaStandWhereTheyShould) {
  for (const std::string_view widths : kWidths) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      for (const std::string value_class :
           {"rising_scores", "falling_scores", "last_key_highest"}) {
        const Heads heads(case_with(kernel(), problem_with(widths), value_class, seed));
        for (const AttentionHead& head : heads.all()) {
          if (head.keys < 130) continue;
          for (std::int64_t i = 0; i < head.queries; ++i) {
            const std::vector<double> row = row_of_scores(head, i);
            const double first = maximum(row, 0, 64), second = maximum(row, 64, 128),
                         third = maximum(row, 128, row.size());
            if (value_class == "rising_scores") {
              EXPECT_LT(first + 1, second) << widths;
              EXPECT_LT(maximum(row, 0, row.size() - 64) + 1, row.back() + 4) << widths;
            } else if (value_class == "falling_scores") {
              EXPECT_GT(first, second + 1) << widths;
            } else {
              EXPECT_GT(row.back(), maximum(row, 0, row.size() - 1) + 10) << widths;
              EXPECT_EQ(third, row.back());
            }
          }
        }
      }
    }
  }
}

// One key outweighs all others by so much that their weight is 0 in f32, with every bias.
TEST(AttentionValues, OneHotSelectsOneKey) {
  for (const std::string_view widths :
       {"d=64 scale=0.125", "d=8 scale=0.3", "d=256 scale=0.001", "d=16 scale=1 bias=f32",
        "d=16 scale=0.25 lengths=gaps batch=4"}) {
    std::set<std::int64_t> selected;
    const Heads heads(case_with(kernel(), problem_with(widths), "one_hot", 3));
    for (const AttentionHead& head : heads.all()) {
      for (std::int64_t i = 0; i < head.queries && head.keys > 1; ++i) {
        std::vector<double> row = row_of_scores(head, i);
        for (std::size_t j = 0; j < row.size() && !head.bias.empty(); ++j)
          row[j] += static_cast<double>(head.bias[static_cast<std::size_t>(i * head.keys) + j]);
        const auto most = std::max_element(row.begin(), row.end());
        selected.insert(most - row.begin());
        const double highest = *most;
        *most = -std::numeric_limits<double>::infinity();
        EXPECT_GE(highest, maximum(row, 0, row.size()) + 104) << widths;
      }
    }
    EXPECT_GE(selected.size(), 5u) << widths;
  }
}

// Selected keys lie at both ends of what a mask leaves, and just outside of it.
TEST(AttentionValues, OneHotSelectsTheEdgesOfMasks) {
  for (const std::string mask :
       {"causal=bottom_right", "causal=top_left", "window_left=8", "window_right=8",
        "window_left=4 window_right=4", "causal=bottom_right window_left=8"}) {
    const Heads heads(case_with(kernel(), "queries=40 keys=40 d=16 " + mask, "index_code", 3));
    const AttentionHead& head = heads.all().front();
    std::array<int, 4> edges{};
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const std::vector<double> row = row_of_scores(head, i);
      const std::int64_t key = std::max_element(row.begin(), row.end()) - row.begin();
      const KeyRange seen = head.visible(i);
      edges[0] += key == seen.end - 1;
      edges[1] += key == seen.first;
      edges[2] += key == seen.end;
      edges[3] += key == seen.first - 1;
    }
    EXPECT_GE(edges[0], 6) << mask;
    EXPECT_GE(edges[1], 6) << mask;
    const bool right = mask != "window_left=8" && mask.find("window_left=8 ") != 0;
    EXPECT_GE(edges[2], right ? 5 : 0) << mask;
    EXPECT_GE(edges[3], mask.find("window_left") == mask.npos ? 0 : 4) << mask;
  }
}

TEST(AttentionValues, IndexCodesTellNeighborsApart) {
  const Heads heads(case_with(kernel(), "heads=3 queries=2 keys=40 d=16", "index_code"));
  for (std::size_t h = 0; h < 3; ++h) {
    const AttentionHead& head = heads.all()[h];
    for (std::int64_t j = 0; j + 1 < head.keys; ++j) {
      for (std::int64_t x = 0; x + 1 < head.dv; ++x) {
        const double here = value(head, j, x);
        EXPECT_EQ(here, std::floor(here));
        EXPECT_LT(here, 256);
        EXPECT_NE(here, value(head, j + 1, x));
        EXPECT_NE(here, value(head, j, x + 1));
        EXPECT_NE(here, value(heads.all()[(h + 1) % 3], j, x));
      }
    }
  }
}

TEST(AttentionValues, EqualScoresAreEqualAndValuesIntegers) {
  for (const std::string value_class : {"equal_scores", "ties", "ones"}) {
    int zero_rows = 0;
    const Heads heads(
        case_with(kernel(), "heads=2 queries=12 keys=33 d=16 bias=f32", value_class, 3));
    for (const AttentionHead& head : heads.all()) {
      for (std::int64_t i = 0; i < head.queries; ++i) {
        const std::vector<double> row = row_of_scores(head, i);
        for (std::int64_t j = 0; j < head.keys; ++j) {
          EXPECT_EQ(row[static_cast<std::size_t>(j)], row[0]);
          EXPECT_EQ(head.bias[static_cast<std::size_t>(i * head.keys + j)],
                    head.bias[static_cast<std::size_t>(i * head.keys)]);
        }
        zero_rows += row[0] == 0 && head.bias[static_cast<std::size_t>(i * head.keys)] == 0;
      }
      if (value_class == "ties") continue;
      for (const float one : head.v) EXPECT_EQ(one, std::floor(one));
    }
    if (value_class != "ones") {
      EXPECT_GE(zero_rows, 4) << value_class;
    }
  }
}

TEST(AttentionValues, TiesHaveMeansBetweenNeighbors) {
  const Heads heads(case_with(kernel(), "heads=2 queries=4 keys=16 d=16", "ties", 3));
  const Format& bf16 = format(FormatId::bf16);
  for (const AttentionHead& head : heads.all()) {
    for (std::int64_t x = 0; x < head.dv; ++x) {
      double sum = 0;
      for (std::int64_t j = 0; j < head.keys; ++j) sum += value(head, j, x);
      const double mean = sum / 16;
      const double up = to_double(bf16, encode(bf16, mean, {.rounding = Rounding::up}));
      const double down = to_double(bf16, encode(bf16, mean, {.rounding = Rounding::down}));
      EXPECT_NE(up, down);
      EXPECT_EQ(mean, (up + down) / 2);
    }
  }
}

TEST(AttentionValues, CancellingValuesCancelPairByPair) {
  const Heads heads(case_with(kernel(), "queries=4 keys=100 d=16", "cancelling", 3));
  const AttentionHead& head = heads.all().front();
  for (std::int64_t i = 0; i < head.queries; ++i) {
    const std::vector<double> row = row_of_scores(head, i);
    const double most = maximum(row, 0, row.size());
    for (std::int64_t x = 0; x < head.dv; ++x) {
      double sum = 0, magnitude = 0;
      for (std::int64_t j = 0; j < head.keys; ++j) {
        const double term = std::exp(row[static_cast<std::size_t>(j)] - most) * value(head, j, x);
        sum += term;
        magnitude += std::fabs(term);
      }
      EXPECT_LT(std::fabs(sum), magnitude / 4);
    }
  }
}

TEST(AttentionValues, HeadsHaveValuesOfTheirOwn) {
  const Heads heads(
      case_with(kernel(), "batch=2 heads=6 kv_heads=3 queries=3 keys=5 d=8", "head_constants"));
  std::map<double, std::set<std::int64_t>> readers;
  for (std::size_t h = 0; h < heads.all().size(); ++h) {
    const AttentionHead& head = heads.all()[h];
    for (const float one : head.v) EXPECT_EQ(one, head.v[0]);
    const HeadPlace& place = heads.place(h);
    readers[static_cast<double>(head.v[0])].insert(place.batch * 3 + place.kv_head);
  }
  EXPECT_EQ(readers.size(), 6u);
  for (const auto& [constant, of] : readers) EXPECT_EQ(of.size(), 1u);
}

TEST(AttentionValues, HiddenKeysHaveNoWeight) {
  int rows_hidden = 0, some_hidden = 0, first_hidden = 0;
  const Heads biased(
      case_with(kernel(), "heads=2 queries=24 keys=40 d=16 bias=f32", "hidden_keys", 3));
  for (const AttentionHead& head : biased.all()) {
    for (std::int64_t i = 0; i < head.queries; ++i) {
      std::int64_t hidden = 0;
      for (std::int64_t j = 0; j < head.keys; ++j)
        hidden += head.bias[static_cast<std::size_t>(i * head.keys + j)] < -1000;
      rows_hidden += hidden == head.keys;
      some_hidden += hidden > 0 && hidden < head.keys;
      first_hidden +=
          hidden == head.keys / 2 && head.bias[static_cast<std::size_t>(i * head.keys)] < -1000;
    }
  }
  EXPECT_GE(rows_hidden, 4);
  EXPECT_GE(some_hidden, 20);
  EXPECT_GE(first_hidden, 4);
  std::multiset<float> masks;  // a head each
  const Heads masked(
      case_with(kernel(), "heads=5 queries=24 keys=40 d=16 bias=f32", "hidden_keys", 3));
  for (const AttentionHead& head : masked.all()) {
    std::set<float> of_head;
    for (const float bias : head.bias)
      if (bias < -1000) of_head.insert(bias);
    masks.insert(of_head.begin(), of_head.end());
  }
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(masks, (std::multiset<float>{kHidden, kHidden, std::numeric_limits<float>::lowest(),
                                         -1e10f, -1e9f}));
  const Heads low(case_with(kernel(), "heads=4 queries=5 keys=140 d=16", "hidden_keys", 3));
  for (const AttentionHead& head : low.all()) {
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const std::vector<double> row = row_of_scores(head, i);
      const double most = maximum(row, 0, row.size());
      EXPECT_GT(most, -20);
      int without = 0;
      for (const double one : row) {
        EXPECT_TRUE(one > most - 20 || one < most - 500) << one << " " << most;
        without += one < most - 500;
      }
      EXPECT_GT(without, 30);
    }
  }
}

TEST(AttentionValues, SpecialsReachEveryTensor) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const Case test_case = case_with(
        kernel(), "batch=2 heads=2 queries=6 keys=7 d=8 bias=f32 sink=f32", "specials", seed);
    const CaseTensors tensors = filled(test_case);
    for (const std::string name : {"q", "k", "v", "bias", "sink"}) {
      const Tensor& tensor = *tensors.find(name);
      for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
        const double one = element_of(tensor, i);
        seen[name + " nan"] += std::isnan(one);
        seen[name + " inf"] += std::isinf(one);
      }
    }
  }
  for (const std::string name : {"q", "k", "v", "bias", "sink"}) {
    EXPECT_GE(seen[name + " nan"], 2) << name;
    EXPECT_GE(seen[name + " inf"], 2) << name;
  }
}

// A sink at 0 beside scores of -1e5 leaves the keys no weight; one that is down there, too, does.
TEST(AttentionValues, SinksAreAtTheLevelOfLowScoresInSomeCases) {
  int there = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const CaseTensors tensors =
        filled(case_with(kernel(), "heads=5 queries=1 keys=1 d=8 sink=f32", "lowest_scores", seed));
    std::set<double> sinks;
    for (int head = 0; head < 5; ++head) sinks.insert(element_of(*tensors.find("sink"), head));
    there += sinks.contains(-1e5) && sinks.contains(-1e5 - 20);
  }
  EXPECT_GT(there, 4);
  EXPECT_LT(there, 16);
}

// Neighboring heads meet other kinds of sinks, and five heads meet them all.
TEST(AttentionValues, FiveHeadsHaveFiveSinks) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const CaseTensors tensors =
        filled(case_with(kernel(), "heads=5 queries=1 keys=1 d=8 sink=f32", "normal", seed));
    std::set<double> sinks;
    for (std::int64_t head = 0; head < 5; ++head)
      sinks.insert(element_of(*tensors.find("sink"), head));
    EXPECT_EQ(sinks.size(), 5u);
    EXPECT_TRUE(sinks.contains(-std::numeric_limits<double>::infinity()));
    EXPECT_TRUE(sinks.contains(0) && sinks.contains(100) && sinks.contains(-20));
  }
}

// Only the classes that say so hold anything but numbers.
TEST(AttentionValues, OtherClassesAreFinite) {
  for (const std::string_view name : generator_of(*kernel().operation).value_classes()) {
    if (find_value_class(name)->has_specials) continue;
    for (const std::string widths : {"d=64 scale=0.125", "d=8 scale=1", "d=256 scale=0.001"}) {
      const CaseTensors tensors =
          filled(case_with(kernel(), "queries=9 keys=200 " + widths, std::string(name), 7));
      for (const std::string tensor_name : {"q", "k", "v"}) {
        const Tensor& tensor = *tensors.find(tensor_name);
        for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
          ASSERT_TRUE(std::isfinite(element_of(tensor, i))) << name << " " << tensor_name;
      }
    }
  }
}

// Changing any of these changes what every seed in every report and corpus means. Do it only on
// purpose.
const std::map<std::string_view, std::uint64_t> kFingerprints = {
    {"normal", 0x7ba63333ace7bd24},
    {"positive", 0x2a79ec382b784874},
    {"ones", 0x783597e9286dfe03},
    {"outliers", 0x22d030dd77baa70c},
    {"offset_keys", 0xb71db449f0f1bd9},
    {"cancelling", 0xa3eb552df09bb79c},
    {"wide", 0xdc8b63caf3cea3d3},
    {"subnormal", 0xf14ddf50696c60e7},
    {"large", 0xb65bc54344f9818a},
    {"specials", 0xe3f5d09029ec6243},
    {"zero_slices", 0x7d5122953e3870e4},
    {"power_scaled", 0x354a2b4f01a0ac56},
    {"one_hot", 0x5270dee7bb72b558},
    {"index_code", 0x8ffa737a09665034},
    {"ties", 0x9878247e5e918897},
    {"low_scores", 0xc5d4c4bcfcc903d3},
    {"lowest_scores", 0x83d72bfb01b4ebfa},
    {"high_scores", 0xeb42cf35d02374f1},
    {"rising_scores", 0xfa80bc6184336a89},
    {"falling_scores", 0x62c5ee499fb68a19},
    {"last_key_highest", 0x1b46d390da326e37},
    {"huge_scores", 0x3f8cc8d5267384d1},
    {"equal_scores", 0xe7a865552252eb65},
    {"hidden_keys", 0xf22c35b240c39893},
    {"head_constants", 0xf992144337baedc7},
    {"identity_values", 0x1ecf0c836bea3c8f},
};

TEST(AttentionValues, BitsAreTheSameEverywhereAndForever) {
  for (const std::string_view name : generator_of(*kernel().operation).value_classes()) {
    const std::uint64_t bits =
        bits_of(case_with(kernel(),
                          "batch=2 heads=4 kv_heads=2 queries=9 keys=70 d=24 dv=16 scale=0.3 "
                          "bias=f32 sink=f32 causal=bottom_right",
                          std::string(name), 1)) ^
        bits_of(case_with(kernel(), "batch=3 queries=9 keys=12 d=8 lengths=random",
                          std::string(name), 1));
    const auto known = kFingerprints.find(name);
    EXPECT_TRUE(known != kFingerprints.end() && bits == known->second)
        << "{\"" << name << "\", 0x" << std::hex << bits << "},";
  }
}

}  // namespace
}  // namespace plumbline
