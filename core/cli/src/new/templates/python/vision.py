"""plugin-name: a flowpipe vision stage in Python, run by plugin exec. This one distinguishes dark pictures from bright ones.

Standard output is for answers only; print everything else to standard error (flowpipe shows it with -v).
"""
import json, mmap, sys

settings = {"dark": 64}  # below this a picture is dark, from 0 to 255

def process(frame, note, **_):
    """Reads one frame. A frame that can't be read exactly is refused with a reason: a wrong board would be played."""
    with open(frame["file"], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pixels:
        row = pixels[frame["height"] // 2 * frame["stride"] :][: frame["stride"]]  # one row in the middle
    brightness = sum(row) // len(row)
    word = "dark" if brightness < settings["dark"] else "bright"
    reason = f"a {word} picture ({brightness} of 255)"
    return {"reading": {"status": "refused", "step": "brightness", "reason": reason}}

for asked in map(json.loads, sys.stdin):
    answer = {}
    if "protocol" in asked:  # the first message contains the settings of the config
        settings.update(asked["settings"])
    else:
        answer = process(**asked)
    print(json.dumps({"id": asked["id"], **answer}), flush=True)  # each message has one answer
