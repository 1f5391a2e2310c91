// SPDX-License-Identifier: MIT
#include "oracles/reference/named_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace plumbline {

void NamedFaults::add(const NamedFaults& more) {
  if (names.empty()) {
    if (!more.names.empty() || unnamed.empty()) *this = more;
    return;
  }
  for (const std::string& name : more.names) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  }
}

void NamedFaults::keep_if(const std::function<bool(const std::string&)>& is_kept) {
  if (names.empty()) return;
  if (!is_kept(names.front())) evidence.clear();
  std::erase_if(names, std::not_fn(is_kept));
}

void NamedFaults::sort_by(const std::function<std::int64_t(const std::string&)>& place) {
  if (names.empty()) return;
  const std::string first = names.front();
  std::ranges::stable_sort(names, {}, place);
  if (names.front() != first) evidence.clear();
}

NamedFaults NamedFaults::none(std::string because) {
  NamedFaults out;
  out.unnamed = std::move(because);
  return out;
}

std::vector<std::string> NamedFaults::sentences() const {
  constexpr std::size_t kTold = 3;
  std::vector<std::string> lines;
  for (std::size_t f = 0; f < std::min(kTold, names.size()); ++f) {
    lines.push_back("fits: " + names[f]);
    if (f == 0 && !evidence.empty()) lines.back() += "; " + evidence;
  }
  if (names.size() > kTold) {
    const std::size_t more = names.size() - kTold;
    lines.push_back(fmt::format("{} more {} as well", more, more == 1 ? "fits" : "fit"));
  }
  if (names.empty() && !unnamed.empty()) lines.push_back(unnamed);
  return lines;
}

void FaultRanking::add(FittingFault fault) {
  const auto same = std::ranges::find(faults_, fault.words, &FittingFault::words);
  if (same == faults_.end()) {
    faults_.push_back(std::move(fault));
  } else if (same->agreement < fault.agreement) {
    *same = std::move(fault);
  }
}

NamedFaults FaultRanking::named(std::size_t decisive) && {
  std::ranges::stable_sort(faults_, [](const FittingFault& a, const FittingFault& b) {
    return std::tuple(a.unlikely, b.agreement) < std::tuple(b.unlikely, a.agreement);
  });
  NamedFaults out = NamedFaults::none(kNoFaultFits);
  if (faults_.empty()) return out;
  const FittingFault& best = faults_.front();
  out.evidence = best.evidence;
  for (const FittingFault& fault : faults_) {
    if (std::equal(fault.agreement.begin(),
                   fault.agreement.begin() + static_cast<std::ptrdiff_t>(decisive),
                   best.agreement.begin()))
      out.names.push_back(fault.words);
  }
  return out;
}

}  // namespace plumbline
