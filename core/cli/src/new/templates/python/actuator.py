"""plugin-name: a flowpipe actuator in Python, run by plugin exec. This one only prints what it would do.

Standard output is for answers only; print everything else to standard error (flowpipe shows it with -v).
"""
import json, sys

settings = {}

def process(id, strokes, pixels, **_):
    """Plays the strokes. pixels: the points of each, where the mouse goes on the screen."""
    outcomes = []
    for stroke, points in zip(strokes, pixels):
        # Reports a press to flowpipe; the first one counts.
        print(json.dumps({"id": id, "mark": "pressed"}), flush=True)
        print(f"{len(stroke['cells'])} cells by {points}", file=sys.stderr, flush=True)
        # The reaction of the game is unknown: accepted is null.
        outcomes.append({"colour": stroke["colour"], "accepted": None})
    return {"strokes": outcomes}

for asked in map(json.loads, sys.stdin):
    answer = {}
    if "protocol" in asked:  # the first message contains the settings of the config
        settings.update(asked["settings"])
    else:
        answer = process(**asked)
    print(json.dumps({"id": asked["id"], **answer}), flush=True)  # each message has one answer
