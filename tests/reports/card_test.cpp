// SPDX-License-Identifier: MIT
// What a card says to type.
#include "reports/card.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Card, QuotesWhatAShellWouldTakeApart) {
  Counterexample card;
  card.original = "mine m=1 n=1";
  EXPECT_EQ(replay_subject(card), "\"mine m=1 n=1\"");
  card.manifest = "my kernels/it's mine.toml";
  EXPECT_EQ(replay_subject(card), "\"mine m=1 n=1\" --kernel \"my kernels/it's mine.toml\"");
  card.case_file = "my corpus/1.case";
  card.manifest = "my.toml";
  EXPECT_EQ(replay_subject(card), "\"my corpus/1.case\" --kernel my.toml");
}

}  // namespace
}  // namespace plumbline
