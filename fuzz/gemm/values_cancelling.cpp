// SPDX-License-Identifier: MIT
// Sums that cancel (docs/propagation.md: condition numbers). Two constructions, chosen by seed,
// because no single one gives both rows that differ and an arbitrary condition number for every
// output of a matrix product:
//
//   pairs    k positions are paired at random; a row of A has equal values at both, a column of B
//            opposite ones, so every output loses all pairs exactly and keeps a few unpaired terms
//            2^10 to 2^30 times smaller.
//   ladder   vectors x and y along k by the algorithm of Ogita, Rump and Oishi (GenDot, Alg. 6.1,
//            with fewer bits a step for low precision): each late term cancels what is left of the
//            sum so far. A and B are x and y times powers of two per row and column, so all outputs
//            share one condition number.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "fuzz/case/draw.h"
#include "fuzz/gemm/values.h"
#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

std::vector<std::int64_t> random_permutation(std::int64_t count, Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// What one k position is in the paired construction.
struct Member {
  std::int64_t draw = 0;  // positions with equal numbers draw equal values
  double scale = 1;       // of A
  double sign = 1;        // of B
};

GemmPattern paired(const GemmContext& context, Random& random) {
  const std::int64_t bits = std::min<std::int64_t>(draw_one_of(random, std::array{10, 16, 24, 30}),
                                                   context.a->emax() / 2);
  const std::int64_t unpaired = std::max<std::int64_t>(1, context.k / 8);
  const std::int64_t pairs = (context.k - unpaired) / 2;
  const std::vector<std::int64_t> order = random_permutation(context.k, random);
  auto members = std::make_shared<std::vector<Member>>(static_cast<std::size_t>(context.k));
  for (std::int64_t i = 0; i < context.k; ++i) {
    Member& member = (*members)[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
    const bool is_paired = i < 2 * pairs;
    member.draw = is_paired ? i / 2 : i;
    member.sign = is_paired && i % 2 == 1 ? -1 : 1;
    if (!is_paired) continue;
    Random of_pair = random.fork(static_cast<std::uint64_t>(i / 2));
    member.scale =
        std::ldexp(1, static_cast<int>(i / 2 == 0 ? bits : of_pair.between(bits / 2, bits)));
  }
  GemmPattern pattern = gemm_normal(context);
  pattern.a = [normal = pattern.a, members](const At& at) {
    const Member& member = (*members)[static_cast<std::size_t>(at.column)];
    return member.scale * normal({at.batch, at.row, member.draw});
  };
  pattern.b = [normal = pattern.b, members](const At& at) {
    const Member& member = (*members)[static_cast<std::size_t>(at.row)];
    return member.sign * normal({at.batch, member.draw, at.column});
  };
  return pattern;
}

double rounded(const Format& element, double value) {
  return to_double(element, encode(element, value));
}

__extension__ typedef __int128 Wide;

struct Ladder {
  std::vector<double> x, y;
};

// Products are kept as multiples of 2^-24 in 128 bits: terms are multiples of 2^-12, at most 2^20,
// and there are < 2^40.
constexpr int kTermBits = 12;

Wide exact_product(double x, double y) {
  const auto scaled_x = static_cast<std::int64_t>(std::ldexp(x, kTermBits));
  const auto scaled_y = static_cast<std::int64_t>(std::ldexp(y, kTermBits));
  return static_cast<Wide>(scaled_x) * scaled_y;
}

double on_grid(const Format& element, double value) {
  const double nearest = rounded(element, value);
  return static_cast<double>(static_cast<std::int64_t>(std::ldexp(nearest, kTermBits))) * 0x1p-12;
}

Ladder gendot(const Format& a, const Format& b, std::int64_t k, int bits, Random& random) {
  Ladder ladder;
  Wide sum = 0;
  const auto append = [&](double x, double y) {
    ladder.x.push_back(x);
    ladder.y.push_back(y);
    sum += exact_product(x, y);
  };
  const std::int64_t half = k / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const std::int64_t exponent = i == 0 ? bits / 2 : random.between(0, bits / 2);
    const double x = on_grid(a, draw_scaled(random, exponent));
    append(x, on_grid(b, draw_scaled(random, exponent)));
  }
  const std::int64_t steps = k - half;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double exponent = static_cast<double>(bits) * static_cast<double>(steps - 1 - i) /
                            static_cast<double>(std::max<std::int64_t>(1, steps - 1));
    const int whole = static_cast<int>(exponent);
    const double x = on_grid(a, draw_scaled(random, whole / 2));
    const double target = std::ldexp(2 * random.unit() - 1, whole - 1);
    const double left = target - static_cast<double>(sum) * 0x1p-24;
    append(x, on_grid(b, left / x));
  }
  return ladder;
}

GemmPattern laddered(const GemmContext& context, Random& random) {
  // Each step of the second half can cancel at most the significand's bits; sums reach 2^bits.
  const int wanted = draw_one_of(random, std::array{10, 16, 24, 32});
  const int per_step = std::min(context.a->precision(), context.b->precision()) - 1;
  const int bits = static_cast<int>(std::min<std::int64_t>(
      {wanted, per_step * (context.k / 2), context.a->emax(), context.b->emax()}));
  const Ladder drawn = gendot(*context.a, *context.b, context.k, bits, random);
  const std::vector<std::int64_t> order = random_permutation(context.k, random);
  auto ladder = std::make_shared<Ladder>(drawn);
  for (std::size_t i = 0; i < order.size(); ++i) {
    ladder->x[static_cast<std::size_t>(order[i])] = drawn.x[i];
    ladder->y[static_cast<std::size_t>(order[i])] = drawn.y[i];
  }
  const int spread = std::min(8, context.a->emax() / 4);
  const auto factor = [spread](ElementStream lines, const At& at) {
    Random of_line = lines(at);
    const double sign = draw_sign(of_line);
    return std::ldexp(sign, static_cast<int>(of_line.between(-spread, spread)));
  };
  GemmPattern pattern = gemm_normal(context);
  pattern.a = [ladder, factor, rows = context.stream("rows")](const At& at) {
    return factor(rows, {at.batch, at.row, 0}) * ladder->x[static_cast<std::size_t>(at.column)];
  };
  pattern.b = [ladder, factor, columns = context.stream("columns")](const At& at) {
    return factor(columns, {at.batch, 0, at.column}) * ladder->y[static_cast<std::size_t>(at.row)];
  };
  return pattern;
}

}  // namespace

GemmPattern gemm_cancelling(const GemmContext& context) {
  Random random = context.random.fork(1);
  const bool ladder = random.below(2) == 0;
  return ladder && context.k >= 4 ? laddered(context, random) : paired(context, random);
}

}  // namespace plumbline
