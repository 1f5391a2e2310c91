// SPDX-License-Identifier: MIT
// Histograms as short texts: a record has tens of thousands, most of whose cells are empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// The number of the first cell that is not zero, then the counts from there to the last one that is
// not; empty where all are zero. A number is written in letters of five bits each, the lowest bits
// first; a letter's sixth bit says that another one follows. The letters from 0 to 63 are 0-9, A-Z,
// a-z, - and _.
std::string packed(const std::vector<std::int64_t>& counts);

// Whether `text` is a histogram of at most so many cells; `counts` gets all of them.
bool unpack(std::string_view text, std::size_t cells, std::vector<std::int64_t>& counts);

}  // namespace plumbline
