#!/usr/bin/env bash
# What `cmake --install` leaves runs from wherever it is moved to, on a machine without nvcc and without a variable that names
# its kernels. Usage: install.sh BUILD SOURCE
set -u
build=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

check() { # check WHAT COMMAND...
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1"; fi
}

cmake --install "$build" --prefix "$work/installed" >install.log || { cat install.log; exit 1; }
mv installed moved
mkdir bin
for tool in env; do ln -s "$(command -v $tool)" bin; done
cat >run <<RUN
#!/bin/sh
exec env -i PATH="$work/bin" HOME="$work" "$work/moved/bin/plumbline" "\$@"
RUN
chmod +x run
program=./run
for file in bin/plumbline share/plumbline/kernels/shipped/gemm_bf16/gemm_bf16.sm_80.ptx share/plumbline/kernels/device/epilogue.cuh \
  share/plumbline/kernels/mutants/G04.patch share/doc/plumbline/docs/reports.md share/doc/plumbline/docs/record.schema.json \
  share/doc/plumbline/LICENSE; do
  check "$file" test -s "moved/$file"
done
mkdir mine
cp "$source"/tests/triton/softmax_sm_80.* mine
expect 0 "verify: 1 passed" verify --kernel mine/softmax_sm_80.toml --profile quick --on emulator --no-corpus --only 'class=normal m<=8'
expect 0 "verify: 1 passed" verify softmax_bf16 --profile quick --on emulator --no-corpus --only 'class=normal m<=8'
for shipped in "$source"/kernels/shipped/*/; do
  check "$(basename "$shipped") is installed" test -s "moved/share/plumbline/kernels/shipped/$(basename "$shipped")/$(basename "$shipped").toml"
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
