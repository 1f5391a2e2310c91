// SPDX-License-Identifier: MIT
#include "harness/device/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Findings, WhatMattersMostComesFirst) {
  using enum FindingKind;
  std::vector<Finding> findings;
  for (const FindingKind kind : {read_of_unwritten, race, deadlock, read_of_unwritten, misaligned,
                                 missing_wait, out_of_bounds}) {
    Finding& one = findings.emplace_back();
    one.kind = kind;
    one.message = std::to_string(findings.size());
  }
  order_by_consequence(findings);
  std::vector<std::string> order;
  for (const Finding& one : findings) order.push_back(one.message);
  EXPECT_THAT(order, testing::ElementsAre("5", "7", "3", "2", "6", "1", "4"));
}

}  // namespace
}  // namespace plumbline
