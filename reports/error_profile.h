// SPDX-License-Identifier: MIT
// How large the errors of many outputs are together, from the counts that verdicts carry: a signed
// histogram near zero, and magnitudes by binade over the whole range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace plumbline {

struct ErrorProfile {
  std::string output, format;           // "d", "bf16"
  std::int64_t outputs = 0;             // that have an error in ulp
  std::vector<std::int64_t> histogram;  // as in OutputVerdict
  std::vector<std::int64_t> magnitudes;
  double worst_ulp = 0;

  void add(const OutputVerdict& verdict);

  // An error that at least `share` of the outputs keep within: the upper end of the finer cell that
  // this output is in, never more than worst_ulp. NaN without outputs.
  double quantile(double share) const;
  double share_within(int binade_cell) const;  // of the outputs, in magnitude cells up to this one
  // Of the outputs, at most half an ulp away; ties are not counted where others are further away.
  double share_within_half() const;
  // Of the outputs, about 4 ulp away and further: the open ends of the histogram.
  double share_in_ends() const;

  // The mean signed error of the other outputs, in ulp, to the histogram's cell width, and its
  // standard error.
  struct Mean {
    double ulp = 0, error = 0;
  };

  Mean mean() const;
};

// The upper end of a magnitude cell in ulp; 0 for the exact ones.
double magnitude_end(int cell);
// The left end of a histogram cell in ulp.
double histogram_start(int cell);

// One profile for each output tensor and format of a kernel, those with most outputs first; of
// cases of one value class where one is named.
std::vector<ErrorProfile> error_profiles(const RunRecord& record, const std::string& kernel,
                                         const std::string& value_class = {});

}  // namespace plumbline
