// SPDX-License-Identifier: MIT
// Which outputs of a large matrix to look at closely when not all can be: a stratified sample with
// the same share of every 128 x 128 tile, in which every row and column residue of a tile comes up
// equally often (a fault confined to a lane, a row or a tile is then as likely to be hit as one
// that is everywhere).
#pragma once

#include <cstdint>
#include <vector>

namespace plumbline {

// Whether an output is one of about 1024 that are looked at closely whether they need it or not, to
// have figures of bounds and shares.
bool in_fixed_sample(std::int64_t index, std::int64_t outputs, std::uint64_t seed);

// The members of `candidates` (output indices, increasing) in the sample; at most `most` of them.
std::vector<std::int64_t> stratified_sample(const std::vector<std::int64_t>& candidates,
                                            std::int64_t m, std::int64_t n, std::int64_t most,
                                            std::uint64_t seed);

}  // namespace plumbline
