"""plugin-name: a flowpipe planner in Python, run by plugin exec. This one drags through the centre of every cell.

Standard output is for answers only; print everything else to standard error (flowpipe shows it with -v).
"""
import json, sys

settings = {"backwards": False}  # True: draw each flow from its other end

def process(solution, centres, **_):
    """Plans the strokes of a solution, in board units. centres: the centre of each cell."""
    strokes = []
    for flow in solution["flows"]:
        cells = flow["cells"][::-1] if settings["backwards"] else flow["cells"]
        points = [centres[cell] for cell in cells]
        strokes.append({"colour": flow["colour"], "cells": cells, "points": points})
    return {"strokes": strokes}

for asked in map(json.loads, sys.stdin):
    answer = {}
    if "protocol" in asked:  # the first message contains the settings of the config
        settings.update(asked["settings"])
    else:
        answer = process(**asked)
    print(json.dumps({"id": asked["id"], **answer}), flush=True)  # each message has one answer
