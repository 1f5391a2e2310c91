// SPDX-License-Identifier: MIT
// Designed cases of grouped GEMM: the smallest inputs that must show a group taken for another, a
// tile that knows only one group, and the faults of any GEMM at the edges of groups.
#include "fuzz/grouped/designed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/case/designed_cases.h"
#include "fuzz/gemm/shapes.h"

namespace plumbline {

namespace {

class Designer : public DesignedCases {
 public:
  explicit Designer(const Manifest& manifest)
      : tile_(gemm_tile(manifest)),
        groups_at_once_(groups_at_once(manifest)),
        default_layout_(Problem(manifest.schema()).word("layout")) {}

  struct Sizes {
    std::int64_t m, n, k, groups;
  };

  void add(const Sizes& sizes, std::string_view rest, std::string_view value,
           std::string_view shape, std::string_view purpose) {
    const std::string_view layout = rest.find("layout=nn") != rest.npos   ? "nn"
                                    : rest.find("layout=nt") != rest.npos ? "nt"
                                                                          : default_layout_;
    const std::string text =
        fmt::format("m={} n={} k={} groups={} {}", sizes.m, sizes.n, sizes.k, sizes.groups, rest);
    put(text, value, shape, layout, purpose);
  }

  void routing();
  void many_groups();
  void tiles();
  void scales();
  void arithmetic();
  void empty();

 private:
  // Where the manifest names none: as many as a warp has lanes.
  static std::int64_t groups_at_once(const Manifest& manifest) {
    const auto found = manifest.tile.find("groups");
    return found == manifest.tile.end() ? 32 : std::max<std::int64_t>(1, found->second);
  }

  GemmTile tile_;
  std::int64_t groups_at_once_;
  std::string_view default_layout_;  // of this kernel
};

constexpr std::array<std::string_view, 2> kLayouts = {"layout=nn", "layout=nt"};

// Offsets off by one group or by one row, empty groups skipped wrongly.
void Designer::routing() {
  for (const std::string_view layout : kLayouts) {
    const auto with = [&](std::string_view routing) {
      return fmt::format("{} routing={}", layout, routing);
    };
    const std::string_view empty = "groups without rows, first, last and in between";
    add({7, 9, 17, 4}, with("gaps"), "index_code", "tiny", empty);
    add({7, 16, 32, 8}, with("gaps"), "integers", "few_rows", empty);
    add({133, 24, 16, 6}, with("gaps"), "normal", "straddling", empty);
    add({3, 16, 16, 8}, with("even"), "integers", "few_rows", empty);
    const std::string_view one_row = "groups of one row: every row has a matrix of its own";
    add({5, 9, 17, 5}, with("ones"), "index_code", "tiny", one_row);
    add({16, 16, 32, 16}, with("ones"), "integers", "many_groups", one_row);
    add({tile_.m + 9, 16, 16, 10}, with("ones"), "normal", "straddling", one_row);
    const std::string_view alone = "all rows in one group, wherever it stands";
    add({20, 9, 17, 4}, with("single"), "index_code", "tiny", alone);
    add({tile_.m + 1, 16, 16, 3}, with("single"), "integers", "group_edge", alone);
    const std::string_view offset = "an offset off by one row or one group";
    add({10, 9, 17, 3}, with("even"), "index_code", "tiny", offset);
    add({23, 16, 32, 4}, with("random"), "one_hot", "straddling", offset);
    add({31, 12, 24, 5}, with("random"), "power_scaled", "prime", offset);
    add({48, 48, 48, 3}, with("even"), "index_code", "straddling",
        "square matrices, where another orientation fits");
  }
}

// More groups than a kernel looks through at once: what it carries over to the next ones.
void Designer::many_groups() {
  const std::string_view carried =
      "rows or tiles of earlier groups, carried over from chunk to chunk";
  const std::int64_t chunk = groups_at_once_;
  for (const std::int64_t groups : {chunk - 1, chunk, chunk + 1, 2 * chunk + 3}) {
    if (groups < 1) continue;
    add({groups + 5, 9, 17, groups}, "routing=ones", "index_code", "many_groups", carried);
    add({3 * groups, 16, 16, groups}, "routing=gaps", "integers", "many_groups", carried);
  }
  add({2 * tile_.m + 9, 16, 16, 2 * chunk + 1}, "routing=random", "integers", "many_groups",
      carried);
  add({300, 16, 16, 257}, "routing=gaps", "integers", "many_groups",
      "more groups than a block has threads");
  add({600, tile_.n + 1, 16, 520}, "routing=gaps", "integers", "many_groups",
      "many groups, and columns of a second tile");
  add({600, 16, 16, 520}, "routing=gaps", "integers", "many_groups",
      "more groups than models have experts");
}

// Rows of a tile that belong to the next group; the last rows and columns of each.
void Designer::tiles() {
  const std::int64_t m = tile_.m, n = tile_.n, k = tile_.k;
  const std::string_view straddle = "a tile whose rows belong to several groups";
  add({m, 8, 8, 2}, "", "integers", "straddling", straddle);
  add({2 * m, 8, 8, 3}, "", "integers", "straddling", straddle);
  add({m + 1, 8, 8, 2}, "routing=random", "index_code", "straddling", straddle);
  add({3 * m + 5, 8, 8, 4}, "routing=random", "integers", "straddling", straddle);
  const std::string_view edge = "the last row or column of a group: not stored, or stored too far";
  for (const std::int64_t rows : {m - 1, m, m + 1}) {
    add({2 * rows, 9, 8, 2}, "", "integers", "group_edge", edge);
    add({2 * rows, 9, 8, 2}, "layout=nt", "index_code", "group_edge", edge);
  }
  for (const std::int64_t columns : {n - 1, n, n + 1}) {
    add({9, columns, 8, 2}, "", "integers", "n_edge", edge);
    add({9, columns, 8, 2}, "layout=nt", "index_code", "n_edge", edge);
  }
  const std::string_view last_k =
      "the last partial k tile: skipped, cut short, or read past its end";
  for (const std::int64_t depth : {std::int64_t{1}, k - 1, k + 1, 2 * k + 1}) {
    if (depth < 1) continue;
    const std::string_view shape = depth == 1 ? "tiny" : "k_tail";
    add({17, 9, depth, 3}, "", "ones", shape, last_k);
    add({17, 9, depth, 3}, "layout=nt routing=gaps", "one_hot", shape, last_k);
    // The same in sizes that kernels with aligned rows take.
    add({17, 16, depth / 16 * 16 + 16, 3}, "layout=nt", "ones", shape, last_k);
  }
  add({2 * m + 3, 2 * n + 3, k, 3}, "", "integers", "many_tiles", "the order of tiles in the grid");
}

// A scale of another row or another group, or one that is left out.
void Designer::scales() {
  const std::string_view purpose = "a scale of another row or group, or none";
  for (const std::string_view of_a : {"none", "tensor", "row"}) {
    for (const std::string_view of_b : {"none", "tensor"}) {
      if (of_a == "none" && of_b == "none") continue;
      for (const std::string_view layout : kLayouts) {
        const std::string words = fmt::format("{} scale_a={} scale_b={}", layout, of_a, of_b);
        if (of_a == "none") {
          add({600, 16, 16, 520}, words + " routing=gaps", "integers", "many_groups",
              "the scale of a group whose number is cut short");
        }
        add({13, 16, 32, 4}, words + " routing=gaps", "integers", "tiny", purpose);
        add({37, 16, 32, 5}, words + " routing=random", "normal", "straddling", purpose);
        add({tile_.m + 5, 16, 16, 3}, words, "ones", "straddling", purpose);
        add({13, 16, 32, 4}, words + " routing=ones", "specials", "tiny",
            "scales that are 0, Inf or NaN");
      }
    }
  }
}

void Designer::arithmetic() {
  const std::string_view narrow = "an accumulator narrower than declared";
  for (const std::string_view words :
       {"layout=nn out=f32", "layout=nt out=f32", "layout=nn out=bf16", "layout=nt out=bf16"}) {
    add({10, 16, 2048, 2}, words, "early_large", "large_k", narrow);
    add({10, 16, 512, 2}, words, "width_ladder", "k_tail", narrow);
    add({10, 16, 2048, 3}, words, "cancelling", "large_k",
        "partial sums rounded before they are joined");
    add({24, 16, 16, 3}, words, "ties", "tiny", "the output cast at and next to midpoints");
    add({16, 16, 64, 3}, words, "subnormal", "k_tail",
        "subnormal inputs or outputs flushed to zero");
    add({16, 16, 64, 3}, words, "large", "k_tail", "overflow of the accumulator and of the cast");
    add({23, 32, 96, 3}, words, "specials", "k_tail",
        "NaN and Inf reach the rows and the group they belong to");
  }
}

// Nothing to multiply is not nothing to do.
void Designer::empty() {
  add({17, 24, 0, 3}, "", "normal", "empty_k", "k = 0: zeros, not what was there");
  add({tile_.m + 3, 24, 0, 4}, "routing=gaps", "normal", "empty_k",
      "k = 0: zeros, not what was there");
  add({0, 24, 16, 4}, "", "normal", "empty_m", "no rows: nothing may be touched");
  add({24, 0, 16, 4}, "", "normal", "empty_n", "no columns: nothing may be touched");
  add({0, 0, 0, 1}, "", "normal", "empty_m", "nothing at all");
}

}  // namespace

std::vector<DesignedCase> grouped_designed(const Manifest& manifest) {
  Designer designer(manifest);
  designer.routing();
  designer.many_groups();
  designer.tiles();
  designer.scales();
  designer.arithmetic();
  designer.empty();
  return designer.take();
}

}  // namespace plumbline
