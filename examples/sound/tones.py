"""A stage for flowpipe: finds tones in windows of sound by Goertzel's method, with the standard library alone."""
import array
import json
import math
import sys

frequencies = [440.0, 660.0, 880.0]  # in hertz


def power(samples, rate, frequency):
    """How much of the sound is at this frequency: 1 if it is a sine of that frequency and the amplitude 1."""
    coefficient = 2.0 * math.cos(2.0 * math.pi * frequency / rate)
    before, last = 0.0, 0.0
    for sample in samples:
        before, last = last, sample + coefficient * last - before
    total = before * before + last * last - coefficient * before * last
    return 4.0 * total / len(samples) ** 2


def samples(buffer):
    """The first channel of a buffer."""
    steps, channels = buffer["shape"]
    elements = array.array("f")
    with open(buffer["file"], "rb") as file:
        elements.frombytes(file.read(4 * steps * channels))
    return elements[::channels]


def process(message):
    """The tone of a window: the strongest frequency, and its power."""
    first, sound = message["body"][0], samples(message["buffer"])
    rate = first["rate"]
    powers = {frequency: power(sound, rate, frequency) for frequency in frequencies}
    tone = max(powers, key=powers.get)
    body = {"seconds": first["seconds"], "hertz": tone, "power": round(powers[tone], 3)}
    return [{"schema": "audio.tone/1", "body": body}]


for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"]}
    if "protocol" in asked:
        frequencies = asked.get("settings", {}).get("frequencies", frequencies)
    if "message" in asked:
        answer["messages"] = process(asked["message"])
    print(json.dumps(answer), flush=True)
