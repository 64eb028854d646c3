"""The operators of the e2e suite: one row each. A row is a model of independent nodes, one for each group of input shapes.

Sizes are odd on purpose: 0, 1, 3, 31, 33 and 1000 meet the edges of warps, vectors and blocks, and broadcasting goes both ways.
"""
import dataclasses

import numpy as np

FLOATS = ("f32", "f16", "f64")
INTS = ("i32", "i64")
SMALL_INTS = ("i8", "u8", "i16", "u16", "u32", "u64")
NUMBERS = FLOATS + INTS


@dataclasses.dataclass
class Row:
    """One operator. `shapes` holds one tuple of input shapes for each node; `consts` are initialisers after the inputs."""
    op: str
    shapes: list
    types: tuple = FLOATS
    attrs: dict = dataclasses.field(default_factory=dict)
    consts: tuple = ()
    low: float = -2.0
    high: float = 2.0
    outputs: int = 1
    tolerance: float = 1.0        # a factor on the type's tolerance, with its reason beside it
    kinds: tuple = ()             # the type of each input where it is not the row's: "b1", "i64", "=" is the row's
    label: str = ""
    opset: int = 22
    dynamic: bool = True          # also with every dimension unknown

    @property
    def name(self):
        return f"{self.op}{'-' + self.label if self.label else ''}"


ONE = [((),), ((0,),), ((1,),), ((3,),), ((31,),), ((33,),), ((1000,),), ((3, 0, 5),), ((7, 1, 33),), ((2, 31, 33),)]
TWO = [((1000,), (1000,)), ((31, 33), (33,)), ((33,), (31, 33)), ((3, 1, 33), (31, 1)), ((0, 3), (1, 3)), ((1,), (1000,)),
       ((), (3,)), ((2, 3, 1), (1, 33)), ((1, 1), (1, 1)), ((1023,), (1023,))]
ROWS2 = [((1, 1),), ((3, 31),), ((33, 1000),), ((0, 3),), ((2, 3, 33),)]
REDUCED = [((3, 31),), ((33, 1000),), ((1, 1),), ((0, 3),), ((5, 7, 33),)]
I64 = lambda *values: np.array(values, np.int64)


def unary(op, low=-2.0, high=2.0, types=FLOATS, **more):
    return Row(op, ONE, types, low=low, high=high, **more)


def binary(op, low=-2.0, high=2.0, types=NUMBERS, **more):
    return Row(op, TWO, types, low=low, high=high, **more)


UNARY = [
    unary("Abs", types=NUMBERS), unary("Neg", types=NUMBERS), unary("Sign", types=NUMBERS), unary("Sqrt", 0), unary("Exp"),
    unary("Log", 0.01, 9), unary("Sin", -9, 9), unary("Cos", -9, 9), unary("Tan", -1, 1, ("f32",)), unary("Asin", -1, 1, ("f32",)),
    unary("Acos", -1, 1, ("f32",)), unary("Atan", types=("f32",)), unary("Sinh", types=("f32",)), unary("Cosh", types=("f32",)),
    unary("Tanh", -6, 6), unary("Asinh", types=("f32",)), unary("Acosh", 1, 9, ("f32",)), unary("Atanh", -.9, .9, ("f32",)),
    unary("Erf", -3, 3, ("f32", "f16")), unary("Floor", -9, 9), unary("Ceil", -9, 9), unary("Round", -9, 9),
    unary("Reciprocal", .1, 9), unary("Sigmoid", -9, 9), unary("Relu"), unary("LeakyRelu", attrs={"alpha": .1}),
    unary("Elu", attrs={"alpha": .7}), unary("Selu", types=("f32",)), unary("Celu", types=("f32",), attrs={"alpha": 1.3}),
    unary("Softplus", types=("f32",)), unary("Softsign", types=("f32",)), unary("HardSigmoid"), unary("HardSwish", -5, 5, ("f32",)),
    unary("Gelu", types=("f32",)), unary("Gelu", types=("f32",), attrs={"approximate": "tanh"}, label="tanh"),
    unary("Mish", types=("f32",)), unary("ThresholdedRelu", types=("f32",)), unary("IsNaN"), unary("Identity", types=NUMBERS + ("b1",)),
    unary("Not", types=("b1",)), unary("BitwiseNot", types=INTS),
]

BINARY = [
    binary("Add", types=NUMBERS + SMALL_INTS), binary("Sub"), binary("Mul"), binary("Div", .5, 9), binary("Div", -9, -1, INTS, label="negative"),
    binary("Pow", .2, 3, FLOATS), binary("Min"), binary("Max"), binary("Mod", 1, 50, INTS), binary("Mod", .5, 9, FLOATS, attrs={"fmod": 1}, label="fmod"),
    Row("PRelu", [((31, 33), (33,)), ((3, 4, 5), (4, 1)), ((1000,), (1,))], ("f32",)),
    binary("And", types=("b1",)), binary("Or", types=("b1",)), binary("Xor", types=("b1",)), binary("Equal", 0, 3, NUMBERS + ("b1",)),
    binary("Less", 0, 3), binary("Greater", 0, 3), binary("LessOrEqual", 0, 3), binary("GreaterOrEqual", 0, 3),
    binary("BitwiseAnd", 0, 99, INTS), binary("BitwiseOr", 0, 99, INTS), binary("BitwiseXor", 0, 99, INTS),
    binary("BitShift", 0, 7, ("u8", "u32", "u64"), attrs={"direction": "LEFT"}),
    Row("Where", [((33,), (31, 33), (1,)), ((31, 1), (33,), (31, 33)), ((0,), (0,), (1,)), ((1000,), (1000,), (1000,))], NUMBERS + ("b1",), kinds=("b1", "=", "=")),
    Row("Clip", [((1000,), (), ()), ((3, 31), (), ())], NUMBERS),
    Row("Sum", [((31, 33), (33,), (31, 1))], FLOATS), Row("Mean", [((31, 33), (33,), (31, 1))], ("f32",)),
]

# A sum of n terms in another order differs by a few roundings of its largest partial sum.
REDUCTIONS = [Row(f"Reduce{kind}", REDUCED, types, consts=(I64(-1),), attrs={"keepdims": keep}, low=low, tolerance=20,
                  label=f"keep{keep}")
              for kind, types, low in [("Sum", NUMBERS, -2), ("Mean", FLOATS, -2), ("SumSquare", ("f32",), -2), ("L1", ("f32",), -2),
                                       ("L2", ("f32",), -2), ("LogSum", ("f32",), .1), ("LogSumExp", ("f32",), -2)]
              for keep in (0, 1)] + [
    Row("ReduceMax", [s for s in REDUCED if 0 not in s[0]], NUMBERS, consts=(I64(-1),)),
    Row("ReduceMin", [s for s in REDUCED if 0 not in s[0]], NUMBERS, consts=(I64(0),), label="axis0"),
    Row("ReduceProd", [((3, 31),), ((1, 1),), ((5, 7, 9),)], ("f32",), consts=(I64(-1),), low=.8, high=1.2, tolerance=20),
    Row("ReduceSum", [((3, 5, 7),), ((33, 2, 31),)], ("f32",), consts=(I64(0, 2),), label="two-axes", tolerance=20),
    Row("ReduceSum", [((3, 5, 7),), ((1000,),)], ("f32",), label="all", tolerance=20),
    Row("ArgMax", [((3, 31),), ((33, 1000),)], ("f32", "i32"), attrs={"axis": -1}), Row("ArgMin", [((3, 31),)], ("f32",), attrs={"axis": 0, "keepdims": 0}),
    Row("CumSum", [((3, 31),), ((33, 100),)], ("f32", "i64"), consts=(np.array(1, np.int64),), tolerance=20),
    Row("Softmax", ROWS2, FLOATS, attrs={"axis": -1}, tolerance=4), Row("Softmax", [((3, 31),), ((2, 33, 5),)], ("f32",), attrs={"axis": 1}, label="axis1", tolerance=4),
    Row("LogSoftmax", ROWS2, ("f32",), attrs={"axis": -1}, tolerance=4),
    Row("LayerNormalization", [((3, 33), (33,), (33,)), ((2, 5, 1000), (1000,), (1000,)), ((1, 1), (1,), (1,))], ("f32",), tolerance=10),
    Row("RMSNormalization", [((3, 33), (33,)), ((2, 5, 1000), (1000,))], ("f32",), tolerance=10, opset=23),
    Row("InstanceNormalization", [((2, 3, 5, 7), (3,), (3,))], ("f32",), tolerance=10),
    Row("GroupNormalization", [((2, 6, 5, 7), (6,), (6,))], ("f32",), attrs={"num_groups": 3}, tolerance=10),
    Row("BatchNormalization", [((2, 3, 5, 7), (3,), (3,), (3,), (3,))], ("f32",), low=.1, tolerance=10),
    Row("LpNormalization", [((3, 33),)], ("f32",), tolerance=10),
]

# A dot product of k terms in f32 has an error of about sqrt(k) roundings of its partial sums, more after cancellation.
CONTRACTIONS = [
    Row("MatMul", [((3, 31), (31, 33)), ((1, 1), (1, 1)), ((33, 100), (100, 65)), ((31,), (31,)), ((31,), (31, 3)), ((3, 31), (31,)),
                   ((2, 1, 3, 31), (5, 31, 33)), ((0, 3), (3, 5)), ((3, 0), (0, 5)), ((64, 64), (64, 64))], ("f32", "f64", "f16", "i32"), tolerance=50),
    Row("Gemm", [((31, 3), (33, 31), (33,)), ((100, 65), (7, 100), (65, 1))], ("f32", "f16"), attrs={"transA": 1, "transB": 1, "alpha": .5, "beta": 2.0}, tolerance=50),
    Row("Gemm", [((3, 31), (31, 33))], ("f32",), label="plain", tolerance=50),
    Row("Einsum", [((3, 5, 7), (3, 7, 9))], ("f32",), attrs={"equation": "bij,bjk->bik"}, tolerance=50),
    Row("Conv", [((1, 3, 9, 11), (5, 3, 3, 3), (5,)), ((2, 3, 31, 33), (8, 3, 3, 3), (8,))], ("f32", "f16"), attrs={"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, tolerance=50),
    Row("Conv", [((1, 6, 9, 11), (6, 1, 3, 3))], ("f32",), attrs={"kernel_shape": [3, 3], "group": 6, "strides": [2, 2]}, label="depthwise", tolerance=50),
    Row("Conv", [((1, 4, 9, 11), (6, 2, 3, 3))], ("f32",), attrs={"kernel_shape": [3, 3], "group": 2, "dilations": [2, 1]}, label="group", tolerance=50),
    Row("Conv", [((2, 3, 33), (4, 3, 5))], ("f32",), attrs={"kernel_shape": [5], "strides": [2], "pads": [2, 1]}, label="1d", tolerance=50),
    Row("Conv", [((1, 16, 8, 8), (33, 16, 1, 1), (33,))], ("f32",), attrs={"kernel_shape": [1, 1]}, label="1x1", tolerance=50),
    Row("ConvTranspose", [((1, 3, 5, 7), (3, 4, 3, 3))], ("f32",), attrs={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, tolerance=50),
    Row("MaxPool", [((1, 3, 9, 11),)], ("f32", "f16"), attrs={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    Row("AveragePool", [((1, 3, 9, 11),)], ("f32",), attrs={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, tolerance=4),
    Row("GlobalAveragePool", [((2, 3, 9, 11),)], ("f32",), tolerance=20), Row("GlobalMaxPool", [((2, 3, 9, 11),)], ("f32",)),
    Row("LSTM", [((5, 2, 3), (1, 16, 3), (1, 16, 4), (1, 32))], ("f32",), attrs={"hidden_size": 4}, outputs=3, tolerance=50),
    Row("GRU", [((5, 2, 3), (1, 12, 3), (1, 12, 4), (1, 24))], ("f32",), attrs={"hidden_size": 4}, outputs=2, tolerance=50),
    Row("RNN", [((5, 2, 3), (1, 4, 3), (1, 4, 4), (1, 8))], ("f32",), attrs={"hidden_size": 4}, outputs=2, tolerance=50),
]

MOVES = [
    Row("Reshape", [((3, 4, 5),), ((2, 30),)], NUMBERS + ("b1",), consts=(I64(5, -1),)),
    Row("Transpose", [((3, 31, 33),), ((1, 2, 3),), ((0, 2, 3),)], NUMBERS + ("b1",), attrs={"perm": [2, 0, 1]}), Row("Transpose", [((31, 33),)], ("f32",), label="default"),
    Row("Concat", [((3, 5), (3, 31), (3, 0)), ((1, 1), (1, 1), (1, 1))], NUMBERS + ("b1",), attrs={"axis": 1}), Row("Concat", [((3, 5), (31, 5))], ("f32",), attrs={"axis": 0}, label="axis0"),
    Row("Split", [((3, 9),)], ("f32", "i64"), consts=(I64(2, 3, 4),), attrs={"axis": 1}, outputs=3),
    Row("Slice", [((31, 33),), ((5, 7),)], NUMBERS, consts=(I64(1, -1), I64(4, -100), I64(0, 1), I64(2, -3))),
    Row("Pad", [((3, 5),), ((31, 33),)], ("f32", "i64"), consts=(I64(1, 2, 0, 3),)), Row("Pad", [((3, 5),)], ("f32",), consts=(I64(1, 2, 0, 3),), attrs={"mode": "reflect"}, label="reflect"),
    Row("Pad", [((3, 5),)], ("f32",), consts=(I64(1, 2, 0, 3),), attrs={"mode": "edge"}, label="edge"),
    Row("Gather", [((31, 33),), ((5, 1),)], NUMBERS, consts=(np.array([[0, 2], [-1, 4]], np.int64),), attrs={"axis": 0}), Row("Gather", [((5, 31),)], ("f32",), consts=(I64(30, 0, -2),), attrs={"axis": 1}, label="axis1"),
    Row("GatherElements", [((3, 5),)], ("f32", "i64"), consts=(np.array([[0, 4], [-1, 2], [1, 1]], np.int64),), attrs={"axis": 1}),
    Row("GatherND", [((3, 5),)], ("f32",), consts=(np.array([[0, 4], [2, 1]], np.int64),)),
    Row("ScatterND", [((5, 3),)], ("f32",), consts=(np.array([[1], [4]], np.int64), np.ones((2, 3), np.float32))),
    Row("Expand", [((3, 1),), ((1, 5),)], NUMBERS + ("b1",), consts=(I64(2, 3, 5),)), Row("Tile", [((3, 5),)], ("f32", "i64"), consts=(I64(2, 3),)),
    Row("Expand", [((4, 1),), ((1, 8, 4, 1),)], NUMBERS, consts=(I64(3, 1, 4, 1),), label="last-of-one"), Row("Tile", [((4, 5, 2, 1),)], FLOATS, consts=(I64(1, 2, 2, 1),), label="rank-4"),
    Row("Squeeze", [((3, 1, 5),)], NUMBERS, consts=(I64(1),)), Row("Unsqueeze", [((3, 5),), ((0, 2),)], NUMBERS, consts=(I64(0, -1),)), Row("Flatten", [((3, 4, 5),)], ("f32",), attrs={"axis": 2}),
    Row("Trilu", [((31, 33),), ((2, 5, 5),)], ("f32", "i64"), attrs={"upper": 0}), Row("DepthToSpace", [((1, 8, 3, 5),)], ("f32",), attrs={"blocksize": 2}), Row("SpaceToDepth", [((1, 2, 6, 4),)], ("f32",), attrs={"blocksize": 2}),
    Row("Shape", [((3, 0, 5),), ((31,),)], ("f32",)), Row("Size", [((3, 0, 5),), ((31,),)], ("f32",)),
    Row("TopK", [((3, 31),)], ("f32",), consts=(I64(4),), outputs=2), Row("OneHot", [((5,),)], ("i64",), low=0, high=6, consts=(np.array(7, np.int64), np.array([0, 1], np.float32))),
    Row("Resize", [((1, 2, 5, 7),)], ("f32",), consts=(np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)), attrs={"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    Row("Resize", [((1, 2, 5, 7),)], ("f32",), consts=(np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)), attrs={"mode": "linear"}, label="linear", tolerance=4),
    Row("NonZero", [((3, 31),), ((33,),)], ("f32", "b1"), low=-1, high=1), Row("EyeLike", [((3, 5),)], ("f32",)),
]

TO = {"f32": 1, "f16": 10, "f64": 11, "i32": 6, "i64": 7, "b1": 9, "u8": 2, "i8": 3}
CASTS = [Row("Cast", [((1000,),), ((0,),), ((3, 31),)], NUMBERS + ("b1", "u8"), attrs={"to": code}, low=0, high=100, label=f"to-{name}")
         for name, code in TO.items()]

ROWS = UNARY + BINARY + REDUCTIONS + CONTRACTIONS + MOVES + CASTS

# Small graphs as text: fusion across operators, shape arithmetic, control flow. (text, [input shapes]...); every dimension may
# be a symbol, and all the lists of shapes run on one artifact.
GRAPHS = {
    "norm-over-two-axes-trilu": ("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[N, M, 8, 33] x, float[8, 33] s) => (float[N, M, 8, 33] y) { t = LayerNormalization <axis = 2> (x, s)
        k = Constant <value = int64 {-3}> () y = Trilu <upper = 0> (t, k) }""", [[(3, 7, 8, 33), (8, 33)], [(1, 1, 8, 33), (8, 33)]]),
    "softmax-by-hand": ("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[N, C] x) => (float[N, C] y) { axis = Constant <value = int64[1] {-1}> () m = ReduceMax (x, axis) d = Sub (x, m)
        e = Exp (d) s = ReduceSum (e, axis) y = Div (e, s) }""", [[(3, 31)], [(33, 1000)], [(1, 1)]]),
    "mlp": ("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[N, 31] x, float[31, 64] w, float[64] b, float[64, 5] v) => (float[N, 5] y) { h = MatMul (x, w) i = Add (h, b)
        r = Relu (i) y = MatMul (r, v) }""", [[(1, 31), (31, 64), (64,), (64, 5)], [(33, 31), (31, 64), (64,), (64, 5)]]),
    "layernorm-by-hand": ("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[N, S, C] x, float[C] w, float[C] b) => (float[N, S, C] y) { axis = Constant <value = int64[1] {-1}> ()
        eps = Constant <value = float {1e-5}> () m = ReduceMean (x, axis) d = Sub (x, m) q = Mul (d, d) v = ReduceMean (q, axis)
        a = Add (v, eps) s = Sqrt (a) n = Div (d, s) t = Mul (n, w) y = Add (t, b) }""", [[(2, 3, 33), (33,), (33,)]]),
    "attention": ("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[B, S, 32] q, float[B, T, 32] k, float[B, T, 32] v) => (float[B, S, 32] y) { t = Transpose <perm = [0, 2, 1]> (k)
        s = MatMul (q, t) c = Constant <value = float {0.17}> () u = Mul (s, c) p = Softmax <axis = -1> (u) y = MatMul (p, v) }""",
                  [[(2, 5, 32), (2, 7, 32), (2, 7, 32)], [(1, 1, 32), (1, 33, 32), (1, 33, 32)]]),
    "shape-arithmetic": ("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[N, C, H, W] x) => (float[N, M, C] y) { s = Shape (x) zero = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> ()
        axis = Constant <value = int64[1] {0}> () n = Gather (s, zero) c = Gather (s, one) nn = Unsqueeze (n, axis) cc = Unsqueeze (c, axis)
        m = Constant <value = int64[1] {-1}> () shape = Concat <axis = 0> (nn, cc, m) r = Reshape (x, shape) y = Transpose <perm = [0, 2, 1]> (r) }""",
                         [[(2, 3, 4, 5)], [(1, 1, 1, 1)], [(1, 33, 31, 3)]]),
    "conv-bn-relu": ("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[N, 3, H, W] x, float[8, 3, 3, 3] w, float[8] a, float[8] b, float[8] m) => (float[N, 8, P, Q] y)
        { c = Conv <pads = [1, 1, 1, 1]> (x, w) v = Exp (m) n = BatchNormalization (c, a, b, m, v) y = Relu (n) }""",
                     [[(1, 3, 9, 11), (8, 3, 3, 3), (8,), (8,), (8,)], [(2, 3, 31, 33), (8, 3, 3, 3), (8,), (8,), (8,)]]),
    "if": ("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[N] x) => (float[N] y) { axis = Constant <value = int64[1] {0}> () s = ReduceSum <keepdims = 0> (x, axis)
        z = Constant <value = float {0.0}> () c = Greater (s, z)
        y = If (c) <then_branch = t () => (float[N] p) { p = Mul (x, x) }, else_branch = e () => (float[N] q) { q = Neg (x) }> }""",
           [[(33,)], [(1,)], [(1000,)]]),
}
