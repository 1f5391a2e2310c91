// SPDX-License-Identifier: MIT
// The nodes of every generation against what MMA-Sim, an independent model, said of the same rows:
// digests of its outputs, written by nodes_by_mmasim.py, which compares more rows where mmasim is
// installed. The sign of a zero is left out: no published output of a GPU decides it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/folders.h"
#include "tests/oracles/models/node_samples.h"

namespace plumbline {
namespace {

constexpr const char* kDigests = PLUMBLINE_SOURCE_DIR "/tests/data/mmasim_nodes.txt";
constexpr std::int64_t kRows = 1000;

// FNV-1a of 64 bits over words of 32.
std::uint64_t digest(const NodeRows& rows, FormatId accumulator) {
  const std::uint32_t magnitude = accumulator == FormatId::f16 ? 0x7fff : 0x7fffffff;
  std::uint64_t value = 0xcbf29ce484222325;
  for (const std::uint32_t word : rows.d)
    value = (value ^ ((word & magnitude) == 0 ? 0 : word)) * 0x100000001b3;
  return value;
}

TEST(NodesOfMmasim, AreThese) {
  std::ifstream file(kDigests);
  std::map<std::string, std::string> due;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#'))
      due[line.substr(0, line.rfind(' '))] = line.substr(line.rfind(' ') + 1);
  const std::vector<NodeKind> kinds = node_kinds();
  EXPECT_EQ(due.size(), kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const NodeRows rows = node_rows(kinds[i], i, kRows, 1);
    char got[17];
    std::snprintf(got, sizeof got, "%016llx",
                  static_cast<unsigned long long>(digest(rows, kinds[i].accumulator)));
    EXPECT_EQ(due[name(kinds[i])], got) << name(kinds[i]);
  }
}

// A node that is wrong in one constant gives other bits somewhere among these rows.
TEST(NodesOfMmasim, TellBlockScaledNodesApart) {
  const std::vector<NodeKind> kinds = node_kinds();
  const NodeKind& nvfp4 = kinds[kinds.size() - 4];
  ASSERT_EQ(name(nvfp4), "120 mma e2m1 e2m1 f32 e4m3 64 4");
  const NodeRows rows = node_rows(nvfp4, 0, kRows, 1);
  const Format &f = format(FormatId::e2m1), &s = format(FormatId::e4m3);
  const auto differs = [&](const NodeModel& wrong) {
    int count = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kRows); ++i) {
      std::vector<Decoded> a, b, sa, sb;
      for (std::size_t k = 0; k < 64; ++k) {
        a.push_back(decode(f, rows.a[64 * i + k]));
        b.push_back(decode(f, rows.b[64 * i + k]));
      }
      for (std::size_t j = 0; j < 4; ++j) {
        sa.push_back(decode(s, rows.a_scales[4 * i + j] & 0x7f));
        sb.push_back(decode(s, rows.b_scales[4 * i + j] & 0x7f));
      }
      count += scaled_node(wrong, f, f, a, b, {FormatId::e4m3, sa, sb}, rows.c[i]) != rows.d[i];
    }
    return count;
  };
  const NodeModel right = *scaled_node_model(120, Instruction::mma_sync, 64);
  EXPECT_EQ(differs(right), 0);
  for (const NodeModel& wrong :
       {NodeModel{64, 34, -139, right.output, 16}, NodeModel{64, 33, -139, right.output, 16}})
    EXPECT_GT(differs(wrong), 0) << wrong.fraction_bits;
}

}  // namespace
}  // namespace plumbline
