"""Measures Weft beside a peer in the same run and writes the table docs/benchmarks.md.

usage: bench.py [--bin DIR] [--made DIR] [--filter REGEX] [--without-peer] [--output FILE]

Models: those of test/models, then the folders of --made. For each: CPU seconds of weftc to PTX (sm_80 and its fallback) and to cubins;
launches of one inference, counted by the emulator's driver; the arena's bytes and their ratio to the largest sum of live tensors;
spills in ptxas' report. The peer is iree-compile for CUDA sm_80: CPU seconds and dispatches (stream.cmd.dispatch). Then the
emulator's speed on a matmul. CPU seconds are the process's own, so other work on the machine disturbs them little.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "models")]

import models as suite

PTXAS = os.environ.get("WEFT_PTXAS") or next(iter((ROOT / ".venv").glob("lib/python3*/site-packages/nvidia/*/bin/ptxas")), "ptxas")
MATMUL = 512


def cpu_seconds(command, **more):
    """(CPU seconds of a command and its children, the finished process)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def must(pair):
    seconds, done = pair
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[0][:200])
    return seconds


def weft_row(model, inputs, options, folder):
    """What Weft does with a model: seconds, launches, bytes, spills."""
    tool = lambda name: options.bin / name
    row = {"ptx_s": must(cpu_seconds([tool("weftc"), model, "-o", folder / "p.weft", "--emit=ptx", "--target=sm_80"])),
           "cubin_s": must(cpu_seconds([tool("weftc"), model, "-o", folder / "c.weft", "--target=sm_80", f"--dump={folder / 'dump'}"]))}
    feeds, shapes = [], []
    for number, (name, array) in enumerate(inputs.items()):
        np.save(folder / f"in{number}.npy", array)
        feeds += ["--input", f"{name}={folder / f'in{number}.npy'}"]
        shapes += ["--shape", f"{name}={'x'.join(map(str, array.shape))}"]
    row["run_s"] = must(cpu_seconds([tool("weft-run"), folder / "p.weft", "--device=emulator", *feeds, "--output", folder / "out",
                                     "--counters", folder / "counters.json"]))
    row["launches"] = json.loads((folder / "counters.json").read_text())["launches"]
    _, told = cpu_seconds([tool("weft-run"), folder / "p.weft", "--describe", "--json", *shapes])
    facts = json.loads(told.stdout)
    row["arena_bytes"], row["live_bytes"] = facts["arena_bytes"], facts["live_bytes"]
    row["spills"] = sum(spill_bytes(path) for path in (folder / "dump").glob("*.ptx"))
    return row


def spill_bytes(ptx):
    target = re.search(r"^\.target\s+(\S+)", ptx.read_text(), re.MULTILINE).group(1).rstrip(",")
    _, done = cpu_seconds([PTXAS, "-v", f"--gpu-name={target}", ptx, "-o", "/dev/null"])
    return sum(map(int, re.findall(r"(\d+) bytes spill stores", done.stderr)))


def peer_venv(options):
    """The peer's commands, installed at first use."""
    place = options.bin.parent / "bench-venv"
    if not (place / "bin" / "iree-compile").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([str(place / "bin" / "pip"), "install", "-q", "-r", str(HERE / "requirements.txt")], check=True)
    return place / "bin"


def peer_row(model, venv, folder):
    """What iree-compile does with a model; empty where it cannot compile it."""
    flags = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"]
    row = {}
    try:
        must(cpu_seconds([venv / "iree-import-onnx", model, "--opset-version", "17", "-o", folder / "m.mlir"]))
        must(cpu_seconds([venv / "iree-compile", folder / "m.mlir", *flags, "--compile-to=stream", "-o", folder / "s.mlir"]))
        row["peer_dispatches"] = (folder / "s.mlir").read_text().count("stream.cmd.dispatch")
        row["peer_s"] = must(cpu_seconds([venv / "iree-compile", folder / "m.mlir", *flags, "-o", folder / "m.vmfb"]))
    except RuntimeError as error:
        row["peer_problem"] = f"iree-compile: {str(error).removeprefix(str(folder)).lstrip('/')}"
    return row


def emulator_gflops(options, folder):
    """GFLOP/s per core of an f32 matmul, over what a small one costs (start-up)."""
    def run(size):
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [size, size])
        graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["c"])], "g", [value("a"), value("b")], [value("c")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "mm.onnx")
        np.save(folder / "a.npy", np.random.default_rng(1).random((size, size), np.float32))
        must(cpu_seconds([options.bin / "weftc", folder / "mm.onnx", "-o", folder / "mm.weft", "--emit=ptx"]))
        return must(cpu_seconds([options.bin / "weft-run", folder / "mm.weft", "--device=emulator", "--output", folder / "mm",
                                 *(w for n in "ab" for w in ("--input", f"{n}={folder / 'a.npy'}"))]))
    return 2 * MATMUL ** 3 / max(run(MATMUL) - run(16), 1e-3) / 1e9


def measure(options):
    rows = []
    venv = None if options.without_peer else peer_venv(options)
    seen = set()
    for name, model, sets in [*suite.trained(), *(suite.made(options.made) if options.made else [])]:
        if name in seen or not re.search(options.filter, name):
            continue
        seen.add(name)
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
            folder = pathlib.Path(folder)
            row = {"model": name}
            try:
                row.update(weft_row(model(), sets()[0][0], options, folder))
            except RuntimeError as error:
                row["problem"] = str(error)
            if venv:
                row.update(peer_row(model(), venv, folder))
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


def cell(row, key, form="{}"):
    return form.format(row[key]) if row.get(key) is not None else "-"


def ratio(row, ours, theirs):
    return f"{row[ours] / row[theirs]:.2f}" if row.get(ours) is not None and row.get(theirs) else "-"


def table(rows, gflops):
    lines = ["# Benchmarks", "",
             "Written by `.venv/bin/python test/bench/bench.py [--made DIR]` and by nothing else. Weft and its peer (iree-compile 3.13 for CUDA sm_80)",
             "ran one after the other on the same machine; seconds are CPU seconds. Launches are of one inference at the first shape of each model,",
             "counted by the emulator's driver; the peer's are the dispatches of its program. Nothing here was measured on a GPU.", "",
             "| model | s to PTX | peer | ratio | s to cubins | launches | peer | arena, MB | arena / live | spilled bytes | s of a run, emulated |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        arena = row.get("arena_bytes")
        lines.append("| " + " | ".join([
            row["model"], cell(row, "ptx_s", "{:.1f}"), cell(row, "peer_s", "{:.1f}"), ratio(row, "ptx_s", "peer_s"), cell(row, "cubin_s", "{:.1f}"),
            cell(row, "launches"), cell(row, "peer_dispatches"), f"{arena / 1e6:.1f}" if isinstance(arena, (int, float)) else "-",
            ratio(row, "arena_bytes", "live_bytes"), cell(row, "spills"), cell(row, "run_s", "{:.1f}")]) + " |")
    if gflops:
        lines += ["", f"Emulator: {gflops:.1f} GFLOP/s per core on a {MATMUL}³ f32 matmul."]
    problems = [f"- {row['model']}: {row[key]}" for row in rows for key in ("problem", "peer_problem") if key in row]
    return "\n".join(lines + (["", "Without a number:", "", *problems] if problems else [])) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--made", type=pathlib.Path, help="measure these too: a folder of models as test/models/models.py --made reads it")
    parser.add_argument("--filter", default="")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs" / "benchmarks.md")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    return options


def main():
    options = parse_arguments()
    rows = measure(options)
    try:
        with tempfile.TemporaryDirectory() as folder:
            gflops = emulator_gflops(options, pathlib.Path(folder))
    except RuntimeError as error:
        print(f"emulator: {error}")
        gflops = None
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(table(rows, gflops))
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
