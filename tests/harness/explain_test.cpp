// SPDX-License-Identifier: MIT
// What a card says of the thread that stored a wrong output.
#include "harness/explain.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(StoredBy, NamesThreadLineAndCall) {
  const TensorLayout layout{FormatId::bf16, {2, 2}, {2, 1}, 0};  // two elements to a word
  LaunchResult launch;
  EXPECT_EQ(stored_by(launch, "d", layout, 0), "");
  Writer writer;
  writer.cta = {1, 0, 2};
  writer.warp = 3;
  writer.lane = 5;
  writer.ptx_line = 12;
  launch.writers["d"] = {Writer{}, writer};
  EXPECT_EQ(stored_by(launch, "d", layout, 1), "");
  EXPECT_EQ(stored_by(launch, "d", layout, 2), "cta 1,0,2, warp 3, lane 5 at PTX line 12");
  launch.stores[12] = {.ptx_line = 12, .source_file = "/k/store.cuh", .source_line = 7};
  EXPECT_EQ(stored_by(launch, "d", layout, 3), "cta 1,0,2, warp 3, lane 5 at store.cuh:7");
  launch.stores[12].inlined_at = "/k/kernel.cu:90";
  EXPECT_EQ(stored_by(launch, "d", layout, 3),
            "cta 1,0,2, warp 3, lane 5 at store.cuh:7, inlined at kernel.cu:90");
}

}  // namespace
}  // namespace plumbline
