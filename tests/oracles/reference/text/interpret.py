#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random operation texts, evaluated by an interpreter of its own over mpmath: interpret.py SAMPLES COUNT [FIRST].

SAMPLES prints texts, inputs and exact values. The grammar here was written from docs/operation_texts.md, and shares
nothing with the C++ parser and evaluator. Elements that depend on the sign of a zero, on numbers beyond
any exponent, or on the sine of an angle beyond 2^50, are left out and counted. Exit code 1: some value differs; 77: mpmath is missing.
"""
import json
import math
import re
import subprocess
import sys

try:
    import mpmath
    from mpmath import inf, mpf, nan
except ImportError:
    print("skipped: mpmath is not installed")
    sys.exit(77)

TOKEN = re.compile(r"\s*(\d+\.\d+|\d+|[A-Za-z_]\w*|//|<=|>=|==|!=|[-+*/%^()\[\],<>])")
FORMATS = {"bf16": (8, -126, 128), "f16": (11, -14, 16), "f32": (24, -126, 128)}  # digits, exponents


class Unknown(Exception):
    """This interpreter cannot tell: the sign of a zero, a number beyond any exponent, what is nearly a tie."""


def rounded(x, name):
    digits, least, most = FORMATS[name]
    if mpmath.isnan(x) or mpmath.isinf(x) or x == 0:
        return x
    exponent = max(mpmath.frexp(x)[1] - 1, least) - digits + 1
    scaled = mpmath.ldexp(x, -exponent)
    whole = mpmath.floor(scaled)
    rest = scaled - whole
    if rest != 0.5 and abs(rest - 0.5) < mpf(2) ** -100:
        raise Unknown
    if rest > 0.5 or (rest == 0.5 and int(whole) % 2 == 1):
        whole += 1
    out = mpmath.ldexp(whole, exponent)
    if abs(out) >= mpmath.ldexp(mpf(1), most):
        return mpmath.sign(x) * inf
    if out == 0:
        raise Unknown
    return out


def divided(a, b):
    if b == 0:
        raise Unknown
    if mpmath.isinf(a) and mpmath.isinf(b):
        return nan
    return a / b


def exponential(x):
    if mpmath.isinf(x) or mpmath.isnan(x):
        return mpf(0) if x == -inf else x
    if abs(x) > 7e8:  # MPFR's exponents have 31 bits
        raise Unknown
    return mpmath.exp(x)


def logarithm(x):
    if mpmath.isnan(x) or x < 0:
        return nan
    return -inf if x == 0 else mpmath.log(x)


def root(x):
    return nan if mpmath.isnan(x) or x < 0 else mpmath.sqrt(x)


def turned(function):
    def of(x):
        if mpmath.isnan(x) or mpmath.isinf(x):
            return nan
        if abs(x) > mpf(2) ** 50:  # the constants of gelu have 106 bits
            raise Unknown
        return function(x)
    return of


def limited(function):
    """tanh and erf, which are at their ends from afar."""
    return lambda x: x if mpmath.isnan(x) else mpmath.sign(x) if abs(x) > 1000 else function(x)


def times(a, b):
    return nan if (a == 0 and mpmath.isinf(b)) or (b == 0 and mpmath.isinf(a)) else a * b


FUNCTIONS = {
    "exp": exponential,
    "exp2": lambda x: exponential(times(x, mpmath.log(2))),
    "log": logarithm,
    "log2": lambda x: logarithm(x) / mpmath.log(2),
    "sqrt": root,
    "rsqrt": lambda x: divided(mpf(1), root(x)),
    "tanh": limited(mpmath.tanh),
    "erf": limited(mpmath.erf),
    "sin": turned(mpmath.sin),
    "cos": turned(mpmath.cos),
    "abs": abs,
    "logb": lambda x: -mpf("inf") if x == 0 else abs(x) if mpmath.isinf(x) or mpmath.isnan(x) else mpf(mpmath.frexp(x)[1] - 1),
    "sigmoid": lambda x: divided(mpf(1), 1 + exponential(-x)),
    "silu": lambda x: divided(x, 1 + exponential(-x)),
    "gelu": lambda x: times(x, (1 + limited(mpmath.erf)(x / mpmath.sqrt(2))) / 2),
    **{name: (lambda name: lambda x: rounded(x, name))(name) for name in FORMATS},
}


def larger(a, b):
    """NaN loses."""
    return b if mpmath.isnan(a) else a if mpmath.isnan(b) else max(a, b)


class Expression:
    """A recursive-descent parser that makes functions of an environment."""

    def __init__(self, text):
        self.tokens, at = [], 0
        text = text.strip()
        while at < len(text):
            match = TOKEN.match(text, at)
            self.tokens.append(match.group(1))
            at = match.end()
        self.at = 0
        self.value = self.alternative()
        assert self.at == len(self.tokens), self.tokens[self.at:]

    def sees(self, *words):
        return self.at < len(self.tokens) and self.tokens[self.at] in words

    def take(self, *words):
        token = self.tokens[self.at]
        assert not words or token in words, (token, words)
        self.at += 1
        return token

    def alternative(self):
        a = self.both()
        while self.sees("or"):
            self.take()
            a = (lambda a, b: lambda env: a(env) or b(env))(a, self.both())
        return a

    def both(self):
        a = self.negation()
        while self.sees("and"):
            self.take()
            a = (lambda a, b: lambda env: a(env) and b(env))(a, self.negation())
        return a

    def negation(self):
        if self.sees("not"):
            self.take()
            a = self.negation()
            return lambda env: not a(env)
        a = self.sum()
        if not self.sees("<", "<=", ">", ">=", "==", "!="):
            return a
        word, b = self.take(), self.sum()
        return lambda env: {"<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y,
                            ">=": lambda x, y: x >= y, "==": lambda x, y: x == y,
                            "!=": lambda x, y: not x == y}[word](a(env), b(env))

    def sum(self):
        a = self.term()
        while self.sees("+", "-"):
            sign = 1 if self.take() == "+" else -1
            a = (lambda a, b, sign: lambda env: a(env) + sign * b(env))(a, self.term(), sign)
        return a

    def term(self):
        a = self.signed()
        while self.sees("*", "/"):
            operation = times if self.take() == "*" else divided
            a = (lambda a, b, operation: lambda env: operation(mpf(a(env)), mpf(b(env))))(a, self.signed(), operation)
        return a

    def signed(self):
        if self.sees("-"):
            self.take()
            a = self.signed()
            return lambda env: -a(env)
        a = self.primary()
        if self.sees("^"):
            self.take()
            self.take("2")
            return lambda env: a(env) * a(env)
        return a

    def primary(self):
        token = self.take()
        if token == "(":
            inner = self.alternative()
            self.take(")")
            return inner
        if token[0].isdigit():
            value = mpf(float(token)) if "." in token else int(token)
            return lambda env: value
        if token in ("sum", "max", "min") and self.sees("["):
            return self.reduction(token)
        if self.sees("["):
            subscripts = self.list("[", "]")
            return lambda env: env[token](*[one(env) for one in subscripts])
        if self.sees("("):
            of = self.list("(", ")")
            if token == "where":
                return lambda env: of[1](env) if of[0](env) else of[2](env)
            if token == "max":
                return lambda env: larger(*[mpf(one(env)) for one in of])
            if token == "min":
                return lambda env: -larger(*[-mpf(one(env)) for one in of])
            return lambda env: FUNCTIONS[token](mpf(of[0](env)))
        return lambda env: env[token]

    def list(self, opening, closing):
        self.take(opening)
        items = [self.alternative()]
        while self.sees(","):
            self.take()
            items.append(self.alternative())
        self.take(closing)
        return items

    def reduction(self, kind):
        self.take("[")
        index = self.take()
        self.take("<")
        end = self.sum()
        condition = None
        if self.sees("if"):
            self.take()
            condition = self.alternative()
        self.take("]")
        body = self.signed()

        def value(env):
            out = {"sum": mpf(0), "max": -inf, "min": inf}[kind]
            for i in range(end(env)):
                inner = {**env, index: i}
                if condition and not condition(inner):
                    continue
                one = mpf(body(inner))
                out = out + one if kind == "sum" else larger(out, one) if kind == "max" else -larger(-out, -one)
            return out
        return value


def outputs(sample):
    """None of those for which 256 bits are not enough, as where terms cancel."""
    with mpmath.workprec(256):
        few = list(outputs_once(sample))
    with mpmath.workprec(640):
        many = list(outputs_once(sample))
    for a, b in zip(few, many, strict=True):
        if a is None or b is None:
            yield None
        elif mpmath.isfinite(a) and mpmath.isfinite(b):
            yield b if abs(a - b) <= abs(b) * mpf(2) ** -60 else None
        else:
            yield b if a == b or (mpmath.isnan(a) and mpmath.isnan(b)) else None


def outputs_once(sample):
    m, n = 2, sample["n"]
    x, a, v = [[mpf(float.fromhex(one)) if one != "nan" else nan for one in values] for values in sample["inputs"]]
    env = {"m": m, "n": n, "s": mpf(0.75), "v": lambda j: v[j],
           "x": lambda i, j: x[i * n + j], "a": lambda i, j: a[i * n + j]}
    for line in sample["text"].split("\n")[1:-1]:
        left, right = line.split(" = ", 1)
        name, indices = re.fullmatch(r"\s*(\w+)\[([^\]]*)\]", left).groups()
        value = Expression(re.split(r" for i < m", right)[0]).value
        keys, kept = indices.split(", "), {}

        def step(*at, value=value, keys=keys, kept=kept):
            if at not in kept:
                kept[at] = mpf(value({**env, **dict(zip(keys, at))}))
            return kept[at]
        env[name] = step
    for i in range(m):
        for j in range(n):
            try:
                yield env["y"](i, j)
            except (Unknown, OverflowError):
                yield None


def agrees(ours, theirs):
    if math.isnan(theirs) or mpmath.isnan(ours):
        return math.isnan(theirs) and bool(mpmath.isnan(ours))
    if math.isinf(theirs):
        return abs(ours) > 1e308 and (ours > 0) == (theirs > 0)
    return abs(ours - mpf(theirs)) <= abs(ours) * mpf(2) ** -50 + mpf(2) ** -1070


def main():
    samples, count, first = (sys.argv[1:] + ["0"])[:3]
    compared = unknown = 0
    lines = subprocess.run([samples, first, count], check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        sample = json.loads(line)
        for i, (ours, theirs) in enumerate(zip(outputs(sample), sample["y"], strict=True)):
            theirs = float(theirs) if theirs == "nan" else float.fromhex(theirs)
            if ours is None:
                unknown += 1
            elif not agrees(ours, theirs):
                print(f"seed {sample['seed']} element {i}: {mpmath.nstr(ours, 20)}, not {theirs!r}\n{sample['text']}")
                sys.exit(1)
            else:
                compared += 1
    print(f"{len(lines)} texts, {compared} values agree, {unknown} left out")
    sys.exit(0 if len(lines) == int(count) and compared > 4 * unknown else 1)


main()
