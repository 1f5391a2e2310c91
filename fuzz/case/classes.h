// SPDX-License-Identifier: MIT
// Small things every generator needs of its table of classes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case/profile.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {

// What `list` and the coverage matrix show of a table whose rows have an `info`.
template <typename Class>
std::vector<ClassInfo> infos_of(std::span<const Class> classes) {
  std::vector<ClassInfo> infos;
  for (const Class& entry : classes) infos.push_back(entry.info);
  return infos;
}

// Every way to choose words for these fields among those a kernel has: {"in=f32 out=e4m3", ...}.
std::vector<std::string> every_choice(const Manifest& manifest,
                                      std::span<const std::string_view> fields);

inline std::int64_t round_up(std::int64_t value, std::int64_t granule) {
  return (value + granule - 1) / granule * granule;
}

}  // namespace plumbline
