"""Compiles every model below a folder to PTX and looks for arithmetic that the numerics policy forbids.

usage: numerics.py DIR      (weftc from PATH)

A model that weftc does not support yet is passed over; at least one must compile.
"""
import pathlib
import re
import subprocess
import sys

# Approximations that the table of functions allows, each with what makes it exact enough.
ALLOWED = {
    "ex2.approx.ftz.f32": "2 ulp, after an exact reduction of the argument",
    "ex2.approx.f32": "2 ulp, after an exact reduction of the argument",
    # Inside libdevice's functions, whose bounds in codegen/nvptx/Math.def include them:
    "rcp.approx.ftz.f32": "tanh, atan, tan, erfc, pow, asinh, atanh",
    "rsqrt.approx.ftz.f32": "asin, acos, asinh, acosh",
    "div.approx.ftz.f32": "sinh, cosh",
    "div.approx.f32": "fmod: an estimate that is corrected exactly",
    "rcp.approx.ftz.f64": "the seed of a Newton iteration",
    "rsqrt.approx.ftz.f64": "the seed of a Newton iteration",
}
UNSUFFIXED = re.compile(r"^\s*(?:@\S+\s+)?((?:add|sub|mul|div|sqrt|rcp|fma|mad)\.(?:ftz\.)?f(?:32|64))\s", re.MULTILINE)
APPROXIMATE = re.compile(r"^\s*(?:@\S+\s+)?([a-z0-9]+\.(?:approx|full)[a-z0-9.]*)\s", re.MULTILINE)
FLUSHING = re.compile(r"^\s*(?:@\S+\s+)?([a-z0-9]+\.rn\.ftz[a-z0-9.]*)\s", re.MULTILINE)


def complaints(ptx):
    found = {f"{op} is not rounded by name" for op in UNSUFFIXED.findall(ptx)}
    found |= {f"{op} is not in the table" for op in APPROXIMATE.findall(ptx) if op not in ALLOWED}
    return found | {f"{op} flushes denormals" for op in FLUSHING.findall(ptx)}


def main():
    compiled, bad = 0, 0
    for model in sorted(pathlib.Path(sys.argv[1]).rglob("model.onnx")):
        done = subprocess.run(["weftc", str(model), "--stop-after=ptx", "--target=sm_80"], capture_output=True, text=True)
        if done.returncode:
            continue
        compiled += 1
        for complaint in sorted(complaints(done.stdout)):
            print(f"{model.parent.name}: {complaint}")
            bad += 1
    print(f"{compiled} models compiled")
    sys.exit(1 if bad or not compiled else 0)


if __name__ == "__main__":
    main()
