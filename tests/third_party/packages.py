# SPDX-License-Identifier: MIT
"""Brings the projects whose kernels tests/third_party compiles: packages.py FOLDER.

Each lands in FOLDER/<name>, at a pinned version with a pinned hash, and is left alone when it is there.
Exit code 1 and a line on stderr when one cannot be had, as without a network.
"""
import hashlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile

INDEX = "https://pypi.org/simple"
# Folder, project and version on PyPI, SHA-256 of its file, and how the names of what is taken of it begin.
PACKAGES = [
    ("nvidia_cutlass", "nvidia-cutlass", "4.2.0.0", "f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6", ""),
    ("flash_attn", "flash-attn", "2.8.3.post2", "d0f9f0b08a986cdeadbffcf5ec8b3a8f514366c68ad1853d3ab061bc83cc340b", ""),
    ("flashinfer", "flashinfer-python", "0.7.2.post1", "bfdc18b9e1e4d8d0730fe4343dc0e284cd0c160086de80f99888bc4867922d49",
     ("flashinfer/data/include/", "flashinfer/data/cccl/libcudacxx/include/")),
    ("vllm", "vllm", "0.9.2", "6b0d855ea8ba18d76364c9b82ea94bfcaa9c9e724055438b5733e4716ed104e1", ""),
]
# Folder, repository, commit.
REPOSITORIES = [
    ("deep_gemm", "https://github.com/deepseek-ai/DeepGEMM.git", "54e22612409371d6364144b69086735beb54e98b"),
    ("llm_c", "https://github.com/karpathy/llm.c.git", "f1e2ace651495b74ae22d45d1723443fd00ecd3a"),
    ("ggml", "https://github.com/ggml-org/ggml.git", "d99724f2b141fed9e1a9f402213506c081433465"),
    ("sage_attention", "https://github.com/thu-ml/SageAttention.git", "d1a57a546c3d395b1ffcbeecc66d81db76f3b4b5"),
    # Two whose tests drop_in.py changes.
    ("liger_kernel", "https://github.com/linkedin/Liger-Kernel.git", "ead96b618e5c67bddc6a6e9bcb99bfe6b5ab661c"),
    ("flash_linear_attention", "https://github.com/fla-org/flash-linear-attention.git", "bc3b101dcb713ddc5bd8924b66754eb68b5ccf89"),
    # Triton's own repository, with a second back end: its tutorials.
    ("triton", "https://github.com/triton-lang/Triton-to-tile-IR.git", "50ec1da08373023d0aa8469725c6b59dbd2da16e"),
]


def read(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def bring_package(folder, project, version, digest, part):
    # The index names every file with its hash (PEP 503).
    links = re.findall(r'href="([^"]+)#sha256=([0-9a-f]+)', read(f"{INDEX}/{project}/").decode())
    urls = [urllib.parse.urljoin(f"{INDEX}/{project}/", url) for url, sha256 in links if sha256 == digest]
    if not urls:
        raise ValueError(f"{project} {version} has no file with SHA-256 {digest} in {INDEX}")
    data = read(urls[0])
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"{urls[0]} is not what its hash says")
    if urls[0].endswith(".whl"):
        archive = zipfile.ZipFile(io.BytesIO(data))
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(part)])
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder)
        (inner,) = folder.iterdir()  # <project>-<version>
        for entry in list(inner.iterdir()):
            entry.rename(folder / entry.name)
        inner.rmdir()


def bring_repository(folder, url, commit):
    folder.mkdir(parents=True)
    for command in (["init", "-q"], ["fetch", "-q", "--depth", "1", url, commit], ["checkout", "-q", "FETCH_HEAD"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True, timeout=600)


def bring(target, bring_into, *source):
    if target.exists():
        return True
    unfinished = target.with_name(target.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        bring_into(unfinished, *source)
    except (OSError, ValueError, tarfile.TarError, zipfile.BadZipFile, subprocess.SubprocessError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        print(f"packages: {target.name} cannot be had: {error}", file=sys.stderr)
        return False
    unfinished.rename(target)
    return True


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: packages.py FOLDER")
    root = pathlib.Path(sys.argv[1])
    root.mkdir(parents=True, exist_ok=True)
    had = [bring(root / name, bring_package, *source) for name, *source in PACKAGES]
    had += [bring(root / name, bring_repository, *source) for name, *source in REPOSITORIES]
    sys.exit(0 if all(had) else 1)


main()
