"""Checks tools.py: values to files and back, and what assert_close refuses."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import ml_dtypes
import numpy as np

from support.tools import assert_close, from_file_type, to_file_type, write_value

NUMPY = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
EXTENSIONS = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4",
              "uint4", "int2", "uint2"]


def kept(array):
    with tempfile.TemporaryDirectory() as folder:
        path = write_value(array, pathlib.Path(folder) / "x")
        stored = np.load(path, allow_pickle=False)
    assert stored.dtype.kind in "biufcU", stored.dtype
    assert_close(from_file_type(stored, array.dtype), array, 0, 0)
    return 1


def refused(got, want, rtol=1e-3, atol=1e-7):
    try:
        assert_close(got, want, rtol, atol)
    except AssertionError:
        return 1
    raise SystemExit(f"{got!r} should not equal {want!r}")


values = [np.array([0, 1, 1, 0, 1]).astype(name) for name in NUMPY]
values += [np.array([0, 1, 0.5, 1, 1.5]).astype(getattr(ml_dtypes, name)) for name in EXTENSIONS]
values.append(np.array(["a", "Ünïcode", ""], dtype=object))
print(sum(map(kept, values)), "types kept")
one = np.ones(3, np.float32)
print(refused(one, one.astype(np.float64)) + refused(one, np.ones((3, 1), np.float32)) + refused(one * 1.002, one) + refused([one], [one, one])
      + refused(None, one) + refused(one * np.nan, one) + refused(np.array(["a"], object), np.array(["b"], object)), "differences refused")
