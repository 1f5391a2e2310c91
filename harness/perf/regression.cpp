// SPDX-License-Identifier: MIT
#include "harness/perf/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace plumbline {
namespace {

constexpr std::size_t kMostLines = 3;  // that a change names

std::vector<GrownLine> lines_that_grew(const PerfLaunch& before, const PerfLaunch& after,
                                       Counter counter) {
  std::vector<std::pair<std::uint64_t, GrownLine>> grown;
  for (const PerfLine& line : after.lines) {
    const auto same = std::ranges::find_if(
        before.lines, [&](const PerfLine& other) { return other.same_place(line); });
    const std::uint64_t old = same == before.lines.end() ? 0 : same->counts[counter];
    const std::uint64_t now = line.counts[counter];
    if (now <= old) continue;
    std::string words = same == before.lines.end()
                            ? fmt::format("{}: {}, a new line", line.text(), now)
                            : fmt::format("{}: {} before, {} now", line.text(), old, now);
    grown.emplace_back(now - old, GrownLine{std::move(words), line.file, line.file_line});
  }
  std::ranges::stable_sort(grown, std::greater<>(), [](const auto& one) { return one.first; });
  std::vector<GrownLine> lines;
  for (std::size_t i = 0; i < std::min(kMostLines, grown.size()); ++i)
    lines.push_back(std::move(grown[i].second));
  return lines;
}

// True when they are the same.
bool compare_launch(const std::string& name, const PerfLaunch& before, const PerfLaunch& after,
                    PerfComparison& out) {
  const std::size_t changes = out.changes.size();
  const auto compare = [&](std::string_view what, std::uint64_t old, std::uint64_t now,
                           std::vector<GrownLine> lines) {
    if (old != now) out.changes.push_back({name, std::string(what), old, now, std::move(lines)});
  };
  for (const CounterInfo& info : counter_table()) {
    if (!info.costs) continue;
    const std::uint64_t old = before.totals[info.counter], now = after.totals[info.counter];
    compare(info.words, old, now,
            now > old ? lines_that_grew(before, after, info.counter) : std::vector<GrownLine>());
  }
  compare("bytes of memory at least", before.least_memory_bytes(), after.least_memory_bytes(), {});
  compare("bytes of shared memory of a block", static_cast<std::uint64_t>(before.shared_bytes),
          static_cast<std::uint64_t>(after.shared_bytes), {});
  if (before.compiled && after.compiled) {
    const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    compare("registers of a thread", number(before.compiled->registers),
            number(after.compiled->registers), {});
    compare("bytes of stack of a thread", number(before.compiled->stack_bytes),
            number(after.compiled->stack_bytes), {});
    const auto spills = [&](const CompiledEntry& entry) {
      return number(entry.spill_store_bytes + entry.spill_load_bytes);
    };
    compare("bytes of spills of a thread", spills(*before.compiled), spills(*after.compiled), {});
  } else if (before.compiled && !after.compiled) {
    out.unclear.push_back(fmt::format(
        "{}: the baseline has registers and spills, and here they are not known", name));
  }
  return out.changes.size() == changes;
}

}  // namespace

std::string CounterChange::text() const {
  std::string text = fmt::format("{}: {}: {} before, {} now", kernel, what, before, after);
  if (before > 0) {
    const double change = static_cast<double>(after) / static_cast<double>(before) - 1;
    text += fmt::format(" ({:+.1f} %)", 100 * change);
  }
  for (const GrownLine& line : lines) text += "; " + line.words;
  return text;
}

bool PerfComparison::grew() const { return std::ranges::any_of(changes, &CounterChange::grew); }

PerfComparison compare_perf(const PerfRecord& before, const PerfRecord& after) {
  PerfComparison out;
  const auto same_kernel = [](const PerfEntry& a, const PerfEntry& b) {
    return a.kernel == b.kernel && a.sm == b.sm;
  };
  for (const PerfEntry& now : after.entries) {
    const auto old = std::ranges::find_if(before.entries, [&](const PerfEntry& one) {
      return same_kernel(one, now) && one.problem == now.problem;
    });
    if (old == before.entries.end()) {
      const bool other = std::ranges::any_of(
          before.entries, [&](const PerfEntry& one) { return same_kernel(one, now); });
      out.unclear.push_back(
          fmt::format("{}: the baseline has {}", now.text(),
                      other ? "another problem of this kernel" : "no such kernel"));
      continue;
    }
    if (old->launches.size() != now.launches.size()) {
      out.unclear.push_back(fmt::format("{}: it has {} launches, and the baseline {}", now.text(),
                                        now.launches.size(), old->launches.size()));
      continue;
    }
    if (!old->compiler.empty() && !now.compiler.empty() && old->compiler != now.compiler) {
      out.unclear.push_back(fmt::format(
          "{}: the baseline was compiled by another compiler, which may be what changed: {}",
          now.text(), old->compiler));
    }
    bool same = true;
    for (std::size_t i = 0; i < now.launches.size(); ++i) {
      const std::string name =
          now.launches.size() == 1 ? now.text() : fmt::format("{} launch {}", now.text(), i + 1);
      same = compare_launch(name, old->launches[i], now.launches[i], out) && same;
    }
    out.same += same;
  }
  for (const PerfEntry& old : before.entries) {
    const bool there = std::ranges::any_of(after.entries, [&](const PerfEntry& one) {
      return same_kernel(one, old) && one.problem == old.problem;
    });
    if (!there) out.unclear.push_back(fmt::format("{}: it did not run", old.text()));
  }
  return out;
}

}  // namespace plumbline
