"""Each operator of table.py with fresh random inputs, through weftc and weft-run, against ONNX Runtime.

usage: e2e.py [--bin DIR] [--device D] [--jobs N] [--filter REGEX] [--update]

A row and a type make two models: one with fixed shapes, one with every dimension unknown. Where ONNX Runtime has no kernel for
a type, onnx.reference is the oracle. A wrong value or a crash always fails; a refusal fails when passing.txt names the test
(`--update` adds what passes: the list only grows).
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from table import GRAPHS, ROWS
from support.tools import ToolError, Tools, assert_close, trim_cache

DTYPES = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i32": np.int32, "i64": np.int64, "b1": np.bool_, "i8": np.int8,
          "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}
# (rtol, atol) of one operation. f32: a few ulp each in Weft and in the oracle (both have functions of up to 4 ulp). f16: one ulp
# (2^-10) since both round an f32 result once. f64: as f32, with ulp 2^-52. Everything else exactly.
TOLERANCE = {np.dtype(np.float32): (2e-6, 1e-6), np.dtype(np.float16): (2e-3, 1e-3), np.dtype(np.float64): (1e-12, 1e-12)}
REFUSED = re.compile(r"unsupported|not supported|no rule", re.IGNORECASE)


@dataclasses.dataclass
class Test:
    """One model and the input sets that run on its artifact."""
    name: str
    model: onnx.ModelProto
    inputs: list                  # [{name: array}]
    tolerance: float
    parts: list = dataclasses.field(default_factory=list)   # tests of single nodes, run to tell which node is at fault


def draw(rng, shape, dtype, low, high):
    """Random values in [low, high), of any type."""
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        low = max(low, 0) if np.issubdtype(dtype, np.unsignedinteger) else low
        spread = 1 if high > 3 else 5
        return np.asarray(rng.integers(int(np.ceil(low * spread)), max(int(high * spread), int(low * spread) + 1), shape)).astype(dtype)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def row_test(row, kind, dynamic, only=None):
    """The model of a row: node i reads x{i}_{j} and the constants, and writes y{i}_{k}."""
    name = f"{row.name}.{kind}{'.dynamic' if dynamic else ''}" + (f"#{only}" if only is not None else "")
    rng = np.random.default_rng(zlib.crc32(f"{row.name}.{kind}".encode()))
    nodes, graph_inputs, graph_outputs, values = [], [], [], {}
    constants = [numpy_helper.from_array(value, f"c{j}") for j, value in enumerate(row.consts)]
    for i, shapes in enumerate(row.shapes):
        names = [f"x{i}_{j}" for j in range(len(shapes))]
        kinds = [kind if k == "=" else k for k in row.kinds] or [kind] * len(shapes)
        arrays = [draw(rng, shape, DTYPES[k], row.low, row.high) for shape, k in zip(shapes, kinds)]
        if row.op == "Clip":
            arrays[1:] = [np.asarray(v).astype(DTYPES[kind]) for v in (-1, 1)]
        if only is not None and i != only:
            continue
        for input_name, array in zip(names, arrays):
            dims = [f"{input_name}_d{d}" for d in range(array.ndim)] if dynamic else array.shape
            graph_inputs.append(helper.make_tensor_value_info(input_name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
            values[input_name] = array
        outputs = [f"y{i}_{k}" for k in range(row.outputs)]
        operands = names + [c.name for c in constants]
        nodes.append(helper.make_node(row.op, operands, outputs, name=f"{row.op}_{i}", **row.attrs))
        graph_outputs += [onnx.ValueInfoProto(name=output) for output in outputs]
    graph = helper.make_graph(nodes, "g", graph_inputs, graph_outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", row.opset)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    for output in model.graph.output:
        if not output.type.WhichOneof("value"):  # Not inferred (GroupNormalization): as the first input.
            output.type.CopyFrom(model.graph.input[0].type)
    return Test(name, model, [values], row.tolerance)


def graph_test(name, text, shape_lists):
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    inputs = [{value.name: draw(rng, shape, np.float32, -1, 1) for value, shape in zip(model.graph.input, shapes)}
              for shapes in shape_lists]
    return Test(f"graph.{name}", model, inputs, 50)


def all_tests(found):
    tests = []
    for row in ROWS:
        for kind in row.types:
            for dynamic in (False, True) if row.dynamic else (False,):
                if found.search(f"{row.name}.{kind}{'.dynamic' if dynamic else ''}"):
                    test = row_test(row, kind, dynamic)
                    if len(row.shapes) > 1:
                        test.parts = [lambda i=i, r=row, k=kind, d=dynamic: row_test(r, k, d, i) for i in range(len(row.shapes))]
                    tests.append(test)
    return tests + [graph_test(name, *graph) for name, graph in GRAPHS.items() if found.search(f"graph.{name}")]


def oracle(model, inputs):
    """What ONNX Runtime says, unoptimised; onnx.reference where it has no kernel."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    names = [output.name for output in model.graph.output]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return dict(zip(names, session.run(names, inputs)))
    except Exception:
        from onnx.reference import ReferenceEvaluator
        with np.errstate(all="ignore"):
            return dict(zip(names, map(np.asarray, ReferenceEvaluator(model).run(names, inputs))))


def run_test(test, tools):
    """(status, reason): passed, refused or failed."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-e2e-"))
    try:
        artifact = tools.compile(test.model.SerializeToString(), folder)
        for number, inputs in enumerate(test.inputs):
            try:
                want = oracle(test.model, inputs)
            except Exception as error:
                return "no oracle", f"{type(error).__name__}: {error}"[:200]
            for (name, value), got in zip(want.items(), tools.run(artifact, inputs, want, folder / f"run{number}")):
                rtol, atol = TOLERANCE.get(value.dtype, (0, 0))
                assert_close(got, value, rtol * test.tolerance, atol * test.tolerance, f"{name} of input set {number}")
        return "passed", ""
    except ToolError as error:
        refused = error.tool == "weftc" and error.code == 1 and REFUSED.search(error.stderr)
        return ("refused" if refused else "failed"), f"{error.tool} {error.first_line()}"
    except AssertionError as error:
        return "failed", " ".join(str(error).split())[:300]
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"[:300]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def explain(test, tools):
    """The nodes of a failed row that fail alone, so that one shape does not hide behind the others."""
    for part in test.parts:
        single = part()
        status, reason = run_test(single, tools)
        if status == "failed":
            shapes = {name: array.shape for name, array in single.inputs[0].items()}
            yield f"{single.name} {shapes}: {reason}"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent.parent / "build" / "bin")
    parser.add_argument("--device", default="emulator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one call of a tool")
    parser.add_argument("--filter", default="", help="only the tests whose name this finds, e.g. '^Add'")
    parser.add_argument("--update", action="store_true", help="add what passes to passing.txt")
    parser.add_argument("--keep", type=pathlib.Path, help="write every model and its inputs here and stop")
    parser.add_argument("--summary", type=pathlib.Path, help="write the three counts here, for test/run.py")
    return parser.parse_args()


def keep_models(tests, folder):
    for test in tests:
        place = folder / test.name
        place.mkdir(parents=True, exist_ok=True)
        onnx.save(test.model, place / "model.onnx")
        for number, inputs in enumerate(test.inputs):
            for name, array in inputs.items():
                np.save(place / f"{number}.{name}.npy", array)
    print(f"wrote {len(tests)} models to {folder}")


def main():
    options = parse_arguments()
    tests = all_tests(re.compile(options.filter))
    if options.keep:
        return keep_models(tests, options.keep)
    tools = Tools(options.bin, options.device, options.timeout)
    if tools.missing():
        sys.exit(f"e2e.py: {', '.join(tools.missing())} is not built: run ./dev build")
    trim_cache()
    path = HERE / "passing.txt"
    passing = {line for line in path.read_text().splitlines() if line and not line.startswith("#")} if path.exists() else set()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(zip(tests, pool.map(lambda test: run_test(test, tools), tests)))

    broken = [(t, s, r) for t, (s, r) in results if s == "failed" or (s != "passed" and t.name in passing)]
    for test, status, reason in broken:
        print(f"FAIL {test.name} ({status}): {reason}")
        for line in explain(test, tools) if status == "failed" else ():
            print(f"    {line}")
    refused = collections.Counter(test.name.split(".")[0] for test, (status, _) in results if status in ("refused", "no oracle"))
    if refused:
        print("  refused: " + ", ".join(f"{name} ({count})" for name, count in sorted(refused.items())))
    passed = [test.name for test, (status, _) in results if status == "passed"]
    if options.update:
        path.write_text("# Tests that must pass, sorted; the list only grows (e2e.py --update).\n"
                        + "".join(f"{name}\n" for name in sorted({*passing, *passed})))
    print(f"  {len(passed)} pass, {len(broken)} fail, {len(results) - len(passed) - len(broken)} refused")
    if options.summary:
        options.summary.write_text(json.dumps({"passed": len(passed), "failed": len(broken),
                                               "skipped": len(results) - len(passed) - len(broken)}))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
