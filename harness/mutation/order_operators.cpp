// SPDX-License-Identifier: MIT
// Wrong order: barriers, fences, arrivals and waits that are missing or too lenient.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "harness/mutation/operators.h"

namespace plumbline {
namespace {

using emulator::OperandKind;

void remove_barrier(const Site& site, Replacements& out) {
  const bool waits = (site.is("bar") || site.is("barrier")) && !site.has("red");
  if (waits || site.is("membar") || site.is("fence")) out.remove();
}

// Of cp.async, bulk copies and wgmma.
void weaken_wait(const Site& site, Replacements& out) {
  if (!(site.is("cp") && site.has("async")) && !site.is("wgmma")) return;
  if (site.has("wait_all") || site.has("commit_group")) out.remove();
  if (!site.has("wait_group") || site.operands() != 1) return;
  out.remove();
  const std::string& pending = site.text(0);
  int groups = 0;
  const auto [end, code] = std::from_chars(pending.data(), pending.data() + pending.size(), groups);
  if (code == std::errc{}) out.add(site.with_operand(0, fmt::format("{}", groups + 1)));
}

// An arrival is left out where its state is not used; a wait does not wait, or waits for the other
// phase.
void misuse_mbarrier(const Site& site, Replacements& out) {
  if (!site.is("mbarrier")) return;
  const bool arrives = site.has("arrive") || site.has("arrive_drop");
  if (arrives && site.kind(0) == OperandKind::sink) out.remove();
  if (!site.has("try_wait") && !site.has("test_wait")) return;
  Statement passes = site.statement;
  passes.words = {"mov", "pred"};
  passes.operands = {site.text(0), "1"};
  out.add(passes.text());
  if (!site.has("parity")) return;
  Statement other = site.statement;
  other.guard.clear();
  other.operands[2] = "%mutant";
  std::string text = other.text();
  text.pop_back();
  out.add(site.in_scope("b32", {fmt::format("xor.b32 %mutant, {}, 1", site.text(2)), text}));
}

constexpr std::array<FaultOperator, 3> kOperators = {{
    {"barrier", "a barrier or fence is left out", remove_barrier},
    {"wait", "a wait for something asynchronous is left out, or lets one more group be pending",
     weaken_wait},
    {"mbarrier", "an arrival is left out, or a wait ends too soon", misuse_mbarrier},
}};

}  // namespace

std::span<const FaultOperator> order_operators() { return kOperators; }

}  // namespace plumbline
