"""Makes and shows .npy files for lit tests.

usage: npy.py make FILE EXPRESSION      numpy is np, e.g. npy.py make x.npy 'np.arange(5, dtype=np.float32)'
       npy.py show FILE                 type, shape and values, one line
"""
import sys

import numpy as np

if sys.argv[1] == "make":
    np.save(sys.argv[2], eval(sys.argv[3], {"np": np}), allow_pickle=False)
else:
    array = np.load(sys.argv[2], allow_pickle=False)
    print(array.dtype, list(array.shape), np.array2string(array.ravel(), threshold=64, max_line_width=10**6))
