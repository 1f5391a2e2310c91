// SPDX-License-Identifier: MIT
// Random rows through the nodes of every generation, for nodes_by_mmasim.py:
//
//   node_samples ROWS [SEED]
//
// writes, for each kind, a line "<kind> <rows>", then words of 32 bits: the codes of a and b [rows,
// k], those of the scales of a and b [rows, scales], c and what the nodes give [rows].
#include "tests/oracles/models/node_samples.h"

#include <cstdio>
#include <cstdlib>

namespace plumbline {
namespace {

int write(std::int64_t count, std::uint64_t seed) {
  const std::vector<NodeKind> kinds = node_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const NodeRows rows = node_rows(kinds[i], i, count, seed);
    std::printf("%s %lld\n", name(kinds[i]).c_str(), static_cast<long long>(count));
    for (const auto* words : {&rows.a, &rows.b, &rows.a_scales, &rows.b_scales, &rows.c, &rows.d}) {
      if (!words->empty() && std::fwrite(words->data(), 4, words->size(), stdout) != words->size())
        return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace plumbline

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return plumbline::write(std::atoll(argv[1]), argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1);
}
