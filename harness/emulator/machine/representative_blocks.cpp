// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/representative_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "harness/emulator/decode/block_axes.h"
#include "harness/emulator/decode/block_dependence.h"
#include "harness/emulator/machine/cluster.h"

namespace plumbline::emulator {
namespace {

// With fewer CTAs all of them are run. Of more, an eighth may be: what is not alike then costs
// little.
constexpr std::int64_t kFewest = 64;
constexpr std::int64_t kShare = 8;

struct Sectors {
  bool reads = false, writes = false;
  std::vector<std::uint64_t> sorted;
};

// What one CTA did.
struct BlockCount {
  explicit BlockCount(std::size_t instructions) : traffic(instructions) {}

  std::uint64_t path = 0;  // of all its warps
  BlockWay way;
  std::vector<std::uint64_t> repeats;
  TrafficCounter traffic;                    // without the sectors
  std::map<std::uint32_t, Sectors> touched;  // by instruction
};

// By how many sectors each instruction's are shifted from one CTA to another.
using Shifts = std::map<std::uint32_t, std::int64_t>;

std::optional<std::int64_t> shift_between(const Sectors& a, const Sectors& b) {
  if (a.sorted.size() != b.sorted.size()) return std::nullopt;
  if (a.sorted.empty()) return 0;
  const std::uint64_t shift = b.sorted[0] - a.sorted[0];
  for (std::size_t i = 0; i < a.sorted.size(); ++i) {
    if (b.sorted[i] - a.sorted[i] != shift) return std::nullopt;
  }
  return static_cast<std::int64_t>(shift);
}

// Nothing where the two are not alike.
std::optional<Shifts> shifts_between(const BlockCount& a, const BlockCount& b) {
  if (a.path != b.path || a.way.executions != b.way.executions || a.repeats != b.repeats ||
      a.traffic.counts != b.traffic.counts ||
      a.traffic.tensor_columns != b.traffic.tensor_columns || a.touched.size() != b.touched.size())
    return std::nullopt;
  Shifts shifts;
  for (const auto& [instruction, sectors] : a.touched) {
    const auto other = b.touched.find(instruction);
    if (other == b.touched.end()) return std::nullopt;
    const std::optional<std::int64_t> shift = shift_between(sectors, other->second);
    if (!shift) return std::nullopt;
    shifts[instruction] = *shift;
  }
  return shifts;
}

// The shifts for one step along each axis.
using Steps = std::array<Shifts, kBlockAxes>;

class Blocks {
 public:
  Blocks(const Launch& launch, WorkerState worker)
      : launch_(launch),
        axes_(launch.grid),
        worker_(std::move(worker)),
        cluster_(launch, worker_),
        all_(std::make_unique<WorkerState>()) {
    all_->counts.resize(worker_.counts.size());
    all_->repeats.resize(worker_.repeats.size());
    all_->traffic = std::make_unique<TrafficCounter>(worker_.counts.size());
  }

  // Counts all of them; why not, where they have to be run.
  std::string add_all() {
    const BlockCount* const first = at({});
    // The first block goes the way of most: what is an obstacle there is one for nearly all.
    while (first != nullptr) {
      BlockBox grid;
      for (const BlockAxes::Number& number : axes_.numbers()) {
        if (number.divisor == 0) grid.last[number.axis] = number.extent - 1;
      }
      BlockDependence found = dependence(grid, first->way);
      if (found.obstacle.empty()) break;
      if (!found.division || !axes_.divide(found.division->first, found.division->second))
        return std::move(found.obstacle);
    }
    for (const BlockBox& box : axes_.boxes()) {
      if (!add(box, box.last)) return why_not_;
    }
    return "";
  }

  std::int64_t ran() const { return static_cast<std::int64_t>(counts_.size()); }

  std::unique_ptr<WorkerState> take() { return std::move(all_); }

 private:
  // Null, and why_not_, where it cannot stand for others, or is one too many.
  const BlockCount* at(const BlockSteps& position) {
    const std::int64_t number = axes_.linear(position);
    const auto known = counts_.find(number);
    if (known != counts_.end()) return known->second.get();
    if (ran() >= launch_.ctas() / kShare)
      return none(fmt::format("of {} that ran too few are alike", ran()));
    std::ranges::fill(worker_.counts, 0);
    std::ranges::fill(worker_.repeats, 0);
    std::ranges::fill(worker_.chosen, 0);
    TrafficCounter& counted = *worker_.traffic;
    std::ranges::fill(counted.counts, Counts{});
    counted.tensor_columns = 0;
    cluster_.start(number);
    if (cluster_.run() != Progress::finished) return none("one does not come to its end");
    Cta& cta = *cluster_.ctas().front();
    if (!cta.traffic().moves_by_sectors)
      return none("rows that bulk copies take begin within a sector");
    auto own = std::make_unique<BlockCount>(worker_.counts.size());
    own->way = {worker_.counts, worker_.chosen};
    own->repeats = worker_.repeats;
    own->traffic.join_counts(counted, 1);
    for (const auto& warp : cta.warps()) own->path = own->path * 31 + warp->traffic().path;
    for (const auto& [instruction, touched] : cta.traffic().touched)
      own->touched[instruction] = {touched.reads, touched.writes, touched.sectors.sorted()};
    return (counts_[number] = std::move(own)).get();
  }

  const BlockCount* none(std::string why) {
    why_not_ = std::move(why);
    return nullptr;
  }

  BlockDependence dependence(const BlockBox& box, const BlockWay& way) const {
    return dependence_on_block({launch_.program, launch_.parameters, launch_.grid, launch_.block},
                               axes_, box, way);
  }

  // Counts those of a box, which ends at `edge` or before. False: they have to be run.
  bool add(const BlockBox& box, const BlockSteps& edge) {
    const BlockCount* const base = at(box.first);
    if (base == nullptr) return false;
    if (box.size() > 1 && !dependence(box, base->way).obstacle.empty())
      return add_in_parts(box, longest(box), edge);
    Steps steps;
    for (std::size_t axis = 0; axis < kBlockAxes; ++axis) {
      const std::int64_t far = box.extent(axis) - 1;
      if (far == 0) continue;
      BlockSteps corner = box.first;
      corner[axis] = box.last[axis];
      const BlockCount* const other = at(corner);
      if (other == nullptr) return false;
      std::optional<Shifts> shifts = shifts_between(*base, *other);
      if (!shifts) return add_in_parts(box, axis, edge);
      for (auto& [instruction, shift] : *shifts) {
        if (shift % far != 0) return add_in_parts(box, axis, edge);
        shift /= far;
      }
      steps[axis] = *std::move(shifts);
    }
    for (const BlockSteps& corner : far_corners(box)) {
      const BlockCount* const other = at(corner);
      if (other == nullptr) return false;
      const std::optional<Shifts> shifts = shifts_between(*base, *other);
      if (!shifts || !is_sum_of(*shifts, steps, box, corner))
        return add_in_parts(box, longest(box), edge);
    }
    add_alike(box, *base, steps);
    return true;
  }

  // The last one along the axis alone, and the others; halves, where those differ again.
  bool add_in_parts(const BlockBox& box, std::size_t axis, const BlockSteps& edge) {
    BlockBox low = box, high = box;
    const std::int64_t kept =
        box.last[axis] == edge[axis] ? box.extent(axis) - 1 : box.extent(axis) / 2;
    low.last[axis] = box.first[axis] + kept - 1;
    high.first[axis] = box.first[axis] + kept;
    return add(low, edge) && add(high, edge);
  }

  static std::size_t longest(const BlockBox& box) {
    std::size_t axis = 0;
    for (std::size_t i = 1; i < kBlockAxes; ++i) axis = box.extent(i) > box.extent(axis) ? i : axis;
    return axis;
  }

  // Those at the far end of several axes.
  static std::vector<BlockSteps> far_corners(const BlockBox& box) {
    std::vector<BlockSteps> corners{box.first};
    for (std::size_t axis = 0; axis < kBlockAxes; ++axis) {
      if (box.extent(axis) == 1) continue;
      for (std::size_t i = 0, count = corners.size(); i < count; ++i) {
        corners.push_back(corners[i]);
        corners.back()[axis] = box.last[axis];
      }
    }
    std::erase_if(corners, [&](const BlockSteps& corner) {
      int moved = 0;
      for (std::size_t axis = 0; axis < kBlockAxes; ++axis)
        moved += corner[axis] != box.first[axis] ? 1 : 0;
      return moved < 2;
    });
    return corners;
  }

  static bool is_sum_of(const Shifts& shifts, const Steps& steps, const BlockBox& box,
                        const BlockSteps& corner) {
    return std::ranges::all_of(shifts, [&](const auto& one) {
      std::int64_t sum = 0;
      for (std::size_t axis = 0; axis < kBlockAxes; ++axis) {
        if (corner[axis] != box.first[axis])
          sum += steps[axis].at(one.first) * (corner[axis] - box.first[axis]);
      }
      return sum == one.second;
    });
  }

  void add_alike(const BlockBox& box, const BlockCount& base, const Steps& steps) {
    const auto times = static_cast<std::uint64_t>(box.size());
    for (std::size_t i = 0; i < all_->counts.size(); ++i) {
      all_->counts[i] += times * base.way.executions[i];
      all_->repeats[i] += times * base.repeats[i];
    }
    all_->traffic->join_counts(base.traffic, times);
    for (const auto& [instruction, sectors] : base.touched) {
      std::vector<std::uint64_t> shifts{0};
      for (std::size_t axis = 0; axis < kBlockAxes; ++axis) {
        const std::int64_t step = box.extent(axis) > 1 ? steps[axis].at(instruction) : 0;
        if (step == 0) continue;
        const std::size_t count = shifts.size();
        for (std::int64_t turn = 1; turn < box.extent(axis); ++turn) {
          for (std::size_t i = 0; i < count; ++i)
            shifts.push_back(shifts[i] + static_cast<std::uint64_t>(turn * step));
        }
      }
      for (const std::uint64_t shift : shifts) {
        for (const std::uint64_t sector : sectors.sorted) {
          if (sectors.reads) all_->traffic->read.insert(sector + shift);
          if (sectors.writes) all_->traffic->written.insert(sector + shift);
        }
      }
    }
  }

  const Launch& launch_;
  BlockAxes axes_;
  WorkerState worker_;
  Cluster cluster_;
  std::map<std::int64_t, std::unique_ptr<BlockCount>> counts_;  // of those that ran, by number
  std::unique_ptr<WorkerState> all_;
  std::string why_not_;
};

}  // namespace

Representatives run_representatives(const Launch& launch, WorkerState worker) {
  if (launch.ctas() < kFewest) return {};
  if (launch.communicates() || launch.program.takes_clusters)
    return {.worker = nullptr, .obstacle = "blocks work together"};
  worker.comparing = comparing_instructions(launch.program);
  worker.chosen.resize(worker.comparing.size());
  Blocks blocks(launch, std::move(worker));
  std::string obstacle = blocks.add_all();
  if (!obstacle.empty()) return {.worker = nullptr, .obstacle = std::move(obstacle)};
  return {blocks.take(), blocks.ran(), ""};
}

}  // namespace plumbline::emulator
