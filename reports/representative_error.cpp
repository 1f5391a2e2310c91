// SPDX-License-Identifier: MIT
#include "reports/representative_error.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "oracles/formats/format.h"
#include "reports/card.h"
#include "reports/error_profile.h"

namespace plumbline {

std::optional<RepresentativeError> representative_error(const RunRecord& record,
                                                        const KernelRecord& kernel) {
  constexpr double kShare = 0.99;
  std::map<std::pair<int, std::string>, double> errors;  // by bits and format
  for (const ErrorProfile& profile : error_profiles(record, kernel.name, "positive")) {
    const std::optional<FormatId> id = format_by_name(profile.format);
    const double error = profile.quantile(kShare);
    if (!id || !is_meaningful(error, kernel)) continue;
    double& most = errors[{format(*id).storage_bits, profile.format}];
    most = std::max(most, error);
  }
  std::optional<RepresentativeError> representative;
  for (const auto& [of, error] : errors) {
    if (!representative || representative->ulp == 0)
      representative = RepresentativeError{error, of.second};
  }
  return representative;
}

std::string describe_excess(const KernelRecord& kernel) {
  if (kernel.compared == 0 || !(kernel.worst_share > 1)) return {};
  if (std::isinf(kernel.worst_share)) return "beyond what is allowed";
  return share_text(kernel.worst_share) + " what is allowed";
}

std::string describe_error(const RunRecord& record, const KernelRecord& kernel) {
  if (std::string excess = describe_excess(kernel); !excess.empty()) return excess;
  if (kernel.compared == 0 || kernel.verdict == Verdict::fail) return {};
  if (kernel.worst_ulp == 0) return "exact";
  const std::optional<RepresentativeError> error = representative_error(record, kernel);
  if (!error) return {};
  return error->ulp == 0 ? "exact" : fmt::format("{} of {}", ulp_text(error->ulp), error->format);
}

}  // namespace plumbline
