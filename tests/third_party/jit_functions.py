# SPDX-License-Identifier: MIT
"""The Triton kernels of a file that cannot be imported where there is no GPU or no PyTorch."""
import ast
import pathlib

import triton
import triton.language as tl


def jit_functions(path: pathlib.Path, **more) -> dict:
    """The @triton.jit functions of a file, as they stand. What tunes them is left out, and so is all that runs when it is imported;
    what they read of it beside triton and tl is in `more`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef)
                 and any(ast.unparse(decorator) == "triton.jit" for decorator in node.decorator_list)]
    for node in tree.body:
        node.decorator_list = [decorator for decorator in node.decorator_list if ast.unparse(decorator) == "triton.jit"]
    names = {"triton": triton, "tl": tl, "__file__": str(path), "__name__": path.stem.replace("-", "_")} | more
    exec(compile(tree, str(path), "exec"), names)
    return names
