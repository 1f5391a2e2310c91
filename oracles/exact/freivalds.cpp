// SPDX-License-Identifier: MIT
#include "oracles/exact/freivalds.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "oracles/base/assert.h"
#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"

namespace plumbline {
namespace {

using Words = std::vector<std::uint64_t>;  // integers modulo 2^64

// value * scale as integers; false when one is not.
template <typename Value>
bool to_integers(const Value* values, double scale, Words& out) {
  bool integral = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double scaled = double{values[i]} * scale;
    const bool fits = std::abs(scaled) < 0x1p63;
    const auto integer = static_cast<std::int64_t>(fits ? scaled : 0);
    integral &= fits && static_cast<double>(integer) == scaled;
    out[i] = static_cast<std::uint64_t>(integer);
  }
  return integral;
}

std::uint64_t dot(const Words& a, const Words& b) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// B r for every vector r.
std::vector<Words> times_b(const GemmOperands& operands, std::int64_t batch,
                           const std::vector<Words>& r, const FreivaldsOptions& options) {
  std::vector<Words> total(r.size(), Words(operands.k));
  std::mutex mutex;
  const double scale = std::ldexp(1.0, -options.lattice_b);
  for_each_block(operands.n, 256, options.threads, [&](std::int64_t first, std::int64_t last) {
    std::vector<Words> part(r.size(), Words(operands.k));
    Words column(operands.k);
    for (std::int64_t j = first; j < last; ++j) {
      PLUMB_ASSERT(to_integers(operands.column(batch, j), scale, column));
      for (std::size_t v = 0; v < r.size(); ++v) {
        for (std::size_t p = 0; p < column.size(); ++p) part[v][p] += column[p] * r[v][j];
      }
    }
    const std::lock_guard lock(mutex);
    for (std::size_t v = 0; v < r.size(); ++v) {
      for (std::size_t p = 0; p < column.size(); ++p) total[v][p] += part[v][p];
    }
  });
  return total;
}

}  // namespace

std::optional<std::int64_t> freivalds_wrong_row(const GemmOperands& operands, std::int64_t batch,
                                                const double* c, const FreivaldsOptions& options) {
  std::vector<Words> r(options.vectors, Words(operands.n));
  Random random(options.seed);
  for (Words& vector : r) {
    for (std::uint64_t& word : vector) word = random.next();
  }
  const std::vector<Words> b_r = times_b(operands, batch, r, options);

  const double scale_a = std::ldexp(1.0, -options.lattice_a);
  const double scale_c = std::ldexp(1.0, -options.lattice_a - options.lattice_b);
  std::atomic<std::int64_t> wrong = operands.m;
  for_each_block(operands.m, 64, options.threads, [&](std::int64_t first, std::int64_t last) {
    Words row_a(operands.k), row_c(operands.n);
    for (std::int64_t i = first; i < last; ++i) {
      PLUMB_ASSERT(to_integers(operands.row(batch, i), scale_a, row_a));
      bool right = to_integers(c + i * operands.n, scale_c, row_c);
      for (std::size_t v = 0; v < r.size() && right; ++v)
        right = dot(row_a, b_r[v]) == dot(row_c, r[v]);
      if (right) continue;
      std::int64_t seen = wrong;
      while (i < seen && !wrong.compare_exchange_weak(seen, i)) {
      }
      return;  // later rows of this block cannot be the first
    }
  });
  if (wrong == operands.m) return std::nullopt;
  return wrong;
}

}  // namespace plumbline
