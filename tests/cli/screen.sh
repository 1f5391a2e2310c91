#!/usr/bin/env bash
# What people see: one line a kernel at any width, help, versions, completions, doctor. Usage: screen.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

check() { # check WHAT COMMAND...
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1"; fi
}

# on_terminal WIDTH ARGUMENTS...: what the program prints on a terminal of that width; TERM and the like as they are.
on_terminal() {
  python3 - "$program" "$@" <<'PY'
import fcntl, os, pty, struct, sys, termios
program, width, *arguments = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, int(width), 0, 0))
    os.execv(program, [program, *arguments])
text = b""
try:
    while more := os.read(terminal, 65536):
        text += more
except OSError:
    pass
os.waitpid(child, 0)
sys.stdout.buffer.write(text.replace(b"\r\n", b"\n"))
PY
}
fits() { # fits WIDTH FILE: no line is longer, without colors and what a rewritten line showed before.
  sed -e 's/.*\r//' -e 's/\x1b\[[0-9;]*[mK]//g' "$2" | awk -v width="$1" 'length($0) > width { print "too long: " $0; bad = 1 } END { exit bad }'
}

run=(verify softmax_bf16 attention_bf16_forward --profile quick --on emulator --sm 80 --no-corpus --only 'class=normal')
for width in 60 80 120; do
  TERM=xterm on_terminal $width "${run[@]}" --out out$width >at$width
  check "$width columns" fits $width at$width
  check "$width columns: a line a kernel" test "$(sed -e 's/.*\r//' -e 's/\x1b\[[0-9;]*[mK]//g' at$width | grep -cE '^  +(pass|[a-z])')" = 2
  check "$width columns: progress" grep -q $'\r.*cases, ' at$width
done
"$program" "${run[@]}" --out none >no_terminal
check "no terminal: no escape" bash -c "! grep -q $'\x1b' no_terminal"
# (And a line of progress each half minute.)
check "no terminal: header, two kernels, a blank, the closing line, the report" test "$(grep -vc "cases, " no_terminal)" = 6
check "the closing line has the time" grep -qE '^verify: 2 passed, 0 failed, 0 skipped in [0-9.]+ (s|min)' no_terminal
check "the line has the outputs" grep -qE '^  pass  softmax_bf16 .* cases .* outputs compared' no_terminal
TERM=dumb on_terminal 80 "${run[@]}" --out dumb >dumb_terminal
check "a dumb terminal: no escape, nothing rewritten" bash -c "! grep -qP '\x1b|\r' dumb_terminal"
NO_COLOR=1 TERM=xterm on_terminal 80 "${run[@]}" --out plain >plain_terminal
check "NO_COLOR: no color" bash -c "! grep -qP '\x1b\[[0-9]*m' plain_terminal"
"$program" "${run[@]}" --out out_verbose -v >verbose
for words in "bounded, " "undecided, referee" "the wall time of each added up"; do
  check "-v tells: $words" grep -q "$words" verbose
  check "else not: $words" bash -c "! grep -q '$words' no_terminal"
done

# Help.
for verb in list init verify fuzz replay explain check judge propagate mutants perf scan report compare accept doctor completion; do
  check "help $verb" cmp <("$program" help $verb) <("$program" $verb --help)
  check "$verb has examples" grep -q "^  .*plumbline $verb" <("$program" help $verb | sed -n '/^Examples/,$p')
done
check "help of all" cmp <("$program" help) <("$program" --help)
for width in 60 80 120; do
  TERM=xterm on_terminal $width verify --help >help$width
  check "help at $width" fits $width help$width
done
check "groups" test "$(grep -cE '^(What to run|Where|Judging|When something fails|Output|Examples)$' help80)" = 6
expect 2 'no verb "verfy"' help verfy

# Versions.
for words in '^plumbline [0-9.]* ([0-9a-f]' '^compiler   ' '^kernels    built with CUDA release ' '^libraries  MPFR [0-9.]*, GMP [0-9.]*$' '^processor  '; do
  check "--version: $words" grep -q "$words" <("$program" --version)
done

# Completion in bash, as a person's shell has it.
complete_words() { # complete_words WORD...: the last one is to be completed.
  bash --norc -c 'set -u
    eval "$("$0" completion bash)"
    COMP_WORDS=("$0" "$@") COMP_CWORD=$#
    _plumbline
    echo "${COMPREPLY[*]-}"' "$program" "$@"
}
completes() { # completes WANTED WORD...
  local wanted=$1 got
  shift
  got=$(complete_words "$@")
  [ "$got" = "$wanted" ] || { echo "  $*: wanted \"$wanted\", got \"$got\""; return 1; }
}
check "verbs" completes "verify" ver
check "verbs behind help" completes "propagate" help pro
check "a flag" completes "--failed --fail-fast" verify --fa
check "values of a flag" completes "emulator" verify --on em
check "values a verb has" completes "human line" report --format ""
check "profiles behind others" completes "quick" verify gemm_bf16 --profile q
check "kernels" completes "gemm_nvfp4 gemm_nvfp4_tcgen05" verify gemm_nv
check "shells" completes "zsh" completion z
check "what there is" completes "classes" list cl
mkdir -p dumps && touch dumps/a.safetensors
check "files" completes "dumps/a.safetensors" check dumps/a
for shell in zsh fish; do
  command -v $shell >/dev/null || continue
  "$program" completion $shell >script.$shell
  check "$shell reads it" $shell -n script.$shell
done
expect 2 "one of bash, zsh, fish" completion tcsh

# Doctor: troubles first; a line a chip.
"$program" doctor >healthy
check "a line a chip" test "$(grep -cE '^  ok    sm_[0-9]+ +[0-9]+ kernels pass on emulator' healthy)" -ge 2
check "short" test "$(wc -l <healthy)" -le 12
cp -r "$kernels" sick
sed -i 's/f32\.bf16\.bf16\.f32/f32.f16.f16.f32/' sick/shipped/gemm_bf16/gemm_bf16.sm_80.ptx
PLUMBLINE_KERNELS=$PWD/sick "$program" doctor >ill
check "exit of a sick one" test "$(PLUMBLINE_KERNELS=$PWD/sick "$program" doctor >/dev/null; echo $?)" = 3
check "it comes first" grep -q "^  FAIL  sm_80 *gemm_bf16: " <(head -1 ill)
check "with what to do" grep -q "plumbline verify gemm_bf16 --sm 80 -x" <(tr -s ' \n' ' ' <ill)

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
