#!/usr/bin/env bash
# plumbline judge as the owner of a benchmark runs it: right submissions conform, and what has fooled checkers elsewhere does not.
# Usage: judge.sh PROGRAM SOURCE
set -u
program=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
cp "$source"/tests/cli/judge/*.* "$source/kernels/shipped/silu_and_mul_bf16/silu_and_mul.op" .
"$program" judge silu_and_mul.cu --task task.toml >first.txt 2>&1
grep -q "bwrap\|the sandbox cannot start" first.txt && { echo "skipped: $(cat first.txt)"; exit 77; }
mkdir tmp
export TMPDIR=$work/tmp

# submission NAME SED_SCRIPT: the right answer, changed.
submission() {
  sed -E -e "$2" silu_and_mul.cu >"$1.cu"
  cmp -s "$1.cu" silu_and_mul.cu && { echo "FAILED: $1 is the right answer"; failed=$((failed + 1)); }
}
judge() { expect "$1" "$2" judge "$3" --task task.toml "${@:4}"; }

# Right ones, with any seed.
judge 0 "silu_and_mul.cu conforms" silu_and_mul.cu
submission precise 's/__expf\(-g\)/expf(-g)/'
judge 0 "conforms" precise.cu --seed 7
judge 0 '"verdict":"conforms"' silu_and_mul.cu --format json --sm 90

# Answers that are none.
submission zeros 's/to<T>\(.*\)/to<T>(0.0f)/'
judge 1 "broken" zeros.cu
submission constant 's/to<T>\(.*\)/to<T>(0.25f)/'
judge 1 "broken" constant.cu
submission copied 's/to<T>\(.*\)/to<T>(g)/'
judge 1 "broken" copied.cu
# Lower precision than is asked for.
submission bf16 's/to<T>\(.*\)/to<T>(__bfloat162float(__float2bfloat16_rn(g \/ (1.0f + __expf(-g)))) * u)/'
judge 1 "broken" bf16.cu
# The first call's answer, kept for every later one.
submission cached '0,/^template/s/^template/__device__ float kept[1 << 16]; __device__ int calls;\n&/; s/y\[i \* ldy \+ j\] = to<T>\((.*)\);/{ float v = calls ? kept[(i * n + j) \& 65535] : \1; kept[(i * n + j) \& 65535] = v; y[i * ldy + j] = to<T>(v); if (i == m - 1 \&\& j == n - 1) calls = 1; }/'
judge 1 "broken" cached.cu
# Work that is left out once it is timed: after so many calls, which no judge makes. What keeps count of its calls is not trusted.
submission timed '0,/^template/s/^template/__device__ int calls;\n&/; s/y\[i \* ldy \+ j\] = (.*);/if (atomicAdd(\&calls, 0) < 100) y[i * ldy + j] = \1; if (i == m - 1 \&\& j == n - 1) atomicAdd(\&calls, 1);/'
judge 5 "mistrusted" timed.cu
# A count that is 0 again at the end is none.
submission reset '0,/^template/s/^template/__device__ int calls;\n&/; s/y\[i \* ldy \+ j\] = (.*);/y[i * ldy + j] = \1; if (i == m - 1 \&\& j == n - 1) { calls = 1; calls = 0; }/'
judge 0 "conforms" reset.cu
# Right for one shape, or without padding between rows.
submission shape 's/j < n;/j < 1024 \&\& j < n;/'
judge 1 "broken" shape.cu
submission contiguous 's/x\[i \* ldx/x[2 * i * n/g'
judge 1 "broken" contiguous.cu
# What a former kernel left in memory.
submission left 's/y\[i \* ldy \+ j\] = (.*);/if (j != n - 1) y[i * ldy + j] = \1;/'
judge 1 "never" left.cu
# Reads and loops that a GPU may not show.
submission beyond 's/x\[i \* ldx \+ n \+ j\]/x[i * ldx + n + j + (i == m - 1)]/'
judge 1 "broken" beyond.cu
submission endless 's/to<T>\(.*\)/to<T>([\&] { volatile float s = 0; while (s >= 0) s = s + g * g; return s; }())/'
judge 1 "broken" endless.cu --sm 80

# Triton kernels. Its compiler is stood in for, and gives what Triton made of tests/triton/softmax.py.
python3 -m venv --without-pip env
site=$(echo env/lib/python3*/site-packages)
cp -r "$source/tests/cli/judge/stand_in/triton" "$site"
cp "$source/tests/triton/softmax_sm_80.ptx" "$site/triton/softmax.ptx"
sed 's/max.f32/min.f32/' "$site/triton/softmax.ptx" >"$site/triton/least.ptx"
cmp -s "$site/triton/least.ptx" "$site/triton/softmax.ptx" && { echo "FAILED: the wrong softmax is the right one"; failed=$((failed + 1)); }
export PLUMBLINE_PYTHON=$PWD/env/bin/python
# triton EXIT TEXT SED_SCRIPT: the submission, changed.
triton() {
  sed -E "$3" softmax.py >changed.py
  expect "$1" "$2" judge changed.py --task softmax.toml
}
expect 0 "softmax.py conforms" judge softmax.py --task softmax.toml
triton 1 "broken" 's/^def softmax/def least/'
triton 1 "broken" 's/grid="m"/grid="m - 1"/'
# What a submission says of the task is not believed.
triton 1 "broken" 's/^def softmax/def least/; s/grid="m"/grid="m", require=["n == 1"], contract={"normalize": "quotient"}/'
triton 3 "it has no launch for sm_80" '$ a import atexit, json, pathlib; atexit.register(lambda: pathlib.Path("launches.json").write_text("[]"))'
triton 3 "it names a file elsewhere" '$ a import atexit, json, pathlib; atexit.register(lambda: pathlib.Path("launches.json").write_text(json.dumps([{"ptx": "/etc/passwd.ptx"}])))'
# Checks that a submission patches are those of its own process: what is judged is its PTX.
triton 1 "broken" 's/^def softmax/def least/; $ a import plumbline.submission, plumbline.verification; plumbline.verification.verify = lambda *a, **b: None; plumbline.submission.grid_of = lambda *a: ["m"]'
triton 3 "it has no launch for sm_80" '$ a import json, plumbline.submission; plumbline.submission.launches = lambda *a: []; json.dumps = lambda *a, **b: "[]"'
triton 3 "does not run: URLError" '$ a import urllib.request; urllib.request.urlopen("http://127.0.0.1:1")'
triton 3 "has no kernel under @plumbline.triton.computes" '/computes/d'
triton 3 "no argument 'WIDE'" 's/"WIDTH"/"WIDE"/'
sed '$ a while True: pass' softmax.py >endless.py
expect 3 "out of time: the time was over while it was compiled" judge endless.py --task softmax.toml --for 4s
# A name of a submission is not imported outside of the sandbox.
cp softmax.py triton.py
echo 'open("outside", "w")' >>triton.py
expect 0 "triton.py conforms" judge triton.py --task softmax.toml
[ ! -e outside ] || { echo "FAILED: a submission ran outside of the sandbox"; failed=$((failed + 1)); }
PLUMBLINE_PYTHON=/bin/false expect 3 "has no Triton, which compiles .py" judge softmax.py --task softmax.toml
unset PLUMBLINE_PYTHON

# What harms the judge.
echo '#include "/etc/passwd"' | cat - silu_and_mul.cu >thief.cu
judge 3 "/etc/passwd: No such file or directory" thief.cu
echo 'template <int N> struct Bomb { Bomb<N + 1> a; Bomb<N + 2> b; }; Bomb<0> bomb;' | cat - silu_and_mul.cu >bomb.cu
judge 3 "does not compile" bomb.cu
submission renamed 's/silu_and_mul_f32/other/'
judge 3 "cannot be run: submission.sm_80.ptx: there is no entry" renamed.cu
judge 2 "the task has no sm_100" silu_and_mul.cu --sm 100
printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry silu_and_mul_bf16() { ret; }\n' >none.ptx
judge 3 "cannot be run" none.ptx
[ -z "$(ls "$TMPDIR")" ] || { echo "FAILED: work folders are left"; failed=$((failed + 1)); }

# What the judge reads and who it belongs to is no business of a submission.
echo '#include "/dev/stdin"' | cat - silu_and_mul.cu >eater.cu
read=$(printf 'first\nsecond\n' | { "$program" judge eater.cu --task task.toml >eaten.txt 2>&1; cat; })
[ "$read" = "$(printf 'first\nsecond\n')" ] || { echo "FAILED: a submission reads the judge's input"; failed=$((failed + 1)); }
ln -s /proc/self/environ link.ptx
judge 2 "a regular file" link.ptx
mkfifo pipe.cu
judge 2 "a regular file" pipe.cu
judge 0 "conforms" silu_and_mul.cu --no-sandbox
# A division that ptxas does not take, in PTX that is right but for it.
mkdir compiled && cp silu_and_mul.op compiled && cp silu_and_mul.cu compiled/submission.cu && cp task.toml compiled/submission.toml
"$program" verify --kernel compiled/submission.toml --list-cases >/dev/null
cp compiled/submission.sm_80.ptx right.ptx
judge 0 "conforms" right.ptx
sed 's/div.rn.f32/div.f32/' right.ptx >rounding.ptx
judge 3 "does not say how it rounds" rounding.ptx
# Ctrl-C ends all of it at once.
"$program" judge silu_and_mul.cu --task task.toml --profile deep --for 10m >interrupted.txt 2>&1 &
pid=$!
sleep 4
kill -INT $pid
begin=$SECONDS
wait $pid
[ $? = 130 ] && [ $((SECONDS - begin)) -lt 60 ] || { echo "FAILED: Ctrl-C"; cat interrupted.txt; failed=$((failed + 1)); }
expect 1 "broken: zeros.cu: " judge zeros.cu --task task.toml --format line
# As PTX, since a busy machine may take the whole time to compile it; and with more time where no case came to its end.
for limit in 15s 60s 240s; do
  over=$("$program" judge right.ptx --task task.toml --for $limit --profile deep 2>&1; echo "exit $?")
  [[ $over == *"before its first case ended"* ]] || break
done
[[ $(echo "$over" | tr -s ' \n' ' ') == *"out of time: the time was over after"*"exit 3"* ]] ||
  { echo "FAILED: out of time: $over"; failed=$((failed + 1)); }

# The owner's own mistakes.
expect 2 "one submission and its task are needed" judge zeros.cu
expect 2 "none.toml" judge zeros.cu --task none.toml
expect 2 "a submission is a CUDA source, PTX, or a Triton kernel" judge task.toml --task task.toml
sed 's/computes.*/computes = "gem"/' task.toml >wrong.toml
expect 2 "gem" judge zeros.cu --task wrong.toml
expect 2 "wrong.toml:2" judge zeros.cu --task wrong.toml
mkdir elsewhere && cp silu_and_mul.op elsewhere
sed 's,computes.*,computes = "elsewhere/silu_and_mul.op",' task.toml >far.toml
expect 2 "lies beside its manifest" judge zeros.cu --task far.toml
sed "s/^source .*/  'source' = 'any name.cu' # a comment/" task.toml >quoted.toml
expect 0 "conforms" judge silu_and_mul.cu --task quoted.toml

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
