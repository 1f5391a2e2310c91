# SPDX-License-Identifier: MIT
# For the shell tests: a copy of gemm_bf16 whose every warp counts to two million before it ends: about half a second for each
# thread block on the emulator. Usage: slow_kernel KERNEL_FOLDER NAME, makes NAME/NAME.toml.
slow_kernel() {
  mkdir "$2"
  sed -e 's/^source.*/ptx = "'"$2"'.ptx"/' -e 's/^targets.*/targets = [80]/' "$1"/shipped/gemm_bf16/gemm_bf16.toml >"$2/$2.toml"
  awk '/^\tret;/ {
    print "\t{\n\t.reg .b32 %left;\n\t.reg .pred %more;\n\tmov.u32 %left, 2000000;\n$wait:"
    print "\tsub.u32 %left, %left, 1;\n\tsetp.ne.u32 %more, %left, 0;\n\t@%more bra $wait;\n\t}"
  } { print }' "$1"/shipped/gemm_bf16/gemm_bf16.sm_80.ptx >"$2/$2.ptx"
}
