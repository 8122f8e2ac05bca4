"""Programs compiled for AArch64 give under qemu what they give on this machine: agree.py RELAY NATIVE-DRIVER EMULATED-DRIVER...

RELAY is the command, NATIVE-DRIVER tests/aarch64/driver.c for this machine, the rest the command line of the same for AArch64. Exit code 1 where
a program differs by more than rounding.
"""

import math
import pathlib
import subprocess
import sys
import tempfile

FLOATS = ("float32", "float64", "float16")
UNARY = "exp log tanh sigmoid erf sin cos tan atan sqrt rsqrt floor ceil round trunc abs negative sign nn.relu".split()
BINARY = "add subtract multiply divide maximum minimum power floor_divide floor_mod mod less equal".split()


def typed(shape: str, dtype: str) -> str:
    return f"Tensor[({shape}), {dtype}]"


def programs() -> dict[str, str]:
    made = {}
    for dtype in FLOATS:
        domain = {"log": "abs(%x) + ", "sqrt": "abs(%x) + ", "rsqrt": "abs(%x) + "}
        one = {"float32": "1f", "float64": "1f64", "float16": "1f16"}[dtype]
        fields = ", ".join(f"{name}({domain[name] + one if name in domain else '%x'})" for name in UNARY)
        made[f"unary_{dtype}"] = f"def @main(%x: {typed('7, 13', dtype)}) {{ ({fields}) }}"
        made[f"products_{dtype}"] = (
            f"def @main(%x: {typed('5, 37', dtype)}, %w: {typed('21, 37', dtype)}, %a: {typed('3, 9, 17', dtype)}, %b: {typed('3, 6, 17', dtype)}) "
            "{ (nn.dense(%x, %w), nn.batch_matmul(%a, %b, transpose_b=True)) }"
        )
        made[f"windows_{dtype}"] = (
            f"def @main(%x: {typed('1, 8, 15, 14', dtype)}, %w: {typed('12, 8, 3, 3', dtype)}, %d: {typed('8, 1, 5, 5', dtype)}, %t: {typed('8, 4, 3, 3', dtype)}) {{\n"
            "  (nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=12), nn.conv2d(%x, %d, padding=[2, 2, 2, 2], kernel_size=[5, 5], channels=8, groups=8),\n"
            "   nn.conv2d_transpose(%x, %t, strides=[2, 2], padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=4), nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2]),\n"
            "   nn.avg_pool2d(%x, pool_size=[2, 2], strides=[2, 2]))\n}"
        )
        made[f"rows_{dtype}"] = (
            f"def @main(%x: {typed('6, 33', dtype)}, %g: {typed('33', dtype)}) {{ (nn.softmax(%x), nn.layer_norm(%x, %g, %g), sum(%x, axis=[1]), max(%x, axis=[0]), "
            "cumsum(%x, axis=1), argmax(%x, axis=[1]), sort(%x), topk(%x, k=3), transpose(%x), mean(%x)) }"
        )
    for dtype in ("float32", "float64", "int8", "int32", "int64", "uint8", "uint32"):
        # Every divisor is at least 1.
        one = "1f" if dtype == "float32" else "1f64" if dtype == "float64" else f"cast(1, dtype=\"{dtype}\")"
        names = [name for name in BINARY if name != "power" or dtype.startswith("float")]
        fields = ", ".join(f"{name}(%x, abs(%y) + {one})" for name in names)
        made[f"binary_{dtype}"] = f"def @main(%x: {typed('4, 11', dtype)}, %y: {typed('4, 11', dtype)}) {{ ({fields}) }}"
        fields = ", ".join(f'cast(%x, dtype="{to}")' for to in ("float16", "float32", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool"))
        made[f"casts_{dtype}"] = f"def @main(%x: {typed('41', dtype)}) {{ ({fields}) }}"
    for dtype in ("int8", "uint8", "int16"):
        made[f"products_{dtype}"] = f'def @main(%x: {typed("9, 70", dtype)}, %w: {typed("18, 70", dtype)}) {{ nn.dense(%x, %w, out_dtype="int32") }}'
    made["bfloat16"] = f'def @main(%x: {typed("5, 64", "bfloat16")}, %w: {typed("16, 64", "bfloat16")}) {{ nn.dense(%x, %w, out_dtype="float32") }}'
    made["open"] = "def @main(%x: Tensor[(n, 24), float32], %w: Tensor[(10, 24), float32]) { nn.relu(nn.dense(%x, %w)) }"
    made["large"] = "def @main(%x: Tensor[(200, 300), float32], %w: Tensor[(260, 300), float32]) { tanh(nn.dense(%x, %w)) }"
    made["loop"] = "def @turn(%i: int32, %x: float32) -> float32 { if (%i <= 0) { %x } else { @turn(%i - 1, %x * 0.5f + 1f) } }\ndef @main(%x: float32) { @turn(1000, %x) }"
    made["constants"] = "def @main(%x: Tensor[(3, 40), float32], %i: Tensor[(2, 2), int32]) { take(%x, %i, axis=0, mode=\"wrap\") + arange(0f, 40f, 1f) }"
    return made


def results(command: list[str], files: list[pathlib.Path]) -> dict[str, list[str]]:
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, timeout=1200)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return {name: words.split() for name, _, words in (line.partition(":") for line in done.stdout.splitlines())}


def close(a: str, b: str, kind: str) -> bool:
    if a == b:
        return True
    x, y = float(a), float(b)
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    if kind in ("bits16",):  # float16 and bfloat16 as integers: neighbours
        return abs(x - y) <= 4
    tolerance = {"float32": 4e-6, "float64": 1e-12}.get(kind, 0)
    return abs(x - y) <= tolerance * max(1, abs(x), abs(y))


def differences(name: str, ours: list[str], theirs: list[str]) -> list[str]:
    if len(ours) != len(theirs):
        return [f"{name}: {len(ours)} words and {len(theirs)}"]
    found, kind = [], ""
    for place, (a, b) in enumerate(zip(ours, theirs)):
        if a.startswith(("float", "bits")):
            kind = a
        if a != b and (a.startswith(("float", "bits")) or not close(a, b, kind)):
            found.append(f"{name}: word {place} ({kind}): {a} and {b}")
    return found


def main() -> int:
    relay, native, *emulated = sys.argv[1:]
    made = programs()
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, list[pathlib.Path]] = {"host": [], "aarch64": []}
        for name, text in made.items():
            source = pathlib.Path(folder) / f"{name}.rly"
            source.write_text(text)
            for target, compiled in files.items():
                path = pathlib.Path(folder) / target / f"{name}.rlx"
                path.parent.mkdir(exist_ok=True)
                done = subprocess.run([relay, "compile", str(source), "--target", target, "-o", str(path)], capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit(f"{name} for {target}: {done.stderr}")
                compiled.append(path)
        here = results([native, "1"], files["host"])
        for threads in ("1", "3"):
            there = results([*emulated, threads], files["aarch64"])
            for name, words in here.items():
                found += differences(name, words, there.get(name, []))
    print("\n".join(found[:20]) or f"{len(made)} programs agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
