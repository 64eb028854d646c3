"""Runs the test suites and closes with the line `N passed, N failed[, N skipped]`.

usage: run.py [--build DIR] [--jobs N] [--device emulator|cuda] [SUITE...]

Suites run one after the other, each over all cores: unit (gtest), lit, cases (test/cases, models from reported faults), errors
(bad input), e2e (operators against ONNX Runtime), models (trained ones, whole), conformance (ONNX's backend tests), asan and
tsan (the unit tests of runtime and emulator, built again with sanitizers). The exit code is 1 when anything failed, 2 when
nothing ran.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TEST = pathlib.Path(__file__).resolve().parent
Count = collections.namedtuple("Count", "passed failed skipped")
UNIT_TIMEOUT_S = 900


def add(counts):
    """The sum of counts."""
    return Count(*(sum(column) for column in zip(Count(0, 0, 0), *counts)))


def run_unit(options):
    """Each gtest executable is one job; a crash counts as one failure more than the report shows."""
    folder = options.build / "test" / "unit"
    programs = sorted(p for p in folder.glob("*") if os.access(p, os.X_OK) and p.is_file())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return add(pool.map(lambda program: run_gtest(program, options), programs))


def run_gtest(program, options):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [str(program), f"--gtest_output=json:{report}"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace",
                                  timeout=UNIT_TIMEOUT_S, stdin=subprocess.DEVNULL)
            code, output = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            code, output = -1, f"{late.stdout or ''}\nno end after {UNIT_TIMEOUT_S} s"
        total = failed = skipped = 0
        if report.exists():
            data = json.loads(report.read_text())
            total, failed = data["tests"], data["failures"]
            skipped = data.get("disabled", 0) + sum(case.get("result") == "SKIPPED" for suite in data["testsuites"]
                                                    for case in suite["testsuite"])
        if code != 0 and not failed:
            total, failed = total + 1, failed + 1
        if code != 0:
            lines = [line for line in output.splitlines() if not line.startswith(("[ RUN", "[       OK"))]
            print(f"FAIL unit {program.name} (exit {code})\n    " + "\n    ".join(lines[-60:]), flush=True)
        return Count(total - failed - skipped, failed, skipped)


def run_sanitized(preset):
    """The unit tests of what builds without LLVM, from a build folder of their own."""
    def run(options):
        folder = TEST.parent / f"build-{preset}"
        cmake = pathlib.Path(sys.executable).parent / "cmake"
        for step in (["--preset", preset, "-S", str(TEST.parent)], ["--build", str(folder), "-j", str(options.jobs)]):
            done = subprocess.run([str(cmake), *step], cwd=TEST.parent, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode:
                print(f"FAIL {preset}: cmake {' '.join(step)}\n{(done.stdout + done.stderr)[-4000:]}")
                return Count(0, 1, 0)
        options = argparse.Namespace(**{**vars(options), "build": folder})
        return run_unit(options)
    return run


def run_lit(options):
    """lit reports one result per file."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [sys.executable, "-c", "from lit.main import main; main()", "-sv", "-j", str(options.jobs), "--timeout",
                   "300", "-o", str(report), str(options.build / "test")]
        done = subprocess.run(command, stdin=subprocess.DEVNULL)
        if not report.exists():
            return Count(0, 1, 0)
        codes = collections.Counter(test["code"] for test in json.loads(report.read_text())["tests"])
        good = codes["PASS"] + codes["XFAIL"] + codes["FLAKYPASS"]
        skipped = codes["UNSUPPORTED"] + codes["SKIPPED"] + codes["EXCLUDED"]
        return Count(good, sum(codes.values()) - good - skipped, skipped)


def run_script(script, *arguments):
    """A suite in Python of its own: it writes {"passed", "failed", "skipped"} to the file that --summary names."""
    def run(options):
        with tempfile.TemporaryDirectory() as folder:
            summary = pathlib.Path(folder) / "summary.json"
            command = [sys.executable, str(TEST / script), *arguments, "--bin", str(options.build / "bin"), "--jobs",
                       str(options.jobs), "--device", options.device, "--summary", str(summary)]
            code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
            if not summary.exists():
                return Count(0, 1, 0)
            count = Count(**json.loads(summary.read_text()))
            return count._replace(failed=max(count.failed, 1)) if code else count
    return run


SUITES = {
    "unit": run_unit,
    "lit": run_lit,
    "cases": run_script("conformance/run.py", "--cases", str(TEST / "cases")),
    "errors": run_script("errors/errors.py"),
    "e2e": run_script("e2e/e2e.py"),
    "models": run_script("models/models.py"),
    "conformance": run_script("conformance/run.py"),
    "asan": run_sanitized("asan-runtime"),
    "tsan": run_sanitized("tsan"),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=TEST.parent / "build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="emulator", help="emulator (default) or cuda")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    options = parser.parse_args()
    unknown = [name for name in options.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite is named {', '.join(unknown)}; there are {', '.join(SUITES)}")
    options.build = options.build.resolve()
    return options


def main():
    options = parse_arguments()
    os.environ["WEFT_TEST_DEVICE"] = options.device
    os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    counts = []
    for name in options.suites or SUITES:
        print(f"[test] {name}", flush=True)
        start = time.monotonic()
        counts.append(SUITES[name](options))
        passed, failed, skipped = counts[-1]
        print(f"[test] {name}: {passed} ok, {failed} bad, {skipped} left out, {time.monotonic() - start:.0f} s", flush=True)
    total = add(counts)
    print(f"{total.passed} passed, {total.failed} failed" + (f", {total.skipped} skipped" if total.skipped else ""), flush=True)
    sys.exit(1 if total.failed else 0 if total.passed else 2)


if __name__ == "__main__":
    main()
