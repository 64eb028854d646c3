"""Bad input to weftc and weft-run: the right exit code, a message that names what is wrong, nothing written, never a crash.

usage: errors.py [--bin DIR] [--jobs N] [--filter REGEX] [--mutations N] [--flips N]

Exit codes: 1 the model or the input is wrong, 2 the command line, 3 the machine. A mutated model may be accepted or refused by 1;
an artifact with any change must be refused by 1.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 60


def model(nodes, inputs, outputs, initializers=(), opset=21, domains=()):
    """A model; inputs and outputs are {name: (element type, shape)}."""
    value = lambda name, spec: helper.make_tensor_value_info(name, *spec)
    graph = helper.make_graph(nodes, "g", [value(*i) for i in inputs.items()], [value(*o) for o in outputs.items()], list(initializers))
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


F32 = TensorProto.FLOAT
VECTOR = {"x": (F32, ["N"])}
RESULT = {"y": (F32, ["N"])}


def node(op, inputs, outputs, name, **attributes):
    return helper.make_node(op, inputs, outputs, name=name, **attributes)


def good_model():
    return model([node("Add", ["x", "c"], ["h"], "first"), node("Relu", ["h"], ["y"], "second")], VECTOR, RESULT,
                 [numpy_helper.from_array(np.array([1.5], np.float32), "c")])


def with_external(location, offset="0", length="4"):
    m = good_model()
    tensor = m.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=value)
    return m


def short_raw_data():
    m = good_model()
    m.graph.initializer[0].dims[:] = [3]
    m.graph.initializer[0].raw_data = b"\0\0\0\0"
    return m


def wrong_attribute_type():
    return model([node("Softmax", ["x"], ["y"], "soft", axis="last")], VECTOR, RESULT)


def overflowing():
    m = good_model()
    m.graph.initializer[0].dims[:] = [1 << 40, 1 << 40]
    return m


def two_unsupported():
    return model([node("NoSuchA", ["x"], ["h"], "alpha"), node("NoSuchB", ["h"], ["y"], "beta")], VECTOR, RESULT)


# name: (bytes or model, what stderr must match)
BAD_MODELS = {
    "text-file": (b"this is not a model\n" * 20, r"model|onnx|parse"),
    "empty-file": (b"", r"model|empty|graph|parse"),
    "cycle": (model([node("Add", ["x", "b"], ["a"], "first"), node("Relu", ["a"], ["b"], "second"), node("Neg", ["b"], ["y"], "third")], VECTOR, RESULT), r"cycl|\bb\b|first"),
    "undefined-input": (model([node("Add", ["x", "nowhere"], ["y"], "sum")], VECTOR, RESULT), r"nowhere"),
    "undefined-output": (model([node("Neg", ["x"], ["h"], "neg")], VECTOR, RESULT), r"\by\b"),
    "defined-twice": (model([node("Neg", ["x"], ["y"], "one"), node("Relu", ["x"], ["y"], "two")], VECTOR, RESULT), r"\by\b"),
    "wrong-attribute-type": (wrong_attribute_type(), r"axis"),
    "unknown-operator": (model([node("NoSuchOperator", ["x"], ["y"], "odd")], VECTOR, RESULT), r"NoSuchOperator"),
    "unknown-operators-all-at-once": (two_unsupported(), r"(?s)NoSuchA.*NoSuchB|NoSuchB.*NoSuchA"),
    "unknown-domain": (model([node("Thing", ["x"], ["y"], "odd", domain="com.example.none")], VECTOR, RESULT, domains=["com.example.none"]), r"com\.example\.none|Thing"),
    "negative-dimension": (model([node("Neg", ["x"], ["y"], "neg")], {"x": (F32, [-3])}, {"y": (F32, [-3])}), r"-3|negative|\bx\b"),
    "dimension-overflow": (overflowing(), r"\bc\b|overflow|large"),
    "raw-data-short": (short_raw_data(), r"\bc\b"),
    "external-missing": (with_external("weights.bin"), r"weights\.bin"),
    "external-absolute": (with_external("/etc/passwd"), r"/etc/passwd|absolute"),
    "external-traversal": (with_external("../../etc/passwd"), r"\.\./|passwd|outside"),
    "future-opset": (model([node("Neg", ["x"], ["y"], "neg")], VECTOR, RESULT, opset=9999), r"9999|opset"),
    "wrong-arity": (model([node("Add", ["x"], ["y"], "sum")], VECTOR, RESULT), r"Add|sum"),
    "type-mismatch": (model([node("Add", ["x", "k"], ["y"], "sum")], {**VECTOR, "k": (TensorProto.INT64, ["N"])}, RESULT), r"sum|Add"),
    "shapes-do-not-broadcast": (model([node("Add", ["x", "k"], ["y"], "sum")], {"x": (F32, [3]), "k": (F32, [4])}, {"y": (F32, [3])}), r"sum|Add|broadcast"),
}

# name: (arguments after the tool, exit code, what stderr must match); {good} is a model, {artifact} its artifact, {x} an input, {dir} a folder
COMMANDS = {
    "weftc-missing-model": ("weftc {dir}/none.onnx -o {dir}/o.weft", 1, r"none\.onnx"),
    "weftc-bad-flag": ("weftc {good} -o {dir}/o.weft --no-such-flag", 2, r"no-such-flag"),
    "weftc-unknown-target": ("weftc {good} -o {dir}/o.weft --target=sm_1", 2, r"sm_1"),
    "weftc-unwritable-output": ("weftc {good} -o {dir}/none/o.weft", 3, r"o\.weft|none"),
    "weftc-no-arguments": ("weftc", 2, r"\S"),
    "run-missing-artifact": ("weft-run {dir}/none.weft --device=emulator", 1, r"none\.weft"),
    "run-bad-flag": ("weft-run {artifact} --no-such-flag", 2, r"no-such-flag"),
    "run-bad-device": ("weft-run {artifact} --device=abacus --input x={x} --output {dir}/out", 2, r"abacus"),
    "run-no-input": ("weft-run {artifact} --device=emulator --output {dir}/out", 1, r"\bx\b"),
    "run-wrong-name": ("weft-run {artifact} --device=emulator --input z={x} --output {dir}/out", 1, r"\bz\b"),
    "run-wrong-type": ("weft-run {artifact} --device=emulator --input x={int} --output {dir}/out", 1, r"\bx\b"),
    "run-wrong-rank": ("weft-run {artifact} --device=emulator --input x={rank2} --output {dir}/out", 1, r"\bx\b"),
    "run-missing-file": ("weft-run {artifact} --device=emulator --input x={dir}/none.npy --output {dir}/out", 1, r"none\.npy"),
    "run-not-npy": ("weft-run {artifact} --device=emulator --input x={good} --output {dir}/out", 1, r"\S"),
    "run-short-npy": ("weft-run {artifact} --device=emulator --input x={short} --output {dir}/out", 1, r"short\.npy|\bx\b"),
    "run-unwritable-output": ("weft-run {artifact} --device=emulator --input x={x} --output /proc/none/out", 3, r"/proc/none"),
}


class Bench:
    """The tools, a folder for this run, and the good files that the commands use."""

    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries.resolve(), folder
        self.names = {"good": folder / "good.onnx", "artifact": folder / "good.weft", "x": folder / "x.npy", "int": folder / "int.npy",
                      "rank2": folder / "rank2.npy", "short": folder / "short.npy"}
        onnx.save(good_model(), self.names["good"])
        np.save(self.names["x"], np.arange(5, dtype=np.float32))
        np.save(self.names["int"], np.arange(5, dtype=np.int64))
        np.save(self.names["rank2"], np.zeros((2, 3), np.float32))
        self.names["short"].write_bytes(self.names["x"].read_bytes()[:-6])
        done = self.call("weftc", self.names["good"], "-o", self.names["artifact"], "--emit=ptx")
        if done.returncode:
            sys.exit(f"errors.py: the good model does not compile: {done.stderr}")

    def call(self, tool, *arguments):
        command = [str(self.binaries / tool), *map(str, arguments)]
        try:
            return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"no end after {TIMEOUT_S} s")

    def place(self, name):
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def complaint(done, code, pattern):
    """What is wrong with how a tool ended; empty when nothing is."""
    first = (done.stderr.strip().splitlines() or ["(nothing on stderr)"])[0][:200]
    if done.returncode != code:
        return f"expected exit code {code}, found {done.returncode}: {first}"
    return "" if re.search(pattern, done.stderr) else f"the message does not match /{pattern}/: {first}"


def check_model(bench, name, content, pattern):
    folder = bench.place(name)
    data = content if isinstance(content, bytes) else content.SerializeToString()
    (folder / "m.onnx").write_bytes(data)
    problem = complaint(bench.call("weftc", folder / "m.onnx", "-o", folder / "m.weft", "--emit=ptx"), 1, pattern)
    return problem or ("an artifact was written" if (folder / "m.weft").exists() else "")


def check_command(bench, name, line, code, pattern):
    words = [word.format(**bench.names, dir=bench.place(name)) for word in line.split()]
    problem = complaint(bench.call(*words), code, pattern)
    left = [p.name for p in bench.place(name).rglob("*") if p.is_file()]
    return problem or (f"{', '.join(left)} was written" if left else "")


def mutate(data, rng):
    """A few bytes changed, removed or repeated."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[place] = rng.randrange(256)
        elif kind == 1:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del data[place:place + rng.randrange(1, 9)]
        else:
            data[place:place] = data[place:place + rng.randrange(1, 9)]
        if not data:
            break
    return bytes(data)


def check_mutation(bench, name, seed):
    """A mutated model is compiled or refused, and refused without an artifact."""
    folder = bench.place(name)
    (folder / "m.onnx").write_bytes(mutate(bench.names["good"].read_bytes(), random.Random(seed)))
    done = bench.call("weftc", folder / "m.onnx", "-o", folder / "m.weft", "--emit=ptx")
    problem = "" if done.returncode in (0, 1) else f"exit code {done.returncode}: {done.stderr[-200:]}"
    if done.returncode == 1 and ((folder / "m.weft").exists() or not done.stderr.strip()):
        problem = "refused, but without a message or with an artifact"
    if not problem:
        shutil.rmtree(folder)
    return problem


def check_artifact(bench, name, data):
    """A changed artifact is refused, by running and by --describe."""
    folder = bench.place(name)
    (folder / "bad.weft").write_bytes(data)
    run = bench.call("weft-run", folder / "bad.weft", "--device=emulator", "--input", f"x={bench.names['x']}", "--output", folder / "out")
    describe = bench.call("weft-run", folder / "bad.weft", "--describe")
    problem = complaint(run, 1, r"\S") or complaint(describe, 1, r"\S")
    shutil.rmtree(folder)
    return problem


def checks(bench, options):
    """(name, function) of every check."""
    for name, (content, pattern) in BAD_MODELS.items():
        yield f"model-{name}", lambda n, c=content, p=pattern: check_model(bench, n, c, p)
    for name, (line, code, pattern) in COMMANDS.items():
        yield name, lambda n, l=line, c=code, p=pattern: check_command(bench, n, l, c, p)
    good = bench.names["good"].read_bytes()
    for cut in (1, len(good) // 3, len(good) - 1):
        yield f"model-truncated-{cut}", lambda n, c=cut: check_model(bench, n, good[:c], r"\S")
    for seed in range(options.mutations):
        yield f"mutation-{seed}", lambda n, s=seed: check_mutation(bench, n, s)
    artifact = bench.names["artifact"].read_bytes()
    for cut in (0, 1, 63, len(artifact) // 2, len(artifact) - 1):
        yield f"artifact-truncated-{cut}", lambda n, c=cut: check_artifact(bench, n, artifact[:c])
    yield "artifact-extended", lambda n: check_artifact(bench, n, artifact + b"\0")
    places = sorted({0, 4, 8, *random.Random(7).sample(range(len(artifact)), min(options.flips, len(artifact)))})
    for place in places:
        flipped = artifact[:place] + bytes([artifact[place] ^ 1 << place % 8]) + artifact[place + 1:]
        yield f"artifact-flip-{place}", lambda n, d=flipped: check_artifact(bench, n, d)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent.parent / "build" / "bin")
    parser.add_argument("--device", default="emulator", help="accepted like the other suites'; these checks need no device")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--filter", default="", help="only the checks whose name this finds")
    parser.add_argument("--mutations", type=int, default=200, help="how many mutated models (10000 for a night)")
    parser.add_argument("--flips", type=int, default=60, help="how many bytes of the artifact to flip, one at a time")
    parser.add_argument("--summary", type=pathlib.Path, help="write the three counts here, for test/run.py")
    return parser.parse_args()


def main():
    options = parse_arguments()
    for tool in ("weftc", "weft-run"):
        if not (options.bin / tool).exists():
            sys.exit(f"errors.py: {options.bin / tool} is not built: run ./dev build")
    with tempfile.TemporaryDirectory(prefix="weft-errors-") as folder:
        bench = Bench(options.bin, pathlib.Path(folder))
        wanted = [(name, check) for name, check in checks(bench, options) if re.search(options.filter, name)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            problems = list(pool.map(lambda pair: pair[1](pair[0]), wanted))
    failed = [(name, problem) for (name, _), problem in zip(wanted, problems) if problem]
    for name, problem in failed:
        print(f"FAIL {name}: {problem}")
    print(f"  {len(wanted) - len(failed)} pass, {len(failed)} fail")
    if options.summary:
        options.summary.write_text(json.dumps({"passed": len(wanted) - len(failed), "failed": len(failed), "skipped": 0}))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
