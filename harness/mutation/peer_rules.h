// SPDX-License-Identifier: MIT
// How other projects decide whether a kernel's output is right: their tolerance rules as a table,
// to be held against the same outputs that our verdicts are about. None of them decides anything
// here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case/case.h"
#include "oracles/formats/format.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

// One output tensor beside what it should be.
struct PeerInput {
  std::string_view operation;  // "gemm"
  FormatId operand = FormatId::bf16, output = FormatId::bf16;
  std::int64_t k = 0;  // products per output; 0 where there is no such number
  std::span<const double> got, expected;
  std::string_view name{};  // "d"
  std::span<const double>
      unfused{};  // what a framework computes without the kernel; empty: nothing
  const Problem* problem = nullptr;
  const CaseTensors* tensors = nullptr;  // the inputs; null: not known
};

struct PeerRule {
  std::string_view name;     // "torch assert_close"
  std::string_view formula;  // with e = |got - expected|, r = expected
  bool (*applies)(const PeerInput& input);
  bool (*accepts)(const PeerInput& input);
};

std::span<const PeerRule> peer_rules();

// What a rule says of all outputs of a case.
enum class PeerVerdict : std::uint8_t { does_not_apply, accepts, rejects };

// In the order of peer_rules(). They are given the mathematical result, and not asked about outputs
// where that leaves the range of their format. A NaN or an infinity elsewhere is rejected by all.
std::vector<PeerVerdict> ask_peers(const Case& test_case, const CaseTensors& tensors,
                                   const CaseOracle& oracle, int threads);

}  // namespace plumbline
