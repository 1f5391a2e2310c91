// SPDX-License-Identifier: MIT
// Cases of one size that no shape class draws, everything else small: sizes beyond what 12, 15 and
// 16 bits count, and the numbers that a kernel's own code compares sizes with. A fast path for
// n == 8192 is in no list of ours; in the kernel's PTX it stands as a number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/plan/build_case.h"

namespace plumbline {

class SizePlanner {
 public:
  SizePlanner(const Manifest& manifest, const KernelChoices& choices, Profile profile,
              Random random);

  // One case for each size of the operation: the largest of a few that costs no more than a case of
  // this profile may; beyond the quick profile all of them, and the largest ones with other
  // features and layouts, too.
  std::vector<Case> long_sizes();

  // Sizes and other integers that are one of these numbers, or one more, and that none of the cases
  // has; the first numbers first, as many as the profile has time for.
  std::vector<Case> sizes_of_code(std::span<const std::int64_t> numbers,
                                  std::span<const Case> planned);

  // Two sizes that are each one past a tile of the manifest, for each two that are so in none of
  // the cases: what is wrong in the last tile of one may only matter in the second one of the other.
  std::vector<Case> tile_pairs(std::span<const Case> planned);

 private:
  enum class Features : std::uint8_t { none, drawn };

  Choice choice_of(std::string_view shape, Features features, Random& random) const;

  struct SizedField {
    std::string_view field;
    std::int64_t size;
  };

  // The smallest problem there is with these sizes, or the next larger one that the domain takes.
  // Of an integer that is no size, a problem with rows that are long enough for it to matter.
  std::optional<Case> case_of(const std::vector<SizedField>& sized, Features features);

  const Manifest& manifest_;
  const Generator& generator_;
  const KernelChoices& choices_;
  Profile profile_;
  Random random_;
  std::uint64_t drawn_ = 0;
};

}  // namespace plumbline
