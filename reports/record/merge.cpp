// SPDX-License-Identifier: MIT
#include "reports/record/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "reports/record/code_parts.h"

namespace plumbline {
namespace {

std::string shard_text(const ShardRecord& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

Error do_not_fit(std::string message, const std::string& where) {
  return {ErrorKind::bad_input, std::move(message), where,
          "merge the shards of one run: same kernels, profile, seed, corpus and version"};
}

// What must be equal before two shards belong to one run: the first difference, in words.
std::string difference(const RunRecord& a, const RunRecord& b) {
  const auto differ = [](std::string_view what, const auto& x, const auto& y) {
    return x == y ? std::string() : fmt::format("its {} is {}, not {}", what, y, x);
  };
  std::vector<std::string> all = {
      differ("plumbline", a.plumbline_version + " " + a.git_hash,
             b.plumbline_version + " " + b.git_hash),
      differ("verb", a.verb, b.verb),
      differ("profile", a.profile, b.profile),
      differ("seed", fmt::format("0x{:x}", a.seed), fmt::format("0x{:x}", b.seed)),
      differ("number of shards", a.shard->count, b.shard->count),
      differ("plan's size", a.shard->plan, b.shard->plan),
      differ("plan", a.shard->plan_hash, b.shard->plan_hash),
      differ("number of kernels", a.kernels.size(), b.kernels.size()),
  };
  for (std::size_t i = 0; i < std::min(a.kernels.size(), b.kernels.size()); ++i) {
    const KernelRecord &x = a.kernels[i], &y = b.kernels[i];
    all.push_back(differ("kernel", x.name, y.name));
    if (x.source_hash != y.source_hash || x.ptx_hashes != y.ptx_hashes)
      all.push_back(fmt::format("its {} is another build", y.name));
    if (x.contracts != y.contracts)
      all.push_back(fmt::format("its {} has another contract or other targets", y.name));
  }
  all.push_back(differ("run", a.run_id, b.run_id));
  const auto first = std::find_if(all.begin(), all.end(), [](auto& text) { return !text.empty(); });
  return first == all.end() ? "" : *first;
}

// "AVX2" and "AVX3" of two machines: "AVX2 + AVX3".
void join_environment(std::map<std::string, std::string>& all,
                      const std::map<std::string, std::string>& more) {
  for (const auto& [key, value] : more) {
    std::string& text = all[key];
    if (text.empty()) {
      text = value;
    } else if ((" + " + text + " + ").find(" + " + value + " + ") == std::string::npos) {
      text += " + " + value;
    }
  }
}

void add_kernel(KernelRecord& kernel, const KernelRecord& more) {
  kernel.arithmetic.insert(more.arithmetic.begin(), more.arithmetic.end());
  add_parts(more.code_parts, kernel.code_parts);
  kernel.not_run += more.not_run;
  for (const std::string& reason : more.reasons) {
    if (std::find(kernel.reasons.begin(), kernel.reasons.end(), reason) == kernel.reasons.end())
      kernel.reasons.push_back(reason);
  }
}

// Of what the shards explained or portrayed, what the whole run would have: in the order of its
// cases.
template <typename T, typename Text>
std::vector<T> of_cases(const std::vector<const CaseRecord*>& cases, const std::vector<T>& all,
                        Text text) {
  std::vector<T> kept;
  for (const CaseRecord* c : cases) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const T& one) {
      return one.kernel == c->kernel && one.device == c->device && text(one) == c->text;
    });
    if (found != all.end()) kept.push_back(*found);
  }
  return kept;
}

}  // namespace

Result<RunRecord> merge_records(std::vector<NamedRecord> records) {
  if (records.empty()) return do_not_fit("no record was given", "");
  if (records.size() == 1 && !records.front().record.shard)
    return std::move(records.front().record);
  std::map<int, std::string> present;
  for (const auto& [name, record] : records) {
    if (!record.shard) return do_not_fit("a whole run, which cannot be merged with others", name);
    const std::string other = difference(records.front().record, record);
    if (!other.empty())
      return do_not_fit(fmt::format("not of the same run as {}: {}", records.front().name, other),
                        name);
    const auto [at, added] = present.emplace(record.shard->index, name);
    if (!added)
      return do_not_fit(
          fmt::format("shard {} again, which {} is already", shard_text(*record.shard), at->second),
          name);
  }
  std::sort(records.begin(), records.end(), [](const NamedRecord& a, const NamedRecord& b) {
    return a.record.shard->index < b.record.shard->index;
  });

  const ShardRecord shape = *records.front().record.shard;
  RunRecord merged = records.front().record;
  merged.shard.reset();
  merged.cases.clear();
  merged.counterexamples.clear();
  merged.error_maps.clear();
  merged.places.clear();
  merged.elapsed_ms = 0;
  merged.planned = shape.plan;
  for (KernelRecord& kernel : merged.kernels) kernel = without_cases(kernel);
  std::vector<Counterexample> cards;
  std::vector<ErrorMap> error_maps;
  for (auto& [name, record] : records) {
    merged.interrupted = merged.interrupted || record.interrupted;
    merged.stopped_after = std::max(merged.stopped_after, record.stopped_after);
    merged.elapsed_ms += record.elapsed_ms;
    if (shape.plan == 0) merged.planned += record.planned;
    join_environment(merged.environment, record.environment);
    std::ranges::copy(record.places, std::back_inserter(merged.places));
    for (const std::string& device : record.devices) {
      if (std::find(merged.devices.begin(), merged.devices.end(), device) == merged.devices.end())
        merged.devices.push_back(device);
    }
    for (std::size_t i = 0; i < merged.kernels.size(); ++i)
      add_kernel(merged.kernels[i], record.kernels[i]);
    std::move(record.cases.begin(), record.cases.end(), std::back_inserter(merged.cases));
    cards.insert(cards.end(), record.counterexamples.begin(), record.counterexamples.end());
    error_maps.insert(error_maps.end(), record.error_maps.begin(), record.error_maps.end());
  }
  for (int index = 1; index <= shape.count; ++index) {
    if (!present.contains(index))
      merged.missing_shards.push_back(shard_text({index, shape.count, 0}));
  }
  for (KernelRecord& kernel : merged.kernels) {
    // What part of a plan leaves out says nothing about the kernel.
    if (!merged.missing_shards.empty() || kernel.not_run > 0) continue;
    for (const auto& [device, parts] : kernel.code_parts) kernel.code[device] = code_of(parts);
    kernel.code_parts.clear();
  }
  std::sort(merged.cases.begin(), merged.cases.end(),
            [](const CaseRecord& a, const CaseRecord& b) { return a.position < b.position; });
  const auto twice = std::adjacent_find(
      merged.cases.begin(), merged.cases.end(),
      [](const CaseRecord& a, const CaseRecord& b) { return a.position == b.position; });
  if (twice != merged.cases.end())
    return do_not_fit(fmt::format("two shards have case {}: {}", twice->position, twice->text),
                      records.front().name);
  std::map<std::pair<std::string, Claim>, int> failures;
  for (CaseRecord& c : merged.cases) {
    if (c.verdict == Verdict::fail && ++failures[{c.kernel, broken_claim(c)}] > kDescribedFailures)
      keep_counts(c);
  }
  summarize(merged);
  merged.counterexamples = of_cases(failures_to_explain(merged), cards,
                                    [](const Counterexample& c) { return c.original; });
  merged.error_maps =
      of_cases(cases_with_error_maps(merged), error_maps, [](const ErrorMap& p) { return p.text; });
  return merged;
}

}  // namespace plumbline
