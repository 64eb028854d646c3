"""Whole trained models at several shapes, one artifact each, against ONNX Runtime.

usage: models.py [--bin DIR] [--device D] [--filter REGEX] [--made DIR] [--report FILE] [--update]

Without --made: the models of models.txt with inputs like their own (pictures, bytes, sound). With it: every folder of DIR that holds
model.onnx and set_K/{inputs.json, NAME.npy, expected/NAME.npy}. Floats are equal when |got - want| <= 1e-3 |want| + 1e-4 max |want|,
everything else exactly. The report has seconds, launches and bytes for each run. passing.txt names what must pass; it only grows.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "docs" / "examples" / "demo")]

import demo
from fetch_models import model as fetch_model
from support.tools import ToolError, Tools

RTOL, ATOL = 1e-3, 1e-4


def picture(rng, *shape):
    """Dark strokes on light paper, normalised."""
    image = rng.normal(.9, .05, shape)
    image[..., shape[-2] // 3:shape[-2] // 2, 3:-3:5] = -.9
    return image.astype(np.float32)


def text(height, width, count=1):
    """Parts of the demo's picture, normalised as detection wants them. Where nothing is text the model's sigmoid gives 1e-6, and ONNX
    Runtime's is exact to 1e-7 only: such a picture compares nothing."""
    image = demo.read_png(pathlib.Path(demo.__file__).with_name("picture.png"))
    parts = [image[16 * n:16 * n + height, 16 * n:16 * n + width, ::-1] for n in range(count)]
    return np.ascontiguousarray(demo.normalised(np.stack(parts)).transpose(0, 3, 1, 2))


def sound(rng, chunks):
    time_s = np.arange(chunks * 576).reshape(chunks, 576) / 16000
    return (.3 * np.sin(2 * np.pi * 220 * time_s) + rng.normal(0, .05, time_s.shape)).astype(np.float32)


# name: the input sets, made from a generator; every set runs on the one artifact
SETS = {
    "ppocrv4_det": lambda r: [{"x": text(96, 160)}, {"x": text(64, 64, 2)}],
    "ppocrv4_rec": lambda r: [{"x": picture(r, 1, 3, 48, 96)}, {"x": picture(r, 2, 3, 48, 64)}],
    "ppocrv2_cls": lambda r: [{"x": picture(r, 1, 3, 48, 192)}, {"x": picture(r, 2, 3, 48, 96)}],
    "magika_v3_3": lambda r: [{"bytes": r.integers(0, 257, (n, 2048)).astype(np.int32)} for n in (1, 3)],
    "silero_vad_16k_sequence": lambda r: [{"input": sound(r, n), "h": np.zeros((1, 1, 128), np.float32), "c": np.zeros((1, 1, 128), np.float32)}
                                          for n in (1, 8)],
    "open_nsfw_resnet50": lambda r: [{"input:0": r.normal(20, 45, (1, 224, 224, 3)).astype(np.float32)}],
}


def trained():
    """(name, model's path, [(inputs, expected)]) of models.txt, with ONNX Runtime's outputs."""
    import onnxruntime
    for name, make in SETS.items():
        def sets(name=name, make=make):
            session = onnxruntime.InferenceSession(str(fetch_model(name)), providers=["CPUExecutionProvider"])
            names = [output.name for output in session.get_outputs()]
            return [(inputs, dict(zip(names, session.run(names, inputs)))) for inputs in make(np.random.default_rng(11))]
        yield name, lambda n=name: fetch_model(n), sets


def made(folder):
    """The same for folders that were written beforehand."""
    for place in sorted(path.parent for path in folder.glob("*/model.onnx")):
        yield place.name, lambda p=place: p / "model.onnx", lambda p=place: [read_set(path) for path in sorted(p.glob("set_*"))]


def read_set(place):
    inputs = {name: np.load(place / file) for name, file in json.loads((place / "inputs.json").read_text()).items()}
    return inputs, {path.stem: np.load(path) for path in sorted((place / "expected").glob("*.npy"))}


def difference(got, want):
    """What is wrong with an output, empty when nothing is."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else f"{int((got != want).sum())} of {want.size} differ"
    got, want = got.astype(np.float64), want.astype(np.float64)
    scale = float(np.max(np.abs(want), where=np.isfinite(want), initial=0.0))
    if np.allclose(got, want, rtol=RTOL, atol=ATOL * scale, equal_nan=True):
        return ""
    return f"differs by up to {np.nanmax(np.abs(got - want)):.3g} where the largest value is {scale:.3g}"


def describe(tools, artifact, inputs):
    """The artifact's facts at the shapes of a set."""
    shapes = [word for name, array in inputs.items() for word in ("--shape", f"{name}={'x'.join(map(str, array.shape))}")]
    done = subprocess.run([tools.weft_run, artifact, "--describe", "--json", *shapes], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def run_model(path, sets, tools, row):
    """Fills a row of the report; raises AssertionError or ToolError."""
    with tempfile.TemporaryDirectory(prefix="weft-models-") as folder:
        folder = pathlib.Path(folder)
        start = time.monotonic()
        artifact = tools.compile(path(), folder)
        row["compile_s"] = round(time.monotonic() - start, 2)
        for number, (inputs, want) in enumerate(sets()):
            counters = folder / "counters.json"
            counting = ["--counters", counters] if tools.device.startswith("emulator") else []
            start = time.monotonic()
            got = tools.run(artifact, inputs, want, folder / f"run{number}", *counting)
            run = {"run_s": round(time.monotonic() - start, 2)}
            if counters.exists():
                run["launches"] = json.loads(counters.read_text())["launches"]
            told = describe(tools, artifact, inputs)
            run.update({key: told.get(key) for key in ("arena_bytes", "constant_bytes", "kernels")})
            row["runs"].append(run)
            for name, value in zip(want, got):
                problem = difference(value, want[name])
                assert not problem, f"set {number}: {name} {problem}"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent.parent / "build" / "bin")
    parser.add_argument("--device", default="emulator")
    parser.add_argument("--jobs", type=int, default=1, help="accepted like the other suites'; weft-run uses the cores itself")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one call of a tool")
    parser.add_argument("--filter", default="")
    parser.add_argument("--made", type=pathlib.Path, help="a folder of models with inputs and expected outputs")
    parser.add_argument("--report", type=pathlib.Path, help="default: BUILD/test/models.json")
    parser.add_argument("--update", action="store_true", help="add what passes to passing.txt")
    parser.add_argument("--summary", type=pathlib.Path, help="write the three counts here, for test/run.py")
    return parser.parse_args()


def main():
    options = parse_arguments()
    tools = Tools(options.bin, options.device, options.timeout)
    if tools.missing():
        sys.exit(f"models.py: {', '.join(tools.missing())} is not built: run ./dev build")
    path = HERE / "passing.txt"
    passing = {line for line in path.read_text().splitlines() if line and not line.startswith("#")} if path.exists() else set()
    rows, failed, passed, pending = [], [], [], []
    for name, model, sets in made(options.made) if options.made else trained():
        if not re.search(options.filter, name):
            continue
        row = {"model": name, "runs": []}
        rows.append(row)
        try:
            run_model(model, sets, tools, row)
            passed.append(name)
            first = row["runs"][0] if row["runs"] else {}
            print(f"  ok   {name}: {row['compile_s']} s to compile, {first.get('run_s')} s to run, {first.get('launches')} launches", flush=True)
        except (AssertionError, ToolError, OSError) as error:
            row["problem"] = str(error)
            (failed if name in passing or options.made else pending).append(name)
            print(f"  {'FAIL' if name in passing or options.made else 'not yet'} {name}: {str(error)[:300]}", flush=True)
    report = options.report or options.bin.resolve().parent / "test" / "models.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(rows, indent=1))
    if options.update:
        path.write_text("# Models that must pass, sorted; the list only grows (models.py --update).\n"
                        + "".join(f"{name}\n" for name in sorted({*passing, *passed})))
    if options.summary:
        options.summary.write_text(json.dumps({"passed": len(passed), "failed": len(failed), "skipped": len(pending)}))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
