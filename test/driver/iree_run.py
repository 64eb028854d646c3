"""Runs Inputs/matmul.vmfb with IREE's CUDA runtime on whatever libcuda.so.1 it finds, against numpy."""
import os
import sys

import iree.runtime as rt
import numpy as np

rt.flags.parse_flags(*sys.argv[1:])
context = rt.SystemContext(config=rt.Config("cuda"))
path = os.path.join(os.path.dirname(__file__), "Inputs", "matmul.vmfb")
context.add_vm_module(rt.VmModule.mmap(context.instance, path))
random = np.random.default_rng(0)
a, b, bias = (random.standard_normal(shape).astype("f") for shape in ((64, 128), (128, 96), (96,)))
for _ in range(2):
    got = context.modules.module["f"](a, b, bias).to_host()
want = np.maximum(a.astype("d") @ b + bias, 0).sum(1)
# f32 sums of 128 and then 96 terms: a few hundred half ulps at most.
error = abs(got - want).max() / abs(want).max()
print("equal" if error < 1e-5 else f"relative error {error}")
