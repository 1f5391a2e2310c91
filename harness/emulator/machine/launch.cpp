// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/cta_races.h"
#include "harness/emulator/machine/representative_blocks.h"
#include "oracles/base/hash.h"
#include "oracles/base/random.h"
#include "oracles/base/threads.h"

namespace plumbline::emulator {
namespace {

// What the workers bring together.
class Results {
 public:
  // Clusters behind the first one that stopped need not run: their findings would be dropped. By
  // their first CTA.
  bool wanted(std::int64_t cta) const { return cta <= stopped_at_.load(std::memory_order_relaxed); }

  void add(Cluster& cluster, Progress progress) {
    const std::int64_t first = cluster.ctas().front()->linear();
    for (const auto& cta : cluster.ctas()) {
      if (cta->log().empty() && progress != Progress::stopped) continue;
      const std::scoped_lock lock(mutex_);
      logs_.emplace_back(first, std::move(cta->log()));
      if (progress == Progress::stopped) stopped_at_ = std::min(stopped_at_.load(), first);
    }
  }

  void add(const WorkerState& worker) {
    const std::scoped_lock lock(mutex_);
    counts_.resize(worker.counts.size());
    repeats_.resize(worker.repeats.size());
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      counts_[i] += worker.counts[i];
      repeats_[i] += worker.repeats[i];
    }
    if_it_matters_.insert(worker.if_it_matters.begin(), worker.if_it_matters.end());
    older_reads_.log.join(worker.older_reads.log);
    older_reads_.polls.insert(worker.older_reads.polls.begin(), worker.older_reads.polls.end());
    if (worker.traffic == nullptr) return;
    if (traffic_ == nullptr) traffic_ = std::make_unique<TrafficCounter>(counts_.size());
    traffic_->join(*worker.traffic);
  }

  const std::map<std::uint32_t, FindingKind>& if_it_matters() const { return if_it_matters_; }

  bool ran(std::uint32_t inst) const { return inst < counts_.size() && counts_[inst] > 0; }

  LaunchOutcome outcome(const Program& program) {
    LaunchOutcome out;
    std::ranges::stable_sort(logs_, {}, [](const auto& log) { return log.first; });
    FindingLog all;
    for (const auto& [cta, log] : logs_) {
      if (wanted(cta)) all.join(log);
    }
    out.findings = all.findings();
    out.completed = stopped_at_ == kNone;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (program.origin[i] == nullptr) continue;
      out.instructions += counts_[i];
      out.executions.push_back({program.origin[i]->line, counts_[i], repeats_[i]});
    }
    out.older_values = older_reads_.findings();
    if (traffic_ != nullptr) out.traffic = traffic_->result(program, counts_);
    return out;
  }

 private:
  static constexpr std::int64_t kNone = INT64_MAX;

  std::mutex mutex_;
  std::atomic<std::int64_t> stopped_at_ = kNone;
  std::vector<std::pair<std::int64_t, FindingLog>> logs_;  // by the first CTA of the cluster
  std::vector<std::uint64_t> counts_, repeats_;
  OlderReads older_reads_;
  std::map<std::uint32_t, FindingKind> if_it_matters_;
  std::unique_ptr<TrafficCounter> traffic_;
};

WorkerState worker_state(const Launch& launch, CtaRaces* races) {
  const Program& program = launch.program;
  WorkerState worker;
  worker.counts.resize(program.code.size());
  worker.repeats.resize(program.code.size());
  worker.allocation_cache.resize(program.code.size());
  worker.races = races;
  if (launch.count_traffic) worker.traffic = std::make_unique<TrafficCounter>(program.code.size());
  return worker;
}

// In which order clusters start. Hardware promises none among those that are resident together, so
// any order within each `window` of them is legal; and what waits for an earlier window is never
// kept from running.
std::vector<std::int64_t> start_order(std::int64_t clusters, std::size_t window,
                                      std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(clusters));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (seed == 0) return order;
  Random random(seed);
  for (std::size_t begin = 0; begin < order.size(); begin += window) {
    const std::size_t end = std::min(order.size(), begin + window);
    if (seed == 1) {
      std::reverse(order.begin() + static_cast<std::ptrdiff_t>(begin),
                   order.begin() + static_cast<std::ptrdiff_t>(end));
      continue;
    }
    for (std::size_t i = end - 1; i > begin; --i) {
      std::swap(order[i], order[begin + random.below(i - begin + 1)]);
    }
  }
  return order;
}

// Independent clusters, each to its end.
void run_in_order(const Launch& launch, CtaRaces* races, const std::vector<std::int64_t>& order,
                  std::atomic<std::size_t>& next, Results& results) {
  WorkerState worker = worker_state(launch, races);
  const auto take = [&]() -> std::optional<std::int64_t> {
    const std::size_t turn = next.fetch_add(1);
    return turn < order.size() ? std::optional(order[turn]) : std::nullopt;
  };
  worker.take_cluster = take;
  Cluster cluster(launch, worker);
  while (const std::optional<std::int64_t> number = take()) {
    if (!results.wanted(launch.cta_of_cluster(*number, 0))) continue;
    cluster.start(*number);
    const Progress progress = cluster.run();
    if (progress == Progress::given_up) return;
    results.add(cluster, progress);
  }
  results.add(worker);
}

// How many clusters may wait for each other. A cooperative launch is as large as the chip holds: by
// threads, by shared memory (with the 1 KiB of each that the system reserves), and 32 for each of
// 132 multiprocessors.
std::size_t most_resident(const Launch& launch) {
  const auto clusters = [&](std::int64_t ctas) {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, ctas / launch.ctas_of_a_cluster()));
  };
  if (launch.options.resident_ctas > 0) return clusters(launch.options.resident_ctas);
  constexpr std::int64_t kMultiprocessors = 132, kMostCtas = 32, kThreads = 2048,
                         kSharedBytes = 228 * 1024;
  const std::int64_t threads = (launch.threads_per_cta() + 31) / 32 * 32;
  const std::int64_t shared =
      launch.program.static_shared_bytes + launch.dynamic_shared_bytes + 1024;
  const std::int64_t each = std::min({kMostCtas, kThreads / threads, kSharedBytes / shared});
  return clusters(std::max<std::int64_t>(1024, kMultiprocessors * each));
}

// Whether an instruction changes registers of its own warp alone, or lets warps of a CTA wait for
// each other. What atomics change is counted (WorkerState::changes).
bool acts_on_no_other_warp(const Instruction& one) {
  static constexpr std::string_view kSuch[] = {
      "abs", "activemask", "add",  "and",    "atom",  "bar",   "barrier",  "bfe",       "bfi",
      "bra", "clz",        "cvt",  "cvta",   "elect", "fence", "isspacep", "ld",        "lop3",
      "mad", "match",      "max",  "membar", "min",   "mov",   "mul",      "nanosleep", "neg",
      "not", "or",         "popc", "prmt",   "red",   "rem",   "selp",     "set",       "setp",
      "shf", "shfl",       "shl",  "shr",    "sub",   "vote",  "xor"};
  return std::ranges::binary_search(kSuch, one.opcode) && !one.has_modifier("arrive");
}

// Whether clusters that all poll do so for ever: nothing that another could see has happened since
// they were in the same state before. Needs all state to be that of warps and of memory.
class Standstill {
 public:
  Standstill(const Program& program, const WorkerState& worker) : worker_(worker) {
    for (std::size_t i = 0; i < program.origin.size(); ++i)
      if (program.origin[i] != nullptr && !acts_on_no_other_warp(*program.origin[i]))
        acts_.push_back(i);
  }

  // After a turn of all of them.
  bool reached(const std::vector<std::unique_ptr<Cluster>>& resident) {
    std::uint64_t acts = worker_.changes;
    for (const std::size_t inst : acts_) acts += worker_.counts[inst];
    if (std::exchange(before_, acts) != acts) {
      seen_.clear();
      return false;
    }
    std::vector<std::uint64_t> states;
    for (const auto& cluster : resident)
      for (const auto& cta : cluster->ctas())
        for (const auto& warp : cta->warps()) states.push_back(warp->state());
    return ++seen_[fingerprint(std::as_bytes(std::span(states)))] > kRepeats;
  }

 private:
  static constexpr int kRepeats = 2;

  const WorkerState& worker_;
  std::vector<std::size_t> acts_;  // instructions
  std::uint64_t before_ = 0;
  std::map<std::uint64_t, int> seen_;
};

// At the first warp that polls; some cluster has one.
void report_standstill(const Launch& launch, std::vector<std::unique_ptr<Cluster>>& resident,
                       std::size_t waiting) {
  const auto polls = [](const auto& warp) { return !warp->done() && warp->runnable(); };
  for (auto cluster = resident.begin(); cluster != resident.end(); ++cluster) {
    for (const auto& cta : (*cluster)->ctas()) {
      const auto warp = std::ranges::find_if(cta->warps(), polls);
      if (warp == cta->warps().end()) continue;
      (*warp)->fail_where_it_runs(FindingKind::endless_loop, [&] {
        std::string words =
            "waits in a loop for memory that nothing writes any more: every CTA does";
        if (waiting > 0)
          words += fmt::format(", and {} have not begun, as no more are resident together",
                               static_cast<std::int64_t>(waiting) * launch.ctas_of_a_cluster());
        return words;
      });
      std::rotate(resident.begin(), cluster, cluster + 1);
      return;
    }
  }
}

// Clusters that may wait for each other: the oldest run first, and another one starts whenever all
// resident ones poll.
void run_resident(const Launch& launch, CtaRaces* races, Results& results) {
  WorkerState worker = worker_state(launch, races);
  std::vector<std::unique_ptr<Cluster>> resident, spare;
  const std::size_t limit = most_resident(launch);
  const std::vector<std::int64_t> order = start_order(launch.clusters(), limit, launch.cta_order);
  std::size_t next = 0;
  worker.take_cluster = [&]() -> std::optional<std::int64_t> {
    return next < order.size() ? std::optional(order[next++]) : std::nullopt;
  };
  Standstill standstill(launch.program, worker);
  while (next < order.size() || !resident.empty()) {
    if (next < order.size() && resident.size() < limit) {
      if (spare.empty()) spare.push_back(std::make_unique<Cluster>(launch, worker));
      resident.push_back(std::move(spare.back()));
      spare.pop_back();
      resident.back()->start(order[next++]);
    }
    bool stopped = false, all_poll = true;
    for (std::size_t i = 0; i < resident.size() && !stopped;) {
      const Progress progress = resident[i]->run();
      if (progress == Progress::polling) {
        ++i;
        continue;
      }
      if (progress == Progress::given_up) return;
      all_poll = false;
      results.add(*resident[i], progress);
      stopped = progress == Progress::stopped;
      spare.push_back(std::move(resident[i]));
      resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const bool can_join = next < order.size() && resident.size() < limit;
    if (!stopped && all_poll && !can_join && standstill.reached(resident)) {
      report_standstill(launch, resident, order.size() - next);
      results.add(*resident.front(), Progress::stopped);
      resident.erase(resident.begin());
      stopped = true;
    }
    if (stopped) break;
  }
  // A stopped launch keeps what the others had found so far.
  for (const auto& cluster : resident) results.add(*cluster, Progress::polling);
  results.add(worker);
}

// CTAs that communicate take turns on one, and so do those of which some take the work of others.
std::int64_t worker_count(const Launch& launch) {
  if (launch.program.communicates || launch.program.takes_clusters || launch.one_worker) return 1;
  const auto hardware =
      static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const std::int64_t wanted = launch.options.threads > 0 ? launch.options.threads : hardware;
  return std::clamp<std::int64_t>(launch.clusters(), 1, wanted);
}

// From the marks that the search for races leaves. Adds the instructions they name to `stores`.
std::vector<Writer> writers_of(const Launch& launch, const MemoryRange& range,
                               std::set<std::uint32_t>& stores) {
  std::vector<Writer> writers(static_cast<std::size_t>((range.bytes + 3) / 4));
  const Allocation* allocation = launch.global.find(range.first);
  if (allocation == nullptr || allocation->fully_written) return writers;
  const AccessMark* mark = allocation->marks + (range.first - allocation->base) / 4;
  for (Writer& writer : writers) {
    if (mark->stores()) {
      const std::array<std::int64_t, 3> cta = launch.position(std::int64_t{mark->cta} - 1);
      std::copy(cta.begin(), cta.end(), writer.cta.begin());
      writer.warp = static_cast<std::int16_t>(mark->warp());
      writer.lane = static_cast<std::int16_t>(mark->lane());
      writer.ptx_line = launch.program.origin[mark->inst]->line;
      stores.insert(mark->inst);
    }
    ++mark;
  }
  return writers;
}

// Of the reads that ran, of shuffles from lanes outside, and of local memory.
std::vector<Finding> unwritten_registers_of(const Program& program, const Results& results) {
  FindingLog log;
  for (const Program::UnwrittenRegister& one : program.unwritten_registers) {
    if (!results.ran(one.reader)) continue;
    log.add(FindingKind::unwritten_register, program, one.reader, {0, 0, 0}, -1, -1, [&] {
      return fmt::format(
          "reads {}, which nothing has written on some way there; with something else in "
          "such registers the kernel gives other outputs, or does not end",
          one.name);
    });
  }
  for (const auto& [index, kind] : results.if_it_matters()) {
    log.add(kind, program, index, {0, 0, 0}, -1, -1, [kind = kind] {
      return fmt::format("reads {}, and outputs depend on it, or whether the kernel ends",
                         kind == FindingKind::bad_operand ? "the value of a lane that takes no part"
                                                          : "local memory that nothing wrote");
    });
  }
  return log.findings();
}

}  // namespace

Result<LaunchOutcome> run(const Launch& launch) {
  const auto begin = std::chrono::steady_clock::now();
  Results results;
  const std::int64_t workers = worker_count(launch);
  const bool watched = launch.options.check_shadow && launch.ctas() < UINT32_MAX;
  if (watched) launch.global.clear_marks();
  std::optional<CtaRaces> watcher;
  if (watched) watcher.emplace(launch, workers == 1);
  CtaRaces* const races = watched ? &*watcher : nullptr;
  Representatives few;
  if (launch.count_representatives)
    few = run_representatives(launch, worker_state(launch, nullptr));
  if (few.worker != nullptr) {
    results.add(*few.worker);
  } else if (launch.program.communicates) {
    run_resident(launch, races, results);
  } else {
    std::atomic<std::size_t> next = 0;
    const auto all = static_cast<std::size_t>(launch.clusters());
    const std::vector<std::int64_t> order = start_order(launch.clusters(), all, launch.cta_order);
    run_on_threads(workers,
                   [&](std::int64_t) { run_in_order(launch, races, order, next, results); });
  }
  if (launch.given_up()) return Error{ErrorKind::cannot_run, "the launch was interrupted", "", ""};
  LaunchOutcome out = results.outcome(launch.program);
  out.communicates = launch.communicates() || launch.program.takes_clusters;
  out.undecided = watched && watcher->undecided();
  out.unwritten_registers = unwritten_registers_of(launch.program, results);
  out.traffic.representatives = few.ran;
  out.traffic.all_ran_because = std::move(few.obstacle);
  if (watched) {
    std::set<std::uint32_t> stores;
    for (const MemoryRange& range : launch.watched)
      out.writers.push_back(writers_of(launch, range, stores));
    for (const std::uint32_t inst : stores) out.stores.push_back(launch.program.place(inst));
  }
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  out.elapsed_ms = std::chrono::duration<double, std::milli>(elapsed).count();
  return out;
}

}  // namespace plumbline::emulator
