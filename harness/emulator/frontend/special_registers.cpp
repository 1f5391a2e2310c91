// SPDX-License-Identifier: MIT
#include "harness/emulator/frontend/special_registers.h"

#include <algorithm>
#include <array>

#include "oracles/base/text.h"

namespace plumbline::emulator {
namespace {

// PTX ISA 9.0 §10.
constexpr std::array<std::string_view, 8> kVectors = {
    "%tid",       "%ntid",       "%ctaid",         "%nctaid",
    "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid",
};

constexpr std::array<std::string_view, 41> kNames = {
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%is_explicit_cluster",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%current_graph_exec",
    "%envreg0",
    "%envreg1",
    "%envreg2",
    "%pm0",
};

// %envreg0..%envreg31 and %pm0..%pm7, each pm also with _64.
bool is_numbered(std::string_view name, std::string_view stem, int count) {
  if (!name.starts_with(stem)) return false;
  const std::optional<int> number = parse_number<int>(name.substr(stem.size()));
  return number && *number >= 0 && *number < count;
}

}  // namespace

bool is_special_register(std::string_view name) {
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  if (is_numbered(name, "%envreg", 32)) return true;
  if (name.ends_with("_64")) name.remove_suffix(3);
  return is_numbered(name, "%pm", 8);
}

bool has_parts(std::string_view name) {
  return std::find(kVectors.begin(), kVectors.end(), name) != kVectors.end();
}

std::span<const std::string_view> special_registers() { return kNames; }

}  // namespace plumbline::emulator
