#!/usr/bin/env bash
# What a C++ project finds of an installed plumbline: find_package, the headers, the matcher, a test of CTest.
# Usage: cpp_package.sh BUILD SOURCE
set -u
build=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

check() { # check WHAT COMMAND...
  local output
  if output=$("${@:2}" 2>&1); then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED: %s\n%s\n' "$1" "$output"; fi
}

cmake --install "$build" --prefix "$work/installed" >install.log || { cat install.log; exit 1; }
mv installed moved # the package is where it is found, not where it was made
cp -r "$source/tests/cli/cpp_package" mine
cp "$source"/tests/triton/softmax_sm_80.* mine
check "the project is configured" cmake -S mine -B built -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror"
check "it is built" cmake --build built
cd mine || exit 1
check "its tests pass" env -u PLUMBLINE_PROGRAM -u PLUMBLINE_KERNELS ../built/gemm_test
cd ..
check "and so does the kernel of the manifest" ctest --test-dir built -R '^softmax$' --output-on-failure --no-tests=error
sed -i 's/softmax_sm_80.toml/none.toml/' mine/CMakeLists.txt
if cmake -S mine -B built >again.log 2>&1 || ! grep -q "there is no manifest" again.log; then
  failed=$((failed + 1))
  echo "FAILED: a manifest that is not there"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
