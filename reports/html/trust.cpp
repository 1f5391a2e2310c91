// SPDX-License-Identifier: MIT
// Whether to believe the rest: same bits every time, on every device, under related problems;
// whether the oracles agree; and what ran.
#include <fmt/format.h>

#include <algorithm>

#include "reports/html/sections.h"

namespace plumbline {
namespace {

struct ClaimWords {
  Claim claim;
  std::string_view title, all_hold, some_break, tried;
};

// How often a claim was judged, kernel by kernel, and how often it broke.
Html claim_section(const RunRecord& record, const ClaimWords& words) {
  Table table;
  table.head = {"kernel", "cases tried", std::string(words.some_break), "for example"};
  std::int64_t tried = 0, broken = 0, not_asked = 0;
  for (const KernelRecord& k : record.kernels) {
    std::int64_t kernel_tried = 0, kernel_broken = 0, kernel_not_asked = 0;
    std::string example;
    for (const CaseRecord& c : record.cases) {
      const auto claim = c.claims.find(words.claim);
      if (c.kernel != k.name || claim == c.claims.end()) continue;
      if (claim->second == Verdict::skip) {
        ++kernel_not_asked;
        continue;
      }
      ++kernel_tried;
      if (claim->second != Verdict::fail) continue;
      if (kernel_broken++ == 0) example = fmt::format("{} [{}]", c.text, c.device);
    }
    if (kernel_tried + kernel_not_asked == 0) continue;
    tried += kernel_tried;
    broken += kernel_broken;
    not_asked += kernel_not_asked;
    if (kernel_not_asked > 0 && example.empty())
      example = fmt::format("{}: {}", counted(kernel_not_asked, "more case"), kNotAsked);
    Cell count = count_cell(kernel_broken);
    count.tone = kernel_broken > 0 ? Tone::fail : Tone::pass;
    table.rows.push_back({cell(k.name), count_cell(kernel_tried), count, cell(example)});
  }
  if (tried + not_asked == 0) return {};
  std::string finding = tried == 0 ? std::string("Asked of no kernel.")
                        : broken == 0
                            ? fmt::format("{} in all {}.", words.all_hold, counted(tried, "case"))
                            : fmt::format("{} in {} of {}.", words.some_break, count_text(broken),
                                          counted(tried, "case"));
  if (not_asked > 0) finding += fmt::format(" {}: {}.", counted(not_asked, "more case"), kNotAsked);
  const Html note = element("p", words.tried, "class=\"note\"");
  const std::string title(words.title);
  return broken == 0 ? figure_around(title, finding, note, &table)
                     : figure_around(title, finding, to_html(table) + note);
}

}  // namespace

Html determinism_section(const RunRecord& record) {
  return claim_section(record, {Claim::deterministic, "Determinism", "The same bits", "Other bits",
                                "Launches repeated, and with CTAs in another legal order; kernels "
                                "that promise no determinism pass."});
}

Html bits_section(const RunRecord& record) {
  return claim_section(
      record, {Claim::bits, "Equality with the contract's arithmetic", "The same bits",
               "Other bits within their bound",
               "Where a contract fixes the order of additions and every rounding, one output is "
               "right: all outputs of small cases and a sample of large ones were compared."});
}

Html agreement_section(const RunRecord& record) {
  return claim_section(record,
                       {Claim::agrees, "GPU and emulator", "The same bits", "Different bits",
                        "GPU and emulator equal, both away from exact: the kernel. GPU away from "
                        "the emulator: the model or the chip."});
}

Html relations_section(const RunRecord& record) {
  return claim_section(
      record, {Claim::related, "Related problems", "The outputs follow from each other",
               "Outputs do not follow",
               "Rows permuted, operands scaled by powers of two, and the like: the outputs must "
               "change accordingly, bit for bit."});
}

Html code_section(const RunRecord& record) {
  Table table;
  table.head = {"kernel",    "device",          "instructions",
                "never ran", "most of them at", "loops no case repeated"};
  std::int64_t instructions = 0, executed = 0;
  for (const KernelRecord& k : record.kernels) {
    for (const auto& [device, code] : k.code) {
      instructions += code.instructions;
      executed += code.executed;
      std::string holes;
      for (const CodeHole& hole : code.holes)
        holes += fmt::format("{}{} ({})", holes.empty() ? "" : ", ", hole.where, hole.instructions);
      table.rows.push_back({cell(k.name), cell(device), count_cell(code.instructions),
                            count_cell(code.instructions - code.executed), cell(holes),
                            cell(fmt::format("{}", fmt::join(code.unrepeated, ", ")))});
    }
  }
  if (table.rows.empty()) return {};
  const std::string finding = fmt::format(
      "The cases executed {:.1f} % of {} instructions. A fault in one that never ran is one that "
      "no case can find.",
      100.0 * static_cast<double>(executed) / static_cast<double>(instructions),
      count_text(instructions));
  return figure_around("Code coverage", finding, {}, &table);
}

Html oracle_section(const RunRecord& record) {
  Table table;
  table.head = {"kernel",
                "compared with exact",
                "bound computed",
                "decided only exactly",
                "recomputed by MPFR",
                "sums confirmed by products",
                "disagree"};
  std::int64_t refereed = 0, confirmed = 0, disagreements = 0, undecided = 0, compared = 0;
  for (const KernelRecord& k : record.kernels) {
    if (k.compared == 0) continue;
    refereed += k.refereed;
    confirmed += k.confirmed;
    disagreements += k.disagreements;
    undecided += k.undecided;
    compared += k.compared;
    Cell disagree = count_cell(k.disagreements);
    disagree.tone = k.disagreements > 0 ? Tone::fail : Tone::pass;
    table.rows.push_back({cell(k.name), count_cell(k.compared), count_cell(k.bounded),
                          count_cell(k.undecided), count_cell(k.refereed), count_cell(k.confirmed),
                          disagree});
  }
  if (table.rows.empty()) return {};
  const std::string finding =
      disagreements > 0
          ? fmt::format(
                "No: the fast oracle and its referees disagree {} times, over {} outputs by the "
                "MPFR "
                "definition and {} in whole products. That is a bug in plumbline; please report "
                "it.",
                count_text(disagreements), count_text(refereed), count_text(confirmed))
          : fmt::format(
                "{} of {} outputs were computed again by the plain MPFR definition, and all "
                "agree; {} needed exact arithmetic to decide.{}",
                count_text(refereed), count_text(compared), count_text(undecided),
                confirmed == 0 ? ""
                               : fmt::format(" The exact sums of {} were confirmed by Freivalds' "
                                             "check of the product that they belong to.",
                                             count_text(confirmed)));
  return disagreements == 0 ? figure_around("Oracle cross-checks", finding, {}, &table)
                            : figure_around("Oracle cross-checks", finding, to_html(table));
}

Html environment_section(const RunRecord& record) {
  Table table;
  table.head = {"what", "which"};
  const auto add = [&](std::string_view what, std::string_view which) {
    if (!which.empty()) table.rows.push_back({cell(what), cell(which)});
  };
  add("plumbline", record.plumbline_version + " " + record.git_hash);
  add("command", record.command);
  add("run", record.run_id);
  add("profile", record.profile);
  add("seed", fmt::format("0x{:x}", record.seed));
  add("devices", fmt::format("{}", fmt::join(record.devices, ", ")));
  add("cases", fmt::format("{} of {} planned", record.cases.size(), record.planned));
  if (record.shard) add("shard", fmt::format("{} of {}", record.shard->index, record.shard->count));
  if (!record.missing_shards.empty())
    add("missing shards", fmt::format("{}", fmt::join(record.missing_shards, ", ")));
  for (const auto& [key, value] : record.environment) add(key, value);
  add("time", record.elapsed_ms > 0 ? fmt::format("{:.1f} s", record.elapsed_ms / 1000) : "");
  for (const PlaceRecord& place : record.places) {
    add("date", place.date);
    add("processor", place.processor);
    add("instruction set", place.instruction_set);
    if (!place.commit.empty()) {
      add("commit of the repository",
          place.commit + (place.uncommitted_changes ? ", with uncommitted changes" : ""));
    }
  }
  Table builds;
  builds.head = {"kernel", "source", "PTX"};
  for (const KernelRecord& k : record.kernels) {
    std::string ptx;
    for (const auto& [sm, hash] : k.ptx_hashes)
      ptx += fmt::format("{}{} {}", ptx.empty() ? "" : ", ", sm, hash);
    builds.rows.push_back({cell(k.name), cell(k.source_hash), cell(ptx)});
  }
  Html html = element("h2", "What ran", "id=\"environment\"");
  html += to_html(table);
  html += element("details", element("summary", "Builds of the kernels") + to_html(builds));
  return element("section", html);
}

}  // namespace plumbline
