// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/survey.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracles/base/numbers.h"
#include "oracles/exact/ordered_product.h"
#include "oracles/exact/parallel.h"

namespace plumbline {
namespace {

// Of a tile. Four matrices of this size fit a second-level cache.
constexpr std::int64_t kTileQueries = 128, kTileKeys = 256;

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(end - first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

struct GradientSurvey::Worker {
  GradientTile tile;
  std::vector<std::int64_t> queries, keys;
  // Of the queries: sums of dQ, sizes and unknown weights.
  std::vector<double> dq;
  std::vector<Line> lines;
  std::vector<double> p_squares, p_lowest, g_squares, g_lowest;  // of the keys
};

GradientSurvey::GradientSurvey(const GradientOperands& operands, const GradientWeights64& weights,
                               int threads)
    : operands_(operands), weights_(weights) {
  for (const GradientOutput output : {GradientOutput::dq, GradientOutput::dk, GradientOutput::dv}) {
    const auto lines = static_cast<std::size_t>(operands.lines(output));
    of(output).lines.resize(lines);
    of(output).sums.resize(lines * static_cast<std::size_t>(operands.rows(output).width));
  }
  std::vector<Worker> workers;
  for (std::int64_t key = 0; key < operands.keys; key += kTileKeys) {
    workers.push_back({.tile = {operands, weights, WeightErrors::reference, {}},
                       .queries = {},
                       .keys = numbers(key, std::min(operands.keys, key + kTileKeys)),
                       .dq = {},
                       .lines = {},
                       .p_squares = {},
                       .p_lowest = {},
                       .g_squares = {},
                       .g_lowest = {}});
  }
  for (std::int64_t h = 0; h < operands.heads(); ++h) {
    for (std::int64_t i = 0; i < operands.queries; i += kTileQueries)
      survey_queries(h, i, std::min(operands.queries, i + kTileQueries), workers, threads);
  }
}

void GradientSurvey::survey_queries(std::int64_t head, std::int64_t first, std::int64_t end,
                                    std::vector<Worker>& workers, int threads) {
  KeyRange seen{operands_.keys, 0};
  for (std::int64_t i = first; i < end; ++i) {
    const KeyRange visible = operands_.head(head).visible(i);
    if (visible.empty() || !operands_.query_of(head, i).live) continue;
    seen.first = std::min(seen.first, visible.first);
    seen.end = std::max(seen.end, visible.end);
  }
  if (seen.empty()) return;
  const std::int64_t from = seen.first / kTileKeys, to = (seen.end - 1) / kTileKeys + 1;
  for_each_piece(to - from, threads, [&](std::int64_t n) {
    Worker& worker = workers[static_cast<std::size_t>(from + n)];
    worker.queries = numbers(first, end);
    add_tile(head, worker);
  });
  const std::int64_t line = head * operands_.queries + first;
  Output& dq = of(GradientOutput::dq);
  double* sums = dq.sums.data() + line * operands_.d;
  for (std::int64_t n = from; n < to; ++n) {
    Worker& worker = workers[static_cast<std::size_t>(n)];
    for (std::size_t x = 0; x < worker.dq.size(); ++x) sums[x] += worker.dq[x];
    for (std::size_t row = 0; row < worker.lines.size(); ++row) {
      Line& all = dq.lines[static_cast<std::size_t>(line) + row];
      const Line& part = worker.lines[row];
      all.squares += part.squares;
      all.lowest = std::min(all.lowest, part.lowest);
      all.errors.insert(all.errors.end(), part.errors.begin(), part.errors.end());
    }
  }
}

// dK and dV of the tile's keys are its own.
void GradientSurvey::add_tile(std::int64_t head, Worker& worker) {
  GradientTile& tile = worker.tile;
  tile.fill(head, worker.queries, worker.keys);
  const auto rows = static_cast<std::int64_t>(worker.queries.size()),
             columns = static_cast<std::int64_t>(worker.keys.size());
  const std::int64_t stride = tile.stride(), key = worker.keys.front(),
                     query = head * operands_.padded + worker.queries.front();
  Output &dk = of(GradientOutput::dk), &dv = of(GradientOutput::dv);
  worker.lines.assign(worker.queries.size(), {});
  for (const GradientTile::OpenPair& pair : tile.open()) {
    const std::int64_t term = query + pair.row;
    const auto line = static_cast<std::size_t>(key + pair.column);
    if (pair.p_error > 0) dv.lines[line].errors.push_back({term, pair.p_error});
    if (!(pair.g_error > 0)) continue;
    dk.lines[line].errors.push_back({term, pair.g_error});
    worker.lines[static_cast<std::size_t>(pair.row)].errors.push_back(
        {key + pair.column, pair.g_error});
  }

  for (std::vector<double>* squares : {&worker.p_squares, &worker.g_squares})
    squares->assign(static_cast<std::size_t>(stride), 0);
  for (std::vector<double>* lowest : {&worker.p_lowest, &worker.g_lowest})
    lowest->assign(static_cast<std::size_t>(stride), kInfinity);
  for (std::int64_t row = 0; row < rows; ++row) {
    add_weight_sizes(tile.p().data() + row * stride, columns, worker.p_squares.data(),
                     worker.p_lowest.data());
    const WeightSizes own = add_weight_sizes(tile.g().data() + row * stride, columns,
                                             worker.g_squares.data(), worker.g_lowest.data());
    worker.lines[static_cast<std::size_t>(row)].squares = own.squares;
    worker.lines[static_cast<std::size_t>(row)].lowest = own.lowest;
  }
  for (std::size_t c = 0; c < worker.keys.size(); ++c) {
    const auto add = [&](Line& line, double squares, double lowest) {
      line.squares += squares;
      line.lowest = std::min(line.lowest, lowest);
    };
    const std::size_t line = static_cast<std::size_t>(key) + c;
    add(dk.lines[line], worker.g_squares[c], worker.g_lowest[c]);
    add(dv.lines[line], worker.p_squares[c], worker.p_lowest[c]);
  }

  const std::int64_t d = operands_.d, width_v = operands_.width_v;
  worker.dq.assign(static_cast<std::size_t>(rows * d), 0);
  add_ordered_product(rows, d, columns, tile.g().data(), stride,
                      operands_.k.transposed.data() + key, operands_.keys, worker.dq.data(), d);
  add_ordered_product_across(columns, d, rows, tile.g().data(), stride,
                             operands_.q.wide.data() + query * d, d, dk.sums.data() + key * d, d);
  add_ordered_product_across(columns, width_v, rows, tile.p().data(), stride,
                             operands_.d_o.wide.data() + query * width_v, width_v,
                             dv.sums.data() + key * width_v, width_v);
}

double GradientSurvey::weight_error(GradientOutput output, std::int64_t l, std::int64_t x) const {
  double error = 0;
  for (const WeightError& one : of(output).lines[static_cast<std::size_t>(l)].errors)
    error += one.error * std::fabs(static_cast<double>(operands_.rows(output).row(one.term)[x]));
  return error * (1 + 0x1p-40);
}

SumEnclosure GradientSurvey::sum(GradientOutput output, std::int64_t l, std::int64_t x) const {
  const GradientRows& rows = operands_.rows(output);
  const Line& line = of(output).lines[static_cast<std::size_t>(l)];
  const VectorSize& column = rows.column[static_cast<std::size_t>(x)];
  SumEnclosure out;
  out.hi = of(output).sums[static_cast<std::size_t>(l * rows.width + x)];
  const double magnitude = std::sqrt(line.squares) * (1 + 0x1p-30) * column.two_norm;
  if (magnitude != 0 && !(magnitude < 0x1p52 * (line.lowest * column.lowest))) {
    // In any order a term passes through fewer additions than there are terms.
    const auto terms = static_cast<double>(operands_.terms(output));
    out.bound = (terms + 2) * 0x1p-53 * magnitude * (1 + 0x1p-20);
  }
  if (!line.errors.empty()) out.bound += weight_error(output, l, x);
  return out;
}

}  // namespace plumbline
