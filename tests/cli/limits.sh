#!/usr/bin/env bash
# Limits on address space and processes end a run with a message, or slow it down; it never hangs. (OpenBLAS waits forever
# for memory, and interrupts the program where it gets no thread.) Usage: limits.sh PROGRAM
program=$1 patience=60
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
unset OPENBLAS_NUM_THREADS
run=(verify gemm_bf16 --profile quick --only class=normal --on emulator --sm 80 --no-corpus)

for kibibytes in 100000 250000 400000; do
  ulimit -S -v "$kibibytes"
  expect 3 "than is free" "${run[@]}" --out "out$kibibytes"
  ulimit -S -v unlimited
done
# Room for a few products at a time.
ulimit -S -v 1000000
expect 0 "1 passed" "${run[@]}" --out some -j 4
ulimit -S -v unlimited

# Root may start as many as it likes.
alone=()
if [ "$(id -u)" = 0 ]; then
  alone=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  chmod 777 . && "${alone[@]}" test -x "$program" || { echo "$passed passed, $failed failed"; exit "$failed"; }
fi
cat >few <<EOF
#!/bin/sh
exec ${alone[*]} prlimit --nproc=1 "$program" "\$@"
EOF
chmod +x few
[ "$(id -u)" = 0 ] && program=./few && expect 0 "1 passed" "${run[@]}" --out few_out

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
