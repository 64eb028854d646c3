"""weftc and weft-run as functions on numpy values: what conformance, e2e and bench share.

Values: arrays; lists of arrays are sequences; None is an empty optional. Types that numpy lacks travel as raw bits (bf16 as
uint16, fp8 as uint8, 4 and 2 bits one per byte) and are `ml_dtypes` arrays here. Nothing is retried, nothing is printed.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import threading

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

CACHE = pathlib.Path(os.environ.get("WEFT_CACHE", pathlib.Path.home() / ".cache" / "weft")) / "compiled"
CACHE_LIMIT_BYTES = 1 << 30
RAW16 = {"bfloat16"}
SUB_BYTE_MASK = {"int4": 0xF, "uint4": 0xF, "float4_e2m1fn": 0xF, "int2": 0x3, "uint2": 0x3}


class ToolError(Exception):
    """A tool did not end with exit code 0; `code` is None after a timeout."""

    def __init__(self, tool, code, stderr, command):
        self.tool, self.code, self.stderr, self.command = tool, code, stderr, command
        super().__init__(f"{tool}: {self.first_line()}")

    def first_line(self):
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        chosen = next((line for line in lines if "error" in line), lines[0] if lines else "(nothing on stderr)")
        return f"exit {self.code}: {chosen}"[:400]


class Tools:
    """The tools of one build folder, for one device."""

    def __init__(self, binaries, device="emulator", timeout_s=20):
        self.weftc = pathlib.Path(binaries).resolve() / "weftc"
        self.weft_run = pathlib.Path(binaries).resolve() / "weft-run"
        self.device, self.timeout_s = device, timeout_s
        # Cubins cost time and only a GPU reads them.
        self.flags = ["--emit=ptx"] if device.startswith("emulator") else []
        self._key = hashlib.sha256(self.weftc.read_bytes()).hexdigest() if self.weftc.exists() else ""
        self._lock = threading.Lock()

    def missing(self):
        """The tools that are not built."""
        return [str(tool) for tool in (self.weftc, self.weft_run) if not tool.exists()]

    def compile(self, model, folder, *flags):
        """A path of the artifact of a model (bytes, or the path of a file, with its external data beside it)."""
        flags = [*self.flags, *flags]
        folder = pathlib.Path(folder)
        if isinstance(model, bytes):
            path, parts = folder / "model.onnx", [model]
            path.write_bytes(model)
        else:
            path = pathlib.Path(model)
            parts = [path.read_bytes()]
            for beside in sorted(path.parent.iterdir()):  # External data.
                if beside.is_file() and beside.suffix != ".onnx":
                    parts += [beside.name.encode(), beside.read_bytes()]
        key = hashlib.sha256(b"\0".join([self._key.encode(), repr(flags).encode(), *parts])).hexdigest()
        cached = CACHE / f"{key}.weft"
        if cached.exists():
            return cached
        made = folder / "model.weft"
        self._call([self.weftc, path, "-o", made, *flags])
        CACHE.mkdir(parents=True, exist_ok=True)
        part = cached.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        part.write_bytes(made.read_bytes())
        part.rename(cached)
        return cached

    def run(self, artifact, inputs, like, folder, *flags):
        """The outputs for inputs {name: value}; `like` is {output name: expected value}, which says the type to read."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        out = folder / "out"
        command = [self.weft_run, artifact, f"--device={self.device}", "--output", out, *flags]
        for position, (name, value) in enumerate(inputs.items()):
            command += ["--input", f"{name}={write_value(value, folder / f'in_{position}')}"]
        self._call(command)
        return [read_value(out, name, value) for name, value in like.items()]

    def _call(self, command):
        command = [str(part) for part in command]
        tool = pathlib.Path(command[0]).name
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=self.timeout_s,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise ToolError(tool, None, f"error: no end after {self.timeout_s} s", command) from None
        if done.returncode != 0:
            raise ToolError(tool, done.returncode, done.stderr, command)
        return done


def trim_cache():
    """Removes the artifacts that were used longest ago, down to CACHE_LIMIT_BYTES."""
    files = sorted(((f.stat().st_atime, f.stat().st_size, f) for f in CACHE.glob("*")), reverse=True) if CACHE.exists() else []
    total = 0
    for _, size, path in files:
        total += size
        if total > CACHE_LIMIT_BYTES:
            path.unlink(missing_ok=True)


def file_name(tensor_name):
    """The name that weft-run gives an output's file, without its ending."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", tensor_name)


def write_value(value, stem):
    """Writes a value as .npy, or as .pb where it is a sequence or an optional; returns the path."""
    if value is None:
        path = stem.with_suffix(".pb")
        path.write_bytes(onnx.OptionalProto().SerializeToString())
    elif isinstance(value, (list, tuple)):
        path = stem.with_suffix(".pb")
        path.write_bytes(numpy_helper.from_list(list(value)).SerializeToString())
    else:
        path = stem.with_suffix(".npy")
        np.save(path, to_file_type(np.asarray(value)), allow_pickle=False)
    return path


def to_file_type(array):
    """Raw bits for ml_dtypes, `<U` for strings, everything else as it is."""
    name = array.dtype.name
    if array.dtype == object:
        return np.array([s.decode() if isinstance(s, bytes) else str(s) for s in array.ravel()], dtype=np.str_).reshape(array.shape)
    if name in SUB_BYTE_MASK:
        return array.view(np.uint8) & SUB_BYTE_MASK[name] if array.size else array.astype(np.uint8)
    if array.dtype.kind == "V" or name.startswith(("bfloat", "float8")):
        return array.view(np.uint16 if name in RAW16 else np.uint8)
    return array


def from_file_type(array, dtype):
    """Undoes to_file_type for an expected type; an array of another type comes back as it is, for the comparison to tell."""
    name = dtype.name
    if dtype == object:
        return array.astype(object) if array.dtype.kind == "U" else array
    if name in RAW16:
        return array.view(ml_dtypes.bfloat16) if array.dtype == np.uint16 else array
    if name in SUB_BYTE_MASK and array.dtype == np.uint8:
        if name.startswith("int"):
            bits = 8 - int(name[3:])
            return ((array << bits).view(np.int8) >> bits).astype(dtype)
        return array.view(dtype) if name.startswith("float") else array.astype(dtype)
    if name.startswith("float8") and array.dtype == np.uint8:
        return array.view(dtype)
    return array


def read_value(folder, name, expected):
    """Reads one output of weft-run, in the kind (tensor, sequence, optional) and type of the expected value."""
    stem = file_name(name)
    if (folder / f"{stem}.json").exists():
        length = json.loads((folder / f"{stem}.json").read_text())
        if length is None:
            return None
        length = length["length"] if isinstance(length, dict) else length
        elements = expected if isinstance(expected, (list, tuple)) else []
        kinds = [np.asarray(elements[i]).dtype if i < len(elements) else np.dtype(np.float32) for i in range(length)]
        return [from_file_type(np.load(folder / f"{stem}.{i}.npy", allow_pickle=False), kinds[i]) for i in range(length)]
    array = np.load(folder / f"{stem}.npy", allow_pickle=False)
    return from_file_type(array, np.asarray(expected).dtype) if expected is not None else array


def assert_close(got, want, rtol, atol, where="output"):
    """Compares as onnx.backend.test.runner does: kinds, shapes and types exactly, numbers within rtol and atol."""
    if want is None or got is None:
        assert got is None and want is None, f"{where}: one is an empty optional, the other is not"
        return
    if isinstance(want, (list, tuple)):
        assert isinstance(got, (list, tuple)) and len(got) == len(want), f"{where}: expected a sequence of {len(want)}"
        for i, (one, other) in enumerate(zip(got, want)):
            assert_close(one, other, rtol, atol, f"{where}[{i}]")
        return
    want = np.asarray(want)
    assert got.shape == want.shape, f"{where}: expected shape {want.shape}, found {got.shape}"
    if want.dtype == object or want.dtype.kind == "U":
        text = [s.decode() if isinstance(s, bytes) else str(s) for s in want.ravel()]
        assert [str(s) for s in got.ravel()] == text, f"{where}: strings differ"
        return
    assert got.dtype == want.dtype, f"{where}: expected type {want.dtype}, found {got.dtype}"
    if want.dtype.name == "bfloat16":
        rtol = max(rtol, 2**-6)
    if want.dtype.name not in np.sctypeDict:
        got, want = got.astype(np.float32), want.astype(np.float32)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=where)
