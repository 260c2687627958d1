"""Damage files, sign the damage, and watch what reading them does.

``python tests/persistence/damaged.py FILE 10000`` tells how many of so many were refused.
"""

import copy
import hashlib
import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import skinformer
from skinformer import ModelFileError

DIGEST = slice(
    len('{"__metadata__":{"digest":"') + 8, len('{"__metadata__":{"digest":"') + 72
)
ODD = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 1e308, -0.5, "", "x", "os.system", "../..",
    "Informer", "LinearFit", "Trees", "Timestamp", "/etc/passwd", "dateutil//etc/passwd", "9999h",
    [], {}, {"is": "dict", "of": []}, {"is": "array", "of": 0}, {"is": "array", "of": 10**9},
    {"is": "tuple", "of": [{"is": "tuple", "of": []}] * 9}, {"is": "objects", "of": ["a"]},
    {"is": "other", "of": 1}, {"is": "float", "of": "nan"}, {"is": "bytes", "of": "zz"},
]  # fmt: skip


def signed(raw):
    """Put the digest of the rest where it belongs."""
    raw = bytearray(raw)
    raw[DIGEST] = b"0" * 64
    raw[DIGEST] = hashlib.blake2b(raw, digest_size=32).hexdigest().encode()
    return bytes(raw)


def rebuilt(header, body):
    """Make a signed file of a header and the bytes behind it."""
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return signed(len(text).to_bytes(8, "little") + text + body)


def parts(raw):
    """Take a file apart."""
    end = 8 + int.from_bytes(raw[:8], "little")
    return json.loads(raw[8:end]), raw[end:]


def bytes_changed(raw, chance):
    """Flip, cut off, add to, or move some bytes."""
    raw = bytearray(raw)
    way = chance.randrange(5)
    at = chance.randrange(len(raw))
    if way == 0:
        raw[at] ^= 1 << chance.randrange(8)
    elif way == 1:
        del raw[at:]
    elif way == 2:
        raw[at:at] = chance.randbytes(chance.randrange(1, 99))
    elif way == 3:
        raw[at : at + 99] = chance.randbytes(99)
    else:
        del raw[at : at + chance.randrange(1, 99)]
    return bytes(raw)


def tree_changed(raw, chance):
    """Change values in the tree or the header, and sign."""
    header, body = parts(raw)
    if chance.random() < 0.3:
        _change(header, chance)
        header.setdefault("__metadata__", {}) if isinstance(header, dict) else None
    else:
        tree = json.loads(header["__metadata__"]["state"])
        for _ in range(chance.randrange(1, 4)):
            _change(tree, chance)
        header["__metadata__"]["state"] = json.dumps(tree)
    return rebuilt(header, body)


def _change(tree, chance):
    """Walk to some leaf, and put something else there, or on the way."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        if not keys:
            return
        key = chance.choice(list(keys))
        inner = isinstance(tree[key], dict | list) and len(tree[key])
        if not inner or chance.random() < 0.08:
            if isinstance(tree[key], int) and chance.random() < 0.5:
                tree[key] = tree[key] * chance.choice(
                    [-1, 2, 10**6, 10**12]
                ) + chance.randrange(3)
            elif chance.random() < 0.2:
                del tree[key]
            else:
                tree[key] = copy.deepcopy(chance.choice(ODD))
            return
        tree = tree[key]


def body_changed(raw, chance):
    """Change numbers of arrays, and sign."""
    end = 8 + int.from_bytes(raw[:8], "little")
    raw = bytearray(raw)
    for _ in range(chance.randrange(1, 20)):
        raw[chance.randrange(end, len(raw))] = chance.choice(
            [0, 1, 255, chance.randrange(256)]
        )
    return signed(raw)


WAYS = (bytes_changed, tree_changed, body_changed)


class Watch:
    """Note whatever reading does besides reading."""

    def __init__(self):
        self.on, self.seen = False, []
        sys.addaudithook(self._note)

    def _note(self, event, args):
        if self.on and event in {
            "import", "exec", "compile", "os.system", "subprocess.Popen", "socket.connect",
            "ctypes.dlopen", "pickle.find_class", "os.remove", "os.rename", "shutil.rmtree",
        }:  # fmt: skip
            self.seen.append((event, str(args)[:200]))
        if self.on and event == "open" and args[1] not in (None, "r", "rb"):
            self.seen.append((event, str(args)[:200]))


def try_file(path, watch):
    """Give "refused" or the model, the seconds it took, and what was seen."""
    watch.seen, watch.on, begun = [], True, time.perf_counter()
    try:
        found = skinformer.load(path)
    except ModelFileError:
        found = "refused"
    finally:
        watch.on = False
    return found, time.perf_counter() - begun, list(watch.seen)


def main(source, count):
    """Report on so many files."""
    raw, watch, chance = Path(source).read_bytes(), Watch(), random.Random(0)
    skinformer.load(source)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused, longest, seen = 0, 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        for i in range(count):
            path.write_bytes(WAYS[i % len(WAYS)](raw, chance))
            try:
                found, seconds, events = try_file(path, watch)
            except BaseException:
                Path(tempfile.gettempdir(), "skinformer-offender").write_bytes(
                    path.read_bytes()
                )
                raise
            refused += found == "refused"
            if seconds > longest:
                longest = seconds
            seen += events
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{count} files: {refused} refused, longest {longest:.2f} s")  # noqa: T201
    print(f"peak {before / 1024:.0f} -> {peak / 1024:.0f} MB, events {set(seen)}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
