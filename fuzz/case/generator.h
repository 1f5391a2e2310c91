// SPDX-License-Identifier: MIT
// Generator: what fuzzing must know about one operation: its shape and layout classes, its
// features, how each value class fills its tensors, the designed cases, and which fields shrinking
// may simplify. A new operation is one folder, fuzz/<operation>/, and one row in
// fuzz/generators.cpp; plan, shrink and corpus do not change.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case/case.h"
#include "fuzz/case/profile.h"
#include "oracles/base/random.h"

namespace plumbline {

// The range that a feature's "field=*" is drawn from, so that no list decides which windows or
// factors are ever tried.
struct Spread {
  enum class Scale : std::uint8_t { logarithmic, linear };  // what all draws are as likely by

  std::string_view field;
  double least = 0, most = 0;  // of a logarithmic scale: both above 0
  bool whole = false;
  bool either_sign = false;
  Scale scale = Scale::logarithmic;
};

// One independent choice among fragments of problem text: {"beta", {"beta=0", "beta=1", "beta=0
// c=always"}}.
struct Feature {
  std::string name;
  std::vector<std::string> fragments;
  bool prefer_first = false;  // the first is neutral, the others hide part of the work: no more of
                              // them than pairs need
  std::optional<Spread> spread = std::nullopt;
};

// One row of the plan: an index into each list of the generator.
struct Choice {
  int shape = 0;
  int layout = 0;
  int value = 0;
  std::vector<int> features;  // one per Generator::features(), indexing its fragments
};

// A hand-written case: problem text, value class, and the fault it is there to catch.
struct DesignedCase {
  std::string problem;
  std::string value_class;
  std::string shape_class;  // the classes it counts for in the coverage matrix
  std::string layout_class;
  std::string purpose;
};

struct Removal;  // crop.h

// What shrinking may touch, by field name.
struct ShrinkFields {
  std::span<const std::string_view> sizes;    // towards 1 (a size that is 0 stays 0)
  std::span<const std::string_view> strides;  // to their defaults: tight
  std::span<const std::string_view> layouts;  // words, to their defaults
  std::span<const std::string_view>
      features;  // to the simplest of `simple_values` that still fails
  std::span<const std::string_view>
      simple_values;  // "alpha=1", "alpha=2", "bias=none", ... in order of preference
};

class Generator {
 public:
  virtual ~Generator() = default;
  virtual std::string_view operation() const = 0;

  virtual std::span<const ClassInfo> shape_classes() const = 0;
  virtual std::span<const ClassInfo> layout_classes() const = 0;
  virtual std::span<const std::string_view> value_classes() const = 0;
  virtual std::vector<Feature> features(const Manifest& manifest) const = 0;

  // False for the few pairs of shape and layout class that contradict each other.
  virtual bool compatible(int shape, int layout) const = 0;

  // Problem text of a choice, with sizes drawn from `random`. Sizes depend on the manifest's tile
  // and the profile. Strides are written whether the kernel has them or not (free_fields.h). Empty
  // where the kernel has nothing of a class.
  virtual std::string problem_text(const Choice& choice, const Manifest& manifest, Profile profile,
                                   Random& random) const = 0;

  // The sizes a problem may be enlarged in to satisfy a manifest's domain, and what to do about
  // strides then: makes every size and leading dimension a multiple of `granule`.
  virtual void round_sizes(Problem& problem, std::int64_t granule) const = 0;

  // Leading dimensions alone, for domains that ask no more: sizes keep their tails. False where the
  // kernel has none to choose.
  virtual bool round_strides(Problem& /*problem*/, std::int64_t /*granule*/) const { return false; }

  // Strides of `after`, a problem `before` with other sizes: padded as they were.
  virtual void keep_padding(const Problem& /*before*/, Problem& /*after*/) const {}

  virtual std::vector<DesignedCase> designed(const Manifest& manifest) const = 0;

  // Cases large enough for tests of many errors at once; the last ones of a plan.
  virtual std::vector<DesignedCase> populations() const { return {}; }

  // Multiply-accumulates a tiled kernel spends, tails padded to whole tiles.
  virtual double padded_work(const Problem& problem, const Manifest& manifest) const = 0;

  // Fills the logical elements of every input from (class, seed, problem).
  virtual void fill(const Case& test_case, CaseTensors& tensors) const = 0;

  virtual const ShrinkFields& shrink_fields() const = 0;

  // Integers that are no sizes, and that a kernel may compare with numbers of its code.
  virtual std::span<const std::string_view> integers() const { return {}; }

  // Literal inputs whose values are bounded, once slices were cropped or elements made simpler: made
  // to fit.
  virtual void repair_dependent_values(const Case& /*before*/,
                                       std::span<const Removal> /*removals*/,
                                       Case& /*after*/) const {}
};

// The features that follow from a kernel's schema alone: every word field with more than one word,
// but for those named in `except`, and each of `numbers` that the kernel has free.
std::vector<Feature> schema_features(const Manifest& manifest,
                                     std::span<const std::string_view> except,
                                     std::span<const Feature> numbers);

// The fragments of a choice, joined by blanks.
std::string fragments_text(const std::vector<Feature>& features, const Choice& choice);

// The same with a number in place of every "*".
std::string drawn_fragments_text(const std::vector<Feature>& features, const Choice& choice,
                                 const Random& random);

// PLUMB_ASSERTs that the operation has one: every operation of kernels/operations.cpp must.
const Generator& generator_of(const Operation& operation);

// The named shape and layout classes of an operation, for `list` and the coverage matrix.
std::vector<ClassInfo> shape_classes(const Operation& operation);
std::vector<ClassInfo> layout_classes(const Operation& operation);

}  // namespace plumbline
