"""Inputs for models: each made by a recipe of packages.toml, the same in every run, and near enough to real data that
outputs say something.

A recipe has `shape` (numbers, or names that a size gives numbers for), `make` (a function of MAKERS) and what that takes.
"""

import hashlib

import numpy as np


def generator(*names):
    """Random numbers that follow from names alone."""
    digest = hashlib.sha256("\n".join(map(str, names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def voice(random, shape, rate=16000, loudness=0.3):
    """Waveforms like speech, float32: voiced sounds of several harmonics whose pitch glides, hisses and pauses."""
    samples = shape[-1]
    waves = np.zeros((int(np.prod(shape[:-1], dtype=np.int64)), samples))
    for wave in waves:
        begin = 0
        while begin < samples:
            length = min(samples - begin, int(rate * random.uniform(0.05, 0.3)))
            time = np.arange(length) / rate
            kind = random.choice(["voiced", "voiced", "hiss", "pause"])
            if kind == "voiced":
                pitch = random.uniform(90, 250) * (1 + random.uniform(-0.5, 0.5) * time)
                phase = 2 * np.pi * np.cumsum(pitch) / rate
                sound = sum(random.uniform(0.2, 1) / k * np.sin(k * phase + random.uniform(0, 6)) for k in range(1, 16))
            elif kind == "hiss":
                sound = random.normal(0, 0.5, length)
            else:
                sound = np.zeros(length)
            wave[begin : begin + length] = sound * np.sin(np.pi * (np.arange(length) + 0.5) / length)
            begin += length
        wave += random.normal(0, 0.02, samples)  # no microphone is silent
        wave *= loudness / max(np.abs(wave).max(), 1e-3)
    return waves.reshape(shape).astype(np.float32)


def music(random, shape, rate=22050, loudness=0.5):
    """Waveforms (N, samples, 1) of struck strings: notes of a piano's middle octaves that begin at random and die away."""
    waves = np.zeros((shape[0], shape[1]))
    for wave in waves:
        for _ in range(1 + 8 * shape[1] // rate):
            begin = random.integers(0, shape[1])
            time = np.arange(shape[1] - begin) / rate
            pitch = 110 * 2 ** (random.integers(0, 37) / 12)
            wave[begin:] += sum(np.sin(2 * np.pi * k * pitch * time) / k**1.5 for k in range(1, 7)) * np.exp(-3 * time)
        wave += random.normal(0, 0.005, shape[1])
        wave *= loudness / np.abs(wave).max()
    return waves.reshape(shape).astype(np.float32)


def blurred(planes):
    """Each pixel with its neighbours, as a camera's lens has it."""
    padded = np.pad(planes, [(0, 0)] * (planes.ndim - 2) + [(1, 1), (1, 1)], mode="edge")
    height, width = planes.shape[-2:]
    return sum(padded[..., i : i + height, j : j + width] for i in range(3) for j in range(3)) / 9


def line_of_text(random, height, width):
    """Ink between 0 and 1: signs of a few strokes, one beside the other."""
    ink = np.zeros((height, width))
    top, bottom = height // 6, height - height // 6
    thick = max(1, height // 12)
    left = height // 4
    while left + height // 2 < width:
        wide = max(3, int(height * random.uniform(0.3, 0.6)))
        for _ in range(random.integers(2, 5)):
            (y0, y1), (x0, x1) = random.integers(top, bottom, 2), random.integers(left, left + wide, 2)
            for step in np.linspace(0, 1, 2 * height):
                y, x = round(y0 + step * (y1 - y0)), round(x0 + step * (x1 - x0))
                ink[y : y + thick, x : x + thick] = 1
        left += wide + int(height * random.choice([0.15, 0.15, 0.15, 0.6]))
    return ink


def text(random, shape, line=None, scale=1.0, mean=(0.0,), std=(1.0,)):
    """Images (N, C, H, W) of dark signs on bright paper in lines `line` pixels high (default: one line)."""
    count, _, height, width = shape
    line = min(line or height, height)
    pages = np.empty((count, height, width))
    for page in pages:
        ink = np.zeros((height, width))
        for top in range(0, height - line + 1, line + line // 2 if line < height else line):
            ink[top : top + line] = line_of_text(random, line, width)
        page[:] = random.uniform(0.75, 1) - ink * random.uniform(0.5, 0.75)
    return finished(random, np.repeat(blurred(pages)[:, None], shape[1], 1), scale, mean, std)


def scene(random, shape, scale=1.0, mean=(0.0,), std=(1.0,)):
    """Images (N, C, H, W) of coloured boxes and discs before a background that fades."""
    count, channels, height, width = shape
    down, across = np.mgrid[0:height, 0:width]
    images = np.empty(shape)
    for image in images:
        slope = random.uniform(-0.3, 0.3, (2, channels, 1, 1))
        image[:] = random.uniform(0.3, 0.7, (channels, 1, 1)) + slope[0] * down / height + slope[1] * across / width
        for _ in range(12):
            y, x = random.uniform(0, height), random.uniform(0, width)
            tall, wide = random.uniform(0.03, 0.3, 2) * (height, width)
            if random.integers(2):
                inside = (abs(down - y) < tall) & (abs(across - x) < wide)
            else:
                inside = ((down - y) / tall) ** 2 + ((across - x) / wide) ** 2 < 1
            image[:, inside] = random.uniform(0, 1, (channels, 1))
    return finished(random, blurred(images), scale, mean, std)


def finished(random, images, scale, mean, std):
    """Pixels in [0, 1] with a camera's noise, then as a model wants them: (pixel * scale - mean) / std."""
    pixels = np.clip(images + random.normal(0, 0.02, images.shape), 0, 1)
    mean, std = (np.reshape(each, (1, -1, 1, 1)) for each in (mean, std))
    return ((pixels * scale - mean) / std).astype(np.float32)


def ids(random, shape, least=0, below=100, dtype="int64"):
    """Numbers of letters or words: whole, each as likely as any other."""
    return random.integers(least, below, shape).astype(dtype)


def file_bytes(random, shape, padding=256, dtype="int32"):
    """The first and last bytes of files of text, a row each: rows after the first are of short files, with padding between."""
    words = [bytes(random.integers(97, 123, length).astype(np.uint8)) for length in random.integers(1, 10, 200)]
    rows = np.full(shape, padding)
    half = shape[1] // 2
    for number, row in enumerate(rows):
        content = b" ".join(words[i] if i % 7 else words[i] + b"(\n\t" for i in random.integers(0, len(words), half))
        content = np.frombuffer(content, np.uint8)[: max(8, half // (1 + number))]
        row[: len(content)], row[-len(content) :] = content, content
    return rows.astype(dtype)


def lengths(random, shape, most, dtype="int64"):
    """How much of each row counts: all of the first one, between half and all of the others."""
    made = random.integers(most // 2, most + 1, shape)
    made[0] = most
    return made.astype(dtype)


def number(_, shape, value, dtype="float32"):
    """The same number everywhere."""
    return np.full(shape, value, dtype)


def numbers(random, shape, scale=1.0, dtype="float32"):
    """Normally distributed numbers: states in the middle of a recording."""
    return (random.normal(0, scale, shape)).astype(dtype)


MAKERS = {
    "voice": voice, "music": music, "text": text, "scene": scene, "ids": ids, "file_bytes": file_bytes,
    "lengths": lengths, "number": number, "numbers": numbers,
}


def make(recipes, size, *names):
    """The arrays of one size, by the inputs' names; `names` say which random numbers they are of."""
    arrays = {}
    for name, recipe in recipes.items():
        options = {key: value for key, value in recipe.items() if key not in ("make", "shape")}
        for key in {"most", "rate", "value"} & options.keys():  # these may be an extent, by its name
            options[key] = size.get(options[key], options[key])
        shape = tuple(size.get(extent, extent) for extent in recipe["shape"])
        arrays[name] = MAKERS[recipe["make"]](generator(*names, name, sorted(size.items())), shape, **options)
    return arrays
