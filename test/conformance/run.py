"""Runs ONNX's own backend tests, or folders in their layout, through weftc and weft-run.

usage: run.py [--bin DIR] [--device D] [--jobs N] [--all | --update] [--filter REGEX]
       run.py --cases DIR ...         folders with model.onnx and test_data_set_K, described by DIR/index.json

The cases named in passing.txt must pass; the list only grows (`--all` runs every case, `--update` also adds the new ones).
excluded.txt has one `case: reason` a line, for cases that say nothing about Weft. The comparison is ONNX's own, with the
case's rtol and atol. In index.json `expect` is `values`, `error` (exit 1 with a message, nothing written) or
`values-or-error`. A report with every failure's first line of stderr is written to the build folder.
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
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import onnx
from onnx import numpy_helper

from support.tools import ToolError, Tools, assert_close, file_name, trim_cache

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
UNSUPPORTED = re.compile(r"unsupported|not supported|no rule", re.IGNORECASE)


@dataclasses.dataclass
class Case:
    """One model with its data; a folder is read only when the case runs."""
    name: str
    ops: list
    rtol: float
    atol: float
    model: object = None          # bytes, or a path
    data_sets: list = None        # [({name: input}, {name: output})]
    folder: pathlib.Path = None
    expect: str = "values"


@dataclasses.dataclass
class Outcome:
    case: Case
    status: str                   # passed, failed, unsupported
    stage: str = ""
    reason: str = ""
    command: str = ""


def backend_cases(wanted):
    """ONNX's backend tests; node cases are generated in memory by the onnx package."""
    from onnx.backend.test.loader import load_model_tests
    for kind in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tests = load_model_tests(kind=kind)
        for test in sorted(tests, key=lambda t: t.name):
            if not wanted(test.name):
                continue
            case = Case(test.name, [kind], test.rtol, test.atol)
            if test.model_dir:
                case.folder = pathlib.Path(test.model_dir)
            else:
                model = test.model
                case.model, case.ops = model.SerializeToString(), [model.graph.node[0].op_type if model.graph.node else "none"]
                case.data_sets = [(named(graph_inputs(model, len(i)), i), named([o.name for o in model.graph.output], o))
                                  for i, o in test.data_sets]
            yield case


def folder_cases(root, wanted):
    """The cases of DIR/index.json."""
    for entry in json.loads((root / "index.json").read_text()):
        name = entry["dir"]
        if wanted(name):
            tolerance = entry.get("tolerance") or {}
            yield Case(name, entry.get("ops") or ["none"], tolerance.get("rtol", 1e-3), tolerance.get("atol", 1e-7),
                       folder=root / name, expect=entry["expect"])


def graph_inputs(model, count):
    """The names that `count` positional inputs bind to: initialisers are inputs only where the data has them too."""
    names = [i.name for i in model.graph.input]
    if len(names) == count:
        return names
    initialised = {i.name for i in model.graph.initializer}
    return [name for name in names if name not in initialised]


def named(names, values):
    return {name: numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
            for name, value in zip(names, values)}


def read_folder(case):
    """Fills a case from its folder. A model that ONNX cannot parse has no data sets: it is there to be refused."""
    case.model = case.folder / "model.onnx"
    try:
        model = onnx.load(case.model, load_external_data=False)
    except Exception:
        case.data_sets = []
        return
    types = {value.name: value.type for value in [*model.graph.input, *model.graph.output]}
    case.data_sets = []
    for data in sorted(case.folder.glob("test_data_set_*")):
        inputs = read_protos(data, "input", graph_inputs(model, len(list(data.glob("input_*.pb")))), types)
        case.data_sets.append((inputs, read_protos(data, "output", [o.name for o in model.graph.output], types)))
    if len({file_name(o.name) for o in model.graph.output}) < len(model.graph.output):
        case.expect = "error"  # weft-run refuses to write two outputs to one file


def read_protos(folder, kind, names, types):
    values = {}
    for position, name in enumerate(names):
        path = folder / f"{kind}_{position}.pb"
        if path.exists():
            values[name] = read_proto(path.read_bytes(), types[name])
    return values


def read_proto(data, type_):
    if type_.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if type_.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def run_case(case, tools, keep):
    """One case from model to comparison; the folder of a failed one is kept under `keep`."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-case-"))
    try:
        if case.folder:
            read_folder(case)
        outcome = judge(case, tools, folder)
    except Exception as error:  # A case must not end the suite.
        outcome = Outcome(case, "failed", "harness", f"{type(error).__name__}: {error}")
    if outcome.status == "failed" and keep:
        shutil.rmtree(keep / case.name, ignore_errors=True)
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, keep / case.name)
    shutil.rmtree(folder, ignore_errors=True)
    return outcome


def judge(case, tools, folder):
    try:
        artifact = tools.compile(case.model, folder)
        for inputs, outputs in case.data_sets:
            got = tools.run(artifact, inputs, outputs, folder)
            for (name, want), value in zip(outputs.items(), got):
                if case.expect != "error":
                    assert_close(value, want, case.rtol, case.atol, name)
    except ToolError as error:
        return judge_refusal(case, error, folder)
    except AssertionError as error:
        return Outcome(case, "failed", "values", " ".join(str(error).split())[:300])
    except (OSError, ValueError) as error:
        return Outcome(case, "failed", "outputs", str(error)[:300])
    if case.expect == "error":
        return Outcome(case, "failed", "accepted", "the model should have been refused")
    return Outcome(case, "passed")


def judge_refusal(case, error, folder):
    """A tool refused: right where an error is expected, and only by exit code 1, with a message and nothing written."""
    command = " ".join(error.command)
    clean = error.code == 1 and error.stderr.strip()
    if case.expect != "values" and clean:
        written = [p.name for p in [folder / "model.weft"] if error.tool == "weftc" and p.exists()]
        written += [p.name for p in (folder / "out").glob("*.npy")] if error.tool == "weft-run" else []
        if not written:
            return Outcome(case, "passed")
        return Outcome(case, "failed", error.tool, f"refused, but wrote {', '.join(written)}", command)
    status = "unsupported" if clean and error.tool == "weftc" and UNSUPPORTED.search(error.stderr) else "failed"
    return Outcome(case, status, error.tool, error.first_line(), command)


def read_list(path):
    """The lines of a list file, without comments; {name: reason}."""
    if not path.exists():
        return {}
    lines = [line.strip() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, _, reason in (line.partition(":") for line in lines)}


def write_passing(path, names):
    head = "# Cases that must pass, sorted; the list only grows (run.py --update).\n"
    path.write_text(head + "".join(f"{name}\n" for name in sorted(names)))


def print_table(outcomes):
    """Passed of all by operator, and the reasons of failure by how often they occur."""
    by_op = collections.defaultdict(collections.Counter)
    for outcome in outcomes:
        by_op[outcome.case.ops[0]][outcome.status] += 1
    width = max(map(len, by_op), default=0)
    for op, counts in sorted(by_op.items()):
        if counts["passed"] < sum(counts.values()):
            print(f"  {op:{width}} {counts['passed']:4} of {sum(counts.values()):4}"
                  + (f", {counts['unsupported']} not supported" if counts["unsupported"] else ""))
    reasons = collections.Counter(re.sub(r"[\"'`][^\"'`]*[\"'`]|[0-9.e+-]{2,}|/\S+", "_", o.reason)[:150]
                                  for o in outcomes if o.status != "passed")
    for reason, count in reasons.most_common(25):
        print(f"  {count:5} × {reason}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = HERE.parent.parent / "build"
    parser.add_argument("--bin", type=pathlib.Path, default=build / "bin")
    parser.add_argument("--device", default="emulator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=20, help="seconds for one call of a tool")
    parser.add_argument("--cases", type=pathlib.Path, help="a folder with index.json instead of ONNX's backend tests")
    parser.add_argument("--passing", type=pathlib.Path, help="default: passing.txt here, or in --cases where there is one")
    parser.add_argument("--all", action="store_true", help="run the cases too that are not in passing.txt")
    parser.add_argument("--update", action="store_true", help="--all, and add what passes to passing.txt")
    parser.add_argument("--filter", default="", help="only the cases whose name this finds")
    parser.add_argument("--report", type=pathlib.Path, help="default: BUILD/test/conformance.json")
    parser.add_argument("--summary", type=pathlib.Path, help="write the three counts here, for test/run.py")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.passing = options.passing or (options.cases or HERE) / "passing.txt"
    options.report = options.report or options.bin.parent / "test" / f"{'cases' if options.cases else 'conformance'}.json"
    return options


def select(options, passing, excluded):
    """The cases to run, and how many were left out."""
    found = re.compile(options.filter)
    everything = options.all or options.update or options.filter or (options.cases and not options.passing.exists())
    left_out = [0]

    def wanted(name):
        if not found.search(name):
            return False
        keep = name not in excluded and (everything or name in passing)
        left_out[0] += not keep
        return keep

    if options.cases and not (options.cases / "index.json").exists():
        return [], 0
    cases = list(folder_cases(options.cases, wanted) if options.cases else backend_cases(wanted))
    return cases, left_out[0]


def main():
    options = parse_arguments()
    tools = Tools(options.bin, options.device, options.timeout)
    if tools.missing():
        sys.exit(f"run.py: {', '.join(tools.missing())} is not built: run ./dev build")
    passing, excluded = read_list(options.passing), read_list(HERE / "excluded.txt")
    cases, left_out = select(options, passing, excluded)
    must_all_pass = options.cases and not options.passing.exists()
    keep = options.report.parent / "failed"
    trim_cache()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda case: run_case(case, tools, keep), cases))

    names = {status: [o.case.name for o in outcomes if o.status == status] for status in ("passed", "failed", "unsupported")}
    broken = [o for o in outcomes if o.status != "passed" and
              (o.case.name in passing or (must_all_pass and o.status == "failed"))]
    if options.update:
        write_passing(options.passing, {*passing, *names["passed"]})
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps({
        "counts": {status: len(found) for status, found in names.items()}, "left_out": left_out,
        "failures": [{"case": o.case.name, "ops": o.case.ops, "status": o.status, "stage": o.stage, "reason": o.reason,
                      "command": o.command} for o in outcomes if o.status != "passed"]}, indent=1))
    if options.all or options.update or options.filter or must_all_pass:
        print_table(outcomes)
    for outcome in broken:
        print(f"FAIL {outcome.case.name} ({outcome.stage}): {outcome.reason}")
    print(f"  {len(names['passed'])} pass, {len(names['failed'])} fail, {len(names['unsupported'])} not supported, "
          f"{left_out} left out; report: {options.report}")
    if options.summary:
        skipped = left_out + len(outcomes) - len(names["passed"]) - len(broken)
        options.summary.write_text(json.dumps({"passed": len(names["passed"]), "failed": len(broken), "skipped": skipped}))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
