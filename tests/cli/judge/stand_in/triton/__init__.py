# SPDX-License-Identifier: MIT
"""Stands in for Triton where a test has none: what it "compiles" is PTX beside this file, which Triton made of a kernel so called."""
import inspect
import pathlib
import types

from . import compiler, language  # noqa: F401


class _Kernel:
    def __init__(self, function):
        self.fn, self.__name__ = function, function.__name__
        self.params = [
            types.SimpleNamespace(
                name=one.name,
                is_constexpr=one.annotation is language.constexpr,
                has_default=one.default is not one.empty,
                default=one.default,
            )
            for one in inspect.signature(function).parameters.values()
        ]
        self.arg_names = [param.name for param in self.params]


def jit(function):
    return _Kernel(function)


def compile(source, target, options):
    ptx = pathlib.Path(__file__).with_name(f"{source.kernel.__name__}.ptx").read_text()
    return types.SimpleNamespace(asm={"ptx": ptx}, metadata=types.SimpleNamespace(num_warps=options["num_warps"], shared=16))
