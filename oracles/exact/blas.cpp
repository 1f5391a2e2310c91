// SPDX-License-Identifier: MIT
#include "oracles/exact/blas.h"

#include <cblas.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

// OpenBLAS gives every call a buffer, which it keeps for later ones, and where there is no room for
// a further one it asks for it forever. So no more calls are made at once than have got a buffer.
// Without room for one this throws std::bad_alloc.
class BlasBuffer {
 public:
  BlasBuffer() {
    std::unique_lock lock(mutex_);
    if (in_use_ == buffers_ && has_room()) ++buffers_;
    if (buffers_ == 0) throw std::bad_alloc();
    freed_.wait(lock, [] { return in_use_ < buffers_; });
    ++in_use_;
  }

  BlasBuffer(const BlasBuffer&) = delete;
  BlasBuffer& operator=(const BlasBuffer&) = delete;

  ~BlasBuffer() {
    const std::lock_guard lock(mutex_);
    --in_use_;
    freed_.notify_one();
  }

 private:
  // Asked for twice as much: others allocate before OpenBLAS does.
  static bool has_room() {
    constexpr std::size_t kBytes = std::size_t{2} * 128 << 20;
    void* const room = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return false;
    ::munmap(room, kBytes);
    return true;
  }

  static inline std::mutex mutex_;
  static inline std::condition_variable freed_;
  static inline int buffers_ = 0, in_use_ = 0;
};

Error untrusted(std::string what) {
  return {ErrorKind::cannot_run, std::move(what), "",
          "exact sums fall back to slow integer arithmetic; use an unmodified OpenBLAS for speed"};
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
              double* c) {
  add_product(m, n, k, a, k, b, k, c, n);
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
              float* c) {
  product_f32(m, n, k, a, k, b, k, c, n);
}

// Integers just below 2^(bits / 2) / sqrt(k), all positive, so that every sum comes close to
// 2^bits and needs all its bits.
template <typename Number>
Status check_product(std::string_view name, int bits, std::int64_t m, std::int64_t n,
                     std::int64_t k) {
  const auto largest =
      static_cast<std::int64_t>(std::exp2(bits / 2.0) / std::sqrt(static_cast<double>(k)));
  Random random(static_cast<std::uint64_t>(m * k));
  std::vector<Number> a(m * k), b(n * k), c(m * n);
  for (Number& value : a) value = static_cast<Number>(random.between(largest - 9, largest));
  for (Number& value : b) value = static_cast<Number>(random.between(largest - 9, largest));
  multiply(m, n, k, a.data(), b.data(), c.data());
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum += static_cast<std::int64_t>(a[i * k + p]) * static_cast<std::int64_t>(b[j * k + p]);
      }
      if (c[i * n + j] != static_cast<Number>(sum)) {
        return untrusted(fmt::format(
            "the BLAS library's {} gave {:.17g} for an exact sum of {} products that is {}", name,
            c[i * n + j], k, sum));
      }
    }
  }
  return {};
}

Status check_all() {
  volatile double one = 1, half_ulp = 0x1p-53;
  if (one + half_ulp != 1 || one + half_ulp * 1.5 == 1 || one - half_ulp * 0.75 == 1) {
    return untrusted("the processor does not round FP64 to nearest even");
  }
  volatile float smallest = 0x1p-149f;
  if (double{smallest} != 0x1p-149)
    return untrusted("the processor flushes subnormal numbers to zero");
  // Libraries treat small products specially.
  if (Status status = check_product<double>("dgemm", 52, 8, 8, 1000); !status) return status;
  return check_product<double>("dgemm", 52, 44, 36, 1000);
}

Status check_f32() {
  if (Status status = check_all(); !status) return status;
  if (Status status = check_product<float>("sgemm", 24, 8, 8, 1000); !status) return status;
  return check_product<float>("sgemm", 24, 44, 36, 1000);
}

}  // namespace

void add_product(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                 const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  openblas_set_num_threads(1);
  const BlasBuffer buffer;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), 1, a, static_cast<blasint>(lda), b,
              static_cast<blasint>(ldb), 1, c, static_cast<blasint>(ldc));
}

void add_product_across(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                        std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                        std::int64_t ldc) {
  openblas_set_num_threads(1);
  const BlasBuffer buffer;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), 1, a, static_cast<blasint>(lda), b,
              static_cast<blasint>(ldb), 1, c, static_cast<blasint>(ldc));
}

void product_f32(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
                 const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  openblas_set_num_threads(1);
  const BlasBuffer buffer;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), 1, a, static_cast<blasint>(lda), b,
              static_cast<blasint>(ldb), 0, c, static_cast<blasint>(ldc));
}

Status blas_self_test() {
  static const Status status = check_all();
  return status;
}

Status blas_f32_self_test() {
  static const Status status = check_f32();
  return status;
}

std::string blas_description() {
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_AFFINITY ..."
  const std::size_t end = config.find(' ', config.find(' ') + 1);
  return fmt::format("{} {}", config.substr(0, end), openblas_get_corename());
}

}  // namespace plumbline
