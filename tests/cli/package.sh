#!/usr/bin/env bash
# The Debian package: it depends on the packages of every library that the program needs, and what is unpacked from it runs.
# Exits with 77 (skipped) where dpkg-shlibdeps is missing. Usage: package.sh BUILD SOURCE
set -u
build=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
command -v dpkg-shlibdeps dpkg-deb >/dev/null || { echo "skipped: dpkg-dev is not installed"; exit 77; }

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" >cpack.log 2>&1 || { cat cpack.log; exit 1; }
package=$(echo packages/plumbline_*.deb)
needs=$(dpkg-deb -f "$package" Depends)
for library in $(readelf -d "$build/bin/plumbline" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
  file=$(ldd "$build/bin/plumbline" | awk -v name="$library" '$1 == name { print $3 }')
  [ -n "$file" ] || continue # the loader
  owner=$(dpkg -S "$(realpath "$file")" "$file" 2>/dev/null | head -n 1 | cut -d: -f1)
  # Any package that provides the library will do: of OpenBLAS there are several.
  if [[ "$needs" == *"${owner%%-*}"* ]]; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAILED: $library is of $owner, and the package needs only: $needs"
  fi
done
dpkg-deb -x "$package" root
program=root/usr/bin/plumbline
mkdir mine
cp "$source"/tests/triton/softmax_sm_80.* mine
expect 0 "verify: 1 passed" verify --kernel mine/softmax_sm_80.toml --profile quick --on emulator --no-corpus --only 'class=normal m<=8'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
