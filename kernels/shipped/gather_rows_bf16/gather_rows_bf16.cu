// SPDX-License-Identifier: MIT
// gather_rows_bf16: row i of Y is row row[i] of a table, or zeros where row[i] is negative; one
// block of threads a row. The bits are copied: nothing is rounded.
#include "device/row_columns.cuh"

namespace rows {

__device__ __forceinline__ void gather_row(const Bf16* from, Bf16* to, Columns columns) {
  if (columns.whole()) {
    *reinterpret_cast<uint4*>(to + columns.first) =
        from ? *reinterpret_cast<const uint4*>(from + columns.first) : make_uint4(0, 0, 0, 0);
    return;
  }
  for_each_of(columns,
              [&](int j) { to[columns.first + j] = from ? from[columns.first + j] : Bf16{0}; });
}

}  // namespace rows

extern "C" __global__ void __launch_bounds__(rows::kThreads)
    gather_rows_bf16(const rows::Bf16* table, const int* row, rows::Bf16* y, long long t, int n,
                     long long ld_table, long long ldy) {
  const rows::Source source{table, ld_table};
  const rows::Target<rows::Bf16> target{y, ldy};
  const bool aligned = source.aligned() && target.aligned();
  for (long long i = blockIdx.x; i < t; i += gridDim.x) {
    const rows::Bf16* from = row[i] < 0 ? nullptr : source.row(row[i]);
    rows::for_each_columns(
        n, aligned, [&](rows::Columns columns) { rows::gather_row(from, target.row(i), columns); });
  }
}
