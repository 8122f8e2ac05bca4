#!/usr/bin/env python3
"""Coefficients of relay/codegen/llvm/math_tables.h: scripts/minimax.py > math_tables.h (needs mpmath).

Each approximation minimises the largest relative error (Remez). Coefficients that single precision evaluates are rounded to
it one after the other, lowest power first, the rest fitted anew each time.
"""

import struct
import sys

from mpmath import mp, mpf, matrix, lu_solve, log, exp, sqrt, sin, cos, tanh, erf, atan, asin, sinh, pi, inf

mp.dps = 60


def to_float(x):
    return mpf(struct.unpack("<f", struct.pack("<f", float(x)))[0])


def to_double(x):
    return mpf(float(x))


def nodes(low, high, count):
    """Chebyshev points."""
    return [(low + high) / 2 - (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def extrema(error, low, high, grid, count):
    """The alternating largest points of an error function, `count` of them if there are as many."""
    points = [low + (high - low) * (1 - cos(pi * i / grid)) / 2 for i in range(grid + 1)]
    values = [error(x) for x in points]
    runs = []  # best of each run of one sign
    for x, v in zip(points, values):
        if runs and (v >= 0) == (runs[-1][1] >= 0):
            if abs(v) > abs(runs[-1][1]):
                runs[-1] = (x, v)
        else:
            runs.append((x, v))
    while len(runs) > count:  # drop the smaller end
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    return runs


def fit(target, powers, low, high, fixed=(), grid=1000, scale=None, rounds=12):
    """Coefficients c of Σ c_k x^powers[k] + Σ fixed for least |error| · weight, weight = 1 / scale(x)."""
    low, high = mpf(low), mpf(high)
    scale = scale or target
    rest = lambda x: target(x) - sum(c * x**k for k, c in fixed)
    n = len(powers)
    xs = nodes(low, high, n + 1)
    coefficients = None
    for _ in range(rounds):
        a = matrix(n + 1, n + 1)
        b = matrix(n + 1, 1)
        for i, x in enumerate(xs):
            for j, k in enumerate(powers):
                a[i, j] = x**k
            a[i, n] = (-1) ** i * scale(x)
            b[i] = rest(x)
        solution = lu_solve(a, b)
        coefficients = [solution[j] for j in range(n)]
        error = lambda x: (sum(c * x**k for c, k in zip(coefficients, powers)) - rest(x)) / scale(x)
        runs = extrema(error, low, high, grid, n + 1)
        worst = max(abs(v) for _, v in runs)
        if len(runs) < n + 1 or worst < abs(solution[n]) * mpf("1.01"):
            break
        xs = [x for x, _ in runs]
    return coefficients, worst


def rounded_fit(target, powers, low, high, rounding, fixed=(), **options):
    fixed = list(fixed)
    powers = list(powers)
    result = []
    while powers:
        coefficients, worst = fit(target, powers, low, high, fixed, **options)
        first = rounding(coefficients[0])
        result.append(first)
        fixed.append((powers.pop(0), first))
    error = lambda x: (sum(c * x**k for k, c in fixed) - target(x)) / (options.get("scale") or target)(x)
    worst = max(abs(v) for _, v in extrema(error, mpf(low), mpf(high), 2000, 10**6))
    return result, worst


def rational(target, n, m, high, grid=240, rounds=80):
    """Numerator (degree n) and denominator (degree m, constant term 1) in x² of least relative error for x up to `high`.

    Weighted least squares with the denominator before as a weight; weights grow where the error is large (Lawson).
    """
    high = mpf(high)
    xs = [high * (1 - cos(pi * (i + mpf("0.5")) / grid)) / 2 for i in range(grid)]
    us = [x * x / high**2 for x in xs]  # scaled, for the conditioning
    fs = [target(x) for x in xs]
    weights = [mpf(1) / grid] * grid
    q = [mpf(1)] * grid
    best = None
    for _ in range(rounds):
        size = n + 1 + m
        a, b = matrix(size, size), matrix(size, 1)
        for u, f, w, d in zip(us, fs, weights, q):
            power = [u**k for k in range(max(n, m) + 1)]
            row = [power[k] / (f * d) for k in range(n + 1)] + [-power[k] / d for k in range(1, m + 1)]
            right = 1 / d
            for i in range(size):
                wi = w * row[i]
                for j in range(i + 1):
                    a[i, j] += wi * row[j]
                b[i] += wi * right
        for i in range(size):
            for j in range(i):
                a[j, i] = a[i, j]
        c = lu_solve(a, b)
        p = [c[i] for i in range(n + 1)]
        r = [mpf(1)] + [c[n + i] for i in range(1, m + 1)]
        q = [sum(k * u**i for i, k in enumerate(r)) for u in us]
        errors = [abs(sum(k * u**i for i, k in enumerate(p)) / d / f - 1) for u, f, d in zip(us, fs, q)]
        worst = max(errors)
        if best is None or worst < best[2]:
            best = (p, r, worst)
        weights = [w * (e + worst * mpf("1e-3")) for w, e in zip(weights, errors)]
        total = sum(weights)
        weights = [w / total for w in weights]
    p, r, worst = best
    return [c / high ** (2 * i) for i, c in enumerate(p)], [c / high ** (2 * i) for i, c in enumerate(r)], worst


def show(name, coefficients, worst, note=""):
    print(f"// 2^{float(log(worst) / log(2)):.1f}{note}")
    print(f"inline constexpr double {name}[] = {{{', '.join(repr(float(c)) for c in coefficients)}}};")


def log1p_over(x):
    return log(1 + x) / x if x != 0 else mpf(1)


def main():
    half_ln2 = log(mpf(2)) / 2 * mpf("1.0001")
    print("// Made by scripts/minimax.py. Each line: the largest relative error, then coefficients, lowest power first.")
    print("#pragma once\n\nnamespace relay::codegen::math {\n")
    # exp(r) = 1 + r + r² P(r)
    c, w = rounded_fit(exp, range(2, 7), -half_ln2, half_ln2, to_float, [(0, mpf(1)), (1, mpf(1))])
    show("kExpFloat", c, w, ", exp(r) = 1 + r + r^2 P(r)")
    # exp(r) where a table has the roots of two
    for name, steps in (("kExpSixteenth", 16), ("kExpEighth", 8)):
        c, w = rounded_fit(exp, range(2, 4), -half_ln2 / steps, half_ln2 / steps, to_float, [(0, mpf(1)), (1, mpf(1))])
        show(name, c, w, f", exp(r) = 1 + r + r^2 P(r), |r| <= ln 2 / {2 * steps}")
    show("kRootsOfTwo", [to_float(mpf(2) ** (mpf(i) / 16)) for i in range(16)], mpf(2) ** -25, ", 2^(i/16)")
    c, w = fit(exp, range(2, 8), -half_ln2, half_ln2, [(0, mpf(1)), (1, mpf(1))])
    show("kExpShort", c, w, ", the same in double for results in float")
    c, w = fit(exp, range(2, 12), -half_ln2, half_ln2, [(0, mpf(1)), (1, mpf(1))])
    show("kExpDouble", c, w)
    # log(1 + f) = f + f² P(f)
    # The error of P counts f² / log(1 + f) ~ |f| times; not quite zero at zero, where Remez would lose its footing.
    third = mpf("0.33334")
    rest = lambda x: (log(1 + x) - x) / x**2 if abs(x) > mpf("1e-15") else mpf("-0.5") + x / 3
    c, w = rounded_fit(rest, range(0, 9), -third, third, to_float, scale=lambda x: 1 / (abs(x) + mpf("0.05")))
    show("kLogFloat", c, w, ", log(1 + f) = f + f^2 P(f), |f| <= 1/3")
    high = sqrt(mpf(2)) - 1
    # log(1 + f) = 2 s + s z P(z), s = f / (2 + f), z = s²
    top = (high / (2 + high)) ** 2 * mpf("1.001")

    def atanh_series(z):
        s = sqrt(z)
        return log((1 + s) / (1 - s)) / s if z > mpf("1e-30") else mpf(2) + 2 * z / 3

    c, w = fit(atanh_series, range(1, 5), 0, top, [(0, mpf(2))])
    show("kLogShort", c, w, ", log(1 + f) = 2 s + s z P(z), s = f / (2 + f), z = s^2")
    c, w = fit(atanh_series, range(1, 8), 0, top, [(0, mpf(2))])
    show("kLogDouble", c, w)
    quarter = (pi / 4 * mpf("1.001")) ** 2
    root = lambda f, limit: lambda z: f(sqrt(z)) / sqrt(z) if z > mpf("1e-30") else limit
    c, w = fit(root(sin, mpf(1)), range(1, 5), 0, quarter, [(0, mpf(1))])
    show("kSin", c, w, ", sin(x) = x + x z P(z), z = x^2")
    c, w = fit(lambda z: cos(sqrt(z)), range(2, 5), 0, quarter, [(0, mpf(1)), (1, mpf("-0.5"))])
    show("kCos", c, w, ", cos(x) = 1 - z/2 + z^2 P(z)")
    c, w = fit(root(atan, mpf(1)), range(1, 13), 0, 1, [(0, mpf(1))])
    show("kAtan", c, w, ", atan(x) = x + x z P(z)")
    c, w = fit(root(asin, mpf(1)), range(1, 9), 0, mpf("0.2501"), [(0, mpf(1))])
    show("kAsin", c, w, ", asin(x) = x + x z P(z)")
    c, w = fit(root(sinh, mpf(1)), range(1, 5), 0, mpf("1.001"), [(0, mpf(1))])
    show("kSinh", c, w, ", sinh(x) = x + x z P(z)")
    c, w = fit(root(tanh, mpf(1)), range(1, 13), 0, mpf("0.3907"), [(0, mpf(1))])
    show("kTanhDouble", c, w, ", tanh(x) = x + x z P(z), |x| < 0.625")
    # Two forms whose last roundings were measured with factors from 1 to 2: these are the best.
    p, q, w = rational(lambda x: tanh(x) / x if x > 0 else mpf(1), 3, 3, mpf("4.52"), grid=160, rounds=60)
    factor = mpf("1.836914062")
    p = [to_float(c * factor / 2 / 4**i) for i, c in enumerate(p)]
    q = [to_float(c * factor / 4**i) for i, c in enumerate(q)]
    show("kHalfTanhNumerator", p, w, ", tanh(x / 2) = x P(x^2) / Q(x^2), |x| <= 9.04")
    show("kHalfTanhDenominator", q, w)
    p, q, w = rational(lambda x: erf(x) / x if x > 0 else 2 / sqrt(pi), 7, 4, mpf("3.92"), grid=160, rounds=60)
    p, q = [to_float(c * mpf("1.330078125")) for c in p], [to_float(c * mpf("1.330078125")) for c in q]
    show("kErfNumerator", p, w, ", erf(x) = x P(x^2) / Q(x^2), |x| <= 3.92")
    show("kErfDenominator", q, w)
    print("\n}  // namespace relay::codegen::math")


if __name__ == "__main__":
    main()
