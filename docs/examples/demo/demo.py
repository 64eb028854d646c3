"""Reads the text in a picture: PP-OCRv4's detection and recognition, compiled by weftc and run by weft-run.

usage: demo.py [--bin DIR] [--device auto|cuda|emulator] [--check] [PICTURE.png]

Detection gives each pixel the probability of being text; connected pixels become boxes; each box is cut out, scaled to 48
pixels of height and recognised; the most probable characters are joined as CTC says. Both models have unknown sizes: one artifact each
serves every picture. `--check` runs ONNX Runtime beside them and compares. The models come out of the PyPI package
rapidocr-onnxruntime (Apache-2.0).
"""
import argparse
import ctypes
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))

from fetch_models import model as fetch_model

DETECTION_THRESHOLD = 0.3   # a pixel is text above it
BOX_THRESHOLD = 0.5         # a box counts when its mean is above it
UNCLIP_RATIO = 1.6          # the model draws boxes shrunk; they grow back by area * ratio / circumference
TEXT_HEIGHT = 48            # pixels, what recognition was trained on


class Weft:
    """One model, compiled once; each call is one weft-run."""

    def __init__(self, name, options, folder):
        self.options, self.folder, self.name = options, folder / name, name
        self.folder.mkdir()
        self.artifact = self.folder / "model.weft"
        start = time.monotonic()
        call(options.bin / "weftc", fetch_model(name), "-o", self.artifact, *options.weftc)
        self.compile_s = time.monotonic() - start
        self.run_s, self.launches, self.arena_bytes, self.notes = 0.0, 0, 0, []

    def __call__(self, x):
        """[N, 3, H, W] float32 -> the model's only output."""
        np.save(self.folder / "x.npy", x)
        counters, out = self.folder / "counters.json", self.folder / "out"
        counting = [] if self.options.device.startswith("cuda") else ["--counters", counters]
        start = time.monotonic()
        done = call(self.options.bin / "weft-run", self.artifact, f"--device={self.options.device}", "--input",
                    f"x={self.folder / 'x.npy'}", "--output", out, *counting)
        self.run_s += time.monotonic() - start
        self.notes += [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        if counters.exists():
            self.launches += json.loads(counters.read_text())["launches"]
        shape = "x".join(map(str, x.shape))
        told = json.loads(call(self.options.bin / "weft-run", self.artifact, "--describe", "--json", "--shape", f"x={shape}").stdout)
        self.arena_bytes = max(self.arena_bytes, int(told["arena_bytes"]) + int(told["constant_bytes"]))
        if not counting:
            self.launches += told["launches"]
        file, = out.glob("*.npy")
        return np.load(file)


class Oracle:
    """The same model in ONNX Runtime."""

    def __init__(self, name):
        import onnxruntime
        self.session = onnxruntime.InferenceSession(str(fetch_model(name)), providers=["CPUExecutionProvider"])

    def __call__(self, x):
        return self.session.run(None, {self.session.get_inputs()[0].name: x})[0]


class Checked:
    """Runs both and keeps the largest difference, relative to the largest value."""

    def __init__(self, weft, oracle):
        self.weft, self.oracle, self.worst = weft, oracle, 0.0

    def __call__(self, x):
        got, want = self.weft(x), self.oracle(x)
        self.worst = max(self.worst, float(np.abs(got - want).max() / np.abs(want).max()))
        return got


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"demo: {' '.join(map(str, command))}\nended with exit code {done.returncode}:\n{done.stderr.strip()}")
    return done


def read_png(path):
    """[H, W, 3] uint8 of a PNG with 8 bits a channel, not interlaced."""
    data = path.read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        sys.exit(f"demo: {path} is not a PNG file")
    position, packed, palette = 8, b"", None
    while position < len(data):
        size, kind = struct.unpack(">I4s", data[position:position + 8])
        body = data[position + 8:position + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"IDAT":
            packed += body
        position += 12 + size
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    if depth != 8 or interlaced:
        sys.exit(f"demo: {path} has {depth} bits a channel or is interlaced; only 8 bits, not interlaced, can be read")
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    image = unfilter(rows, channels).reshape(height, width, channels)
    if color == 3:
        return palette[image[:, :, 0]]
    return np.repeat(image[:, :, :1], 3, axis=2) if color in (0, 4) else image[:, :, :3]


def unfilter(rows, step):
    """Undoes PNG's filters (PNG specification, section 9)."""
    out = np.zeros((len(rows), rows.shape[1] - 1), np.int32)
    above = np.zeros(out.shape[1], np.int32)
    for y, row in enumerate(rows):
        kind, line = int(row[0]), row[1:].astype(np.int32)
        if kind == 2:
            line = line + above
        elif kind in (1, 3, 4):
            for i in range(len(line)):
                left = line[i - step] if i >= step else 0
                corner = above[i - step] if i >= step else 0
                line[i] = (line[i] + predict(kind, left, above[i], corner)) & 255
        out[y] = above = line & 255
    return out.astype(np.uint8)


def predict(kind, left, up, corner):
    if kind == 1:
        return left
    if kind == 3:
        return (left + up) // 2
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))


def resize(image, height, width):
    """Bilinear, [H, W, 3] float32, half-pixel centres."""
    def axis(size, target):
        place = np.clip((np.arange(target) + .5) * size / target - .5, 0, size - 1)
        low = np.floor(place).astype(int)
        return low, np.minimum(low + 1, size - 1), (place - low).astype(np.float32)
    top, bottom, v = axis(image.shape[0], height)
    left, right, h = axis(image.shape[1], width)
    rows = image[top] * (1 - v)[:, None, None] + image[bottom] * v[:, None, None]
    return rows[:, left] * (1 - h)[None, :, None] + rows[:, right] * h[None, :, None]


def normalised(bgr):
    """Pixels of 0 to 255 as detection was trained on them."""
    return ((bgr / 255 - np.float32([.485, .456, .406])) / np.float32([.229, .224, .225])).astype(np.float32)


def detect(image, model):
    """Boxes (top, bottom, left, right) of the lines of text, from top to bottom."""
    height, width = (max(32, round(size / 32) * 32) for size in image.shape[:2])
    x = normalised(resize(image[:, :, ::-1].astype(np.float32), height, width))
    probability = model(np.ascontiguousarray(x.transpose(2, 0, 1)[None], np.float32))[0, 0]
    scale_y, scale_x = image.shape[0] / height, image.shape[1] / width
    boxes = []
    for ys, xs in components(probability > DETECTION_THRESHOLD):
        if len(ys) < 12 or probability[ys, xs].mean() < BOX_THRESHOLD:
            continue
        h, w = np.ptp(ys) + 1, np.ptp(xs) + 1
        grow = h * w * UNCLIP_RATIO / (2 * (h + w))
        boxes.append((max(0, int((ys.min() - grow) * scale_y)), min(image.shape[0], int((ys.max() + 1 + grow) * scale_y)),
                      max(0, int((xs.min() - grow) * scale_x)), min(image.shape[1], int((xs.max() + 1 + grow) * scale_x))))
    return sorted(boxes)


def components(mask):
    """The 4-connected components of a mask, as (ys, xs)."""
    rest = mask.copy()
    for seed in np.argwhere(mask):
        if not rest[tuple(seed)]:
            continue
        stack, found = [tuple(seed)], []
        rest[tuple(seed)] = False
        while stack:
            y, x = stack.pop()
            found.append((y, x))
            for place in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= place[0] < mask.shape[0] and 0 <= place[1] < mask.shape[1] and rest[place]:
                    rest[place] = False
                    stack.append(place)
        yield tuple(np.array(found).T)


def recognise(piece, model, characters):
    """(text, confidence) of one line."""
    width = max(32, round(piece.shape[1] * TEXT_HEIGHT / piece.shape[0]))
    x = resize(piece[:, :, ::-1].astype(np.float32), TEXT_HEIGHT, width) / 127.5 - 1
    scores = model(np.ascontiguousarray(x.transpose(2, 0, 1)[None], np.float32))[0]
    best = scores.argmax(axis=1)
    kept = (best != 0) & (best != np.concatenate([[0], best[:-1]]))
    return "".join(characters[i] for i in best[kept]), float(scores.max(axis=1)[kept].mean()) if kept.any() else 0.0


def read_characters():
    """The recognition model carries its alphabet; 0 is CTC's blank, the space comes last."""
    import onnx
    metadata = {p.key: p.value for p in onnx.load(fetch_model("ppocrv4_rec")).metadata_props}
    return ["", *metadata["character"].splitlines(), " "]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--check", action="store_true", help="compare with ONNX Runtime")
    parser.add_argument("--oracle-only", action="store_true", help="ONNX Runtime alone, to try the picture's handling")
    parser.add_argument("picture", type=pathlib.Path, nargs="?", default=HERE / "picture.png")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.weftc = [] if has_driver(options.device) else ["--emit=ptx"]
    return options


def has_driver(device):
    """Whether a GPU may run it, so that machine code is worth ptxas' time."""
    try:
        return not device.startswith("emulator") and bool(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        return False


def report(wefts):
    for line in dict.fromkeys(note for weft in wefts for note in weft.notes):
        print(f"  {line}")
    for weft in wefts:
        print(f"  {weft.name}: compiled in {weft.compile_s:.1f} s, loaded and run in {weft.run_s:.2f} s, {weft.launches} kernels launched, "
              f"peak {weft.arena_bytes / 1e6:.1f} MB of device memory")


def main():
    options = parse_arguments()
    image = read_png(options.picture)
    names = ("ppocrv4_det", "ppocrv4_rec")
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as folder:
        wefts = [] if options.oracle_only else [Weft(name, options, pathlib.Path(folder)) for name in names]
        models = wefts or [Oracle(name) for name in names]
        if options.check:
            models = [Checked(weft, Oracle(name)) for weft, name in zip(wefts, names)]
        characters = read_characters()
        print(f"{options.picture.name}, {image.shape[1]} x {image.shape[0]} pixels, says:")
        for top, bottom, left, right in detect(image, models[0]):
            text, confidence = recognise(image[top:bottom, left:right], models[1], characters)
            print(f"    {text}    ({confidence:.0%})")
        report(wefts)
        if options.check:
            print(f"  largest difference to ONNX Runtime: {max(model.worst for model in models):.1e} of the largest value")


if __name__ == "__main__":
    main()
