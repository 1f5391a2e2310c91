// SPDX-License-Identifier: MIT
// All 2^32 floats through every conversion of the CUDA headers and ours (about a minute per
// conversion and core). Chunks of 2^22 floats are dealt to threads from one counter; --gtest_filter
// picks a conversion.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <thread>
#include <vector>

#include "tests/oracles/formats/cuda_conversions.h"

namespace plumbline {
namespace {

#if !PLUMBLINE_HAVE_CUDA_HEADERS

TEST(CudaHeadersExhaustive, AgreeOnAllFloats) { GTEST_SKIP() << test::kNoCudaHeaders; }

#else

using test::IndependentConversion;

class CudaHeadersExhaustive : public testing::TestWithParam<IndependentConversion> {};

TEST_P(CudaHeadersExhaustive, AgreeOnAllFloats) {
  const IndependentConversion independent = GetParam();
  const Format& f = format(independent.id);
  const EncodeOptions options{independent.rounding, independent.overflow, 0};
  constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 22;
  std::atomic<std::uint64_t> next_chunk = 0;
  std::atomic<std::uint64_t> differences = 0;
  std::atomic<std::uint64_t> example = 0;
  const auto work = [&] {
    for (std::uint64_t first = next_chunk.fetch_add(kChunk); first < kAll;
         first = next_chunk.fetch_add(kChunk)) {
      for (std::uint64_t bits = first; bits < first + kChunk; ++bits) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        const std::uint64_t ours = encode(f, static_cast<double>(x), options);
        const std::uint64_t theirs = independent.convert(x);
        if (ours == theirs || test::same_result(f, ours, theirs)) continue;
        ++differences;
        example = bits;
      }
    }
  };
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences.load(), 0u) << "for instance from f32 " << std::hex << example.load();
}

INSTANTIATE_TEST_SUITE_P(Conversions, CudaHeadersExhaustive,
                         testing::ValuesIn(test::kIndependentConversions),
                         [](const auto& row) { return std::string(row.param.name); });

#endif  // PLUMBLINE_HAVE_CUDA_HEADERS

}  // namespace
}  // namespace plumbline
