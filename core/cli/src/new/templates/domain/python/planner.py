"""The planner stage of pipeline-name, in Python: clicks on each target, once. Put what your game needs in its place.

Standard output is for answers only; print everything else to standard error (flowpipe shows it with -v).
"""
import json, sys

settings = {"stay_ms": 50}  # how long the pointer stays after each click
done = set()  # the targets that were clicked on


def middle(target):
    return [target["x"] + target["width"] / 2, target["y"] + target["height"] / 2]


def process(message=None, finish=None, **_):
    """The gestures for the targets of a frame: none if nothing is left to do."""
    if finish:  # all inputs have ended: the last chance to send something
        return {}
    body, gestures = message["body"], []
    for target in body["targets"]:
        at = middle(target)
        if tuple(at) not in done:
            done.add(tuple(at))
            click = {"click": {"at": at, "stay_ms": settings["stay_ms"]}}
            gestures.append({"name": f"click at {at[0]:.0f}, {at[1]:.0f}", "actions": [click]})
    if not gestures:
        return {}
    # Outside of the bounds the pointer is never put.
    bounds = {"x": 0, "y": 0, **body["size"]}
    plan = {"planner": "pipeline-name", "frame": body["frame"], "bounds": bounds, "gestures": gestures}
    return {"messages": [{"body": plan}]}


for asked in map(json.loads, sys.stdin):
    answer = {}
    if "protocol" in asked:  # the first message contains the settings of the config
        settings.update(asked["settings"])
    else:
        answer = process(**asked)
    print(json.dumps({"id": asked["id"], **answer}), flush=True)  # each message has one answer
