// SPDX-License-Identifier: MIT
// CaseOracle: what one case's outputs are, and how wrong a kernel that keeps its contract may be.
// One implementation per operation; the judge (harness/judge/judge.h) knows only this interface.
// Judging is silent and fast; explaining recomputes one element and talks.
//
// The rule of judgement is an interval of roundings: with y the exact value before the epilogue and
// E the most a conforming accumulator can be off, an output is admissible when it is g(z) for an
// accumulator value z in [y-E, y+E], where g is the epilogue with its own roundings, evaluated bit
// for bit. The comparison is never |out - y| < tolerance.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oracles/base/result.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/tensor.h"
#include "oracles/reference/named_faults.h"

namespace plumbline {

// One judged output element. All numbers are information; `pass` decides.
struct ElementVerdict {
  std::int64_t index = 0;  // logical row-major linear index into the output
  bool pass = true;
  bool class_mismatch = false;  // NaN, Inf or finite where another class is due
  std::uint64_t got = 0;
  std::uint64_t expected = 0;       // the correctly rounded output of the exact accumulator
  std::uint64_t low = 0, high = 0;  // smallest and largest admissible output, as bits
  double exact = 0;      // exact real result rounded to double (NaN/Inf where the class says so)
  double error_ulp = 0;  // (got - exact) in output ulp; NaN where it has no meaning
  double bound_ulp = 0;  // how far an admissible output can be from exact, in output ulp
  // |got - exact| / |exact| beyond half an ulp of the output, where the terms hardly cancel (their
  // magnitudes add up to at most twice the sum; in GEMM with C and bias too); NaN elsewhere. What
  // an inaccurate unit costs, though its contract allows it.
  double relative = std::numeric_limits<double>::quiet_NaN();
  double share =
      0;  // of the allowed accumulator error used: e_min / E; > 1 fails; NaN if not computed
};

struct JudgeOptions {
  std::int64_t max_bounded =
      -1;  // most elements whose bound is computed (stratified sample); -1 = as many as needed
  // Above so many products, outputs wider than 16 bits (which need a bound for nearly every
  // element) are bounded by a stratified sample, where max_bounded leaves that open.
  double most_products = 16e9;
  std::int64_t referee_samples = 8;  // elements recomputed with MPFR
  int mpfr_bits = 0;       // > 0: every element by the plain MPFR definition at this precision
  std::uint64_t seed = 1;  // of the sample
  int threads = 1;
};

// What judging one output tensor found. Byte-stable for equal inputs and options, for any number of
// threads.
struct OutputVerdict {
  std::int64_t elements = 0;  // outputs of the tensor
  std::int64_t compared = 0;  // judged against an exact value
  std::int64_t open = 0;     // not compared: f32 may overflow on the way, so anything is admissible
  std::int64_t bounded = 0;  // of those, with the bound E computed
  std::int64_t failed = 0;
  std::int64_t class_mismatches = 0;
  std::int64_t nonzero = 0;         // outputs that are not zero (evidence)
  std::int64_t exact_required = 0;  // elements where E = 0: bit equality was demanded
  std::int64_t undecided = 0;       // fast enclosure could not decide; handed to exact arithmetic
  std::int64_t unresolved =
      0;  // still undecided after exact arithmetic (must be 0; counted as passing)
  std::int64_t refereed = 0;       // recomputed by the MPFR definition
  std::int64_t confirmed = 0;      // their exact sums confirmed by a check of the whole product
  std::int64_t disagreements = 0;  // a referee and the fast path differ (must be 0)
  // Compared with the contract's own arithmetic, where that leaves nothing open, and how many of
  // them have other bits.
  std::int64_t modeled = 0, other_bits = 0;
  bool sampled = false;        // not every element was compared
  std::int64_t unbounded = 0;  // then: those held against the a-priori bound alone
  double worst_ulp = 0;        // largest |error_ulp|
  double worst_share = 0;      // largest share
  double worst_relative = 0;   // largest relative
  double median_bound_ulp = 0;
  ElementVerdict
      worst;  // the element with the largest share (or of `failures` the one furthest from exact)
  std::vector<ElementVerdict> failures;  // the first 16, by index
  std::vector<ElementVerdict> others;    // the same of other_bits; `expected` is the contract's
  std::vector<std::int64_t>
      histogram;  // signed error in output ulp: 64 cells over [-4, 4], ends open
  // |error| in output ulp by binade: cell 0 counts exact outputs, cell i those below 2^(i - 10) and
  // above the cell before; ends open.
  std::vector<std::int64_t> magnitudes;
};

// One element again, slowly, in words.
struct Explanation {
  std::vector<std::string> lines;  // sentences for people, in order
  NamedFaults faults;              // that would give exactly these outputs
  // |kernel model - exact| after each step of k, in accumulator ulp, where the operation has such
  // steps
  std::vector<double> steps;
};

// What the values of CaseOracle::reference_values() keep.
enum class Reference : std::uint8_t {
  contract,     // the roundings in the middle that the contract mandates: what verdicts go by
  mathematics,  // none
};

class PreparedGemm;

// Thrown by an oracle whose definition says no value for these inputs: a fault of the definition,
// about which no kernel can be right or wrong.
class Undefined : public std::exception {
 public:
  explicit Undefined(Error error) : error_(std::move(error)), text_(error_.text()) {}

  const Error& error() const { return error_; }

  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Error error_;
  std::string text_;
};

class CaseOracle {
 public:
  virtual ~CaseOracle() = default;
  virtual int outputs() const = 0;  // output tensors, in the order of the operation's tensor list
  virtual std::string output_name(int output) const = 0;

  // The output of this name; there has to be one.
  int output_number(std::string_view name) const {
    int number = 0;
    while (output_name(number) != name) ++number;
    return number;
  }

  virtual OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const = 0;
  virtual ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const = 0;
  virtual Explanation explain(int output, std::int64_t index, const Tensor& got) const = 0;

  // What an output would be before its last rounding if nothing else were rounded, element by
  // element in logical row-major order: doubles, off by about 2^-50 of the size of their terms at
  // most. NaN and infinities where those are due (or where anything may come out: NaN). For
  // statistics and pictures; no verdict comes from them.
  virtual std::vector<double> reference_values(int output, Reference reference,
                                               int threads) const = 0;

  // The GEMMs that an output consists of, one below the other; none where it is anything else.
  virtual std::vector<const PreparedGemm*> gemms(int /*output*/) const { return {}; }
};

}  // namespace plumbline
