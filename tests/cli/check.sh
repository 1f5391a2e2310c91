#!/usr/bin/env bash
# Outputs computed elsewhere: what the emulator gave passes, the same with one wrong bit does not, files written without
# plumbline (a GEMM in Python, as the manual shows) are judged, and unusable ones say why. Usage: check.sh PROGRAM SOURCE
set -u
program=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

# dump NAME CASE: NAME.safetensors, from the emulator.
dump() {
  "$program" replay "$2" --on emulator --sm 80 --tensors dumps >log 2>&1 || { echo "FAILED: replay $2"; cat log; failed=$((failed + 1)); }
  mv dumps/*.safetensors "$1.safetensors"
}
dump gemm "gemm_bf16 m=9 n=5 k=33 out=f32 layout=nt bias=column value=normal seed=0x1"
expect 0 "1 passed" check gemm.safetensors
dump attention "attention_bf16_forward heads=4 kv_heads=2 queries=17 keys=33 d=16 value=normal seed=0x1"
expect 0 "1 passed" check attention.safetensors
expect 0 "2 passed" check attention.safetensors gemm.safetensors
expect 0 "1 passed" check attention.safetensors --oracle mpfr
dump grouped "gemm_grouped_bf16 groups=3 m=9 n=5 k=33 value=normal seed=0x1"
dump mlp "swiglu_mlp_bf16 tokens=5 d=33 hidden=20 d_out=7 value=normal seed=0x1"
expect 0 "1 passed" check mlp.safetensors
expect 2 "the contract of gemm_bf16 is for sm_80, sm_90, not for sm_75" check gemm.safetensors --sm 75
expect 2 "how sm_110 adds is not known" check gemm.safetensors --sm 110
expect 2 "this problem needs" check gemm.safetensors --case "gemm_bf16 m=9 n=5 k=32 out=f32 layout=nt bias=column"
expect 2 'did you mean "gemm_bf16"' check gemm.safetensors --case "gemm_bf61 m=9 n=5 k=33"
echo "extern \"C\" __global__ void mine() {}" >mine.cu; echo "computes = \"gemm\"" >mine.toml
expect 2 "plumbline init mine.cu drafts a manifest" check mine.cu
expect 2 "plumbline verify --kernel mine.toml runs a kernel" check mine.toml
expect 2 "check needs a safetensors file" check

# The manual's manifest of a kernel that is not here, for what an order of additions of ours gave and for one with a wrong bit.
manual=$source/docs/check.md
sed -n '/^```toml$/,/^```$/p' "$manual" | grep -v '^```' >torch_matmul.toml
grep -q 'f"torch_matmul m=' "$manual" || { echo "FAILED: the manual's call has another name than its manifest"; failed=$((failed + 1)); }
dump plain "gemm_bf16 m=9 n=5 k=33 value=normal seed=0x1"
expect 0 "1 passed" check plain.safetensors --kernel torch_matmul.toml --case "torch_matmul m=9 n=5 k=33" --sm 90

python3 - <<'PYTHON' || { echo "FAILED: python"; failed=$((failed + 1)); }
import json, struct

def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), bytearray(data[8 + size:])

def write(path, header, data):
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + bytes(data))

header, data = read("gemm.safetensors")
good = bytes(data)
data[header["d"]["data_offsets"][0] + 6] ^= 0x40  # the second output is off by far
write("wrong.safetensors", header, data)
write("cut.safetensors", header, data[:-3])
named = dict(header, e=header["d"])
del named["d"]
write("named.safetensors", named, data)
write("silent.safetensors", {k: v for k, v in header.items() if k != "__metadata__"}, good)

header, data = read("plain.safetensors")
data[header["d"]["data_offsets"][0] + 3] ^= 0x40
write("plain_wrong.safetensors", header, data)

def write_without(name, tensor, path):
    header, data = read(name)
    begin, end = header.pop(tensor)["data_offsets"]
    for other in header:
        if other != "__metadata__" and header[other]["data_offsets"][0] >= end:
            header[other]["data_offsets"] = [x - (end - begin) for x in header[other]["data_offsets"]]
    write(path, header, data[:begin] + data[end:])

# LSE is often not at hand: what is there is judged. But y of an MLP is judged by h.
write_without("attention.safetensors", "lse", "no_lse.safetensors")
write_without("mlp.safetensors", "h", "no_h.safetensors")
write_without("mlp.safetensors", "y", "no_y.safetensors")

# Sizes of groups that are not those of the rows.
header, data = read("grouped.safetensors")
data[header["group_sizes"]["data_offsets"][0]] ^= 0x40
write("groups.safetensors", header, data)

# A GEMM of small integers in plain Python: a [2, 3] times b [3, 2] in bf16.
a, b = [[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [1, 1]]
d = [[float(sum(a[i][k] * b[k][j] for k in range(3))) for j in range(2)] for i in range(2)]
bf16 = lambda rows: b"".join(struct.pack("<f", x)[2:] for row in rows for x in row)
parts, offset, head = [("a", bf16(a), [2, 3]), ("b", bf16(b), [3, 2]), ("d", bf16(d), [2, 2])], 0, {}
for name, bits, shape in parts:
    head[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + len(bits)]}
    offset += len(bits)
head["__metadata__"] = {"case": "gemm_bf16 m=2 n=2 k=3", "sm": "90", "device": "plain Python"}
write("python.safetensors", head, b"".join(bits for _, bits, _ in parts))
PYTHON

expect 1 "d[0,1]" check wrong.safetensors
expect 1 "d[0,1]" check plain_wrong.safetensors --kernel torch_matmul.toml --case "torch_matmul m=9 n=5 k=33" --sm 90
expect 1 "plumbline replay" check wrong.safetensors --out again
# The saved inputs run on the emulator, which has no fault.
expect 0 "passed" replay again/latest/cases --on emulator
expect 2 "it may be cut off" check cut.safetensors
expect 2 'has no tensor "e"' check named.safetensors
expect 2 "it does not say which kernel" check silent.safetensors
expect 2 "on which chip" check silent.safetensors --case "gemm_bf16 m=9 n=5 k=33 out=f32 layout=nt bias=column"
expect 0 "1 passed" check silent.safetensors --case "gemm_bf16 m=9 n=5 k=33 out=f32 layout=nt bias=column" --sm 80
expect 2 "no_lse.safetensors: output lse is missing" check no_lse.safetensors
expect 0 "output lse is not in the dump and was not judged" check no_lse.safetensors --partial
expect 0 "output lse is not in 2 of 3 dumps" check no_lse.safetensors no_lse.safetensors attention.safetensors --partial
expect 2 "groups.safetensors: the group sizes add up to" check groups.safetensors
# The message is about the kernel that lacks the output, also where other dumps follow.
expect 0 "output lse is not in the dump and was not judged pass gemm_bf16" check no_lse.safetensors gemm.safetensors --partial
expect 2 "output h is missing: y is judged by it" check no_h.safetensors --partial
expect 0 "output y is not in the dump" check no_y.safetensors --partial
expect 0 "1 passed" check python.safetensors

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
