"""The planner stage of pipeline-name, in Python: clicks on each target, once. Put what your game needs in its place.

Standard output is for answers only; print everything else to standard error (flowpipe shows it with -v).
"""
import json, sys

settings = {"stay_ms": 50}  # how long the pointer stays after each click
done = set()  # the middles of the targets that were clicked on
asked_for = []  # those that the mouse was sent, until it reports what it did


def middle(target):
    return target["x"] + target["width"] / 2, target["y"] + target["height"] / 2


def on_targets(body):
    """The gestures for the targets of a frame: none if nothing is left to do, or while the mouse is busy."""
    left = [at for at in map(middle, body["targets"]) if at not in done]
    if asked_for or not left:
        return []
    asked_for.extend(left)
    click = lambda at: {"click": {"at": at, "stay_ms": settings["stay_ms"]}}
    gestures = [{"name": f"click at {at[0]:.0f}, {at[1]:.0f}", "actions": [click(at)]} for at in left]
    # Outside of the bounds the pointer is never put.
    bounds = {"x": 0, "y": 0, **body["size"]}
    plan = {"planner": "pipeline-name", "frame": body["frame"], "bounds": bounds, "gestures": gestures}
    return [{"port": "gestures", "body": plan}]


def on_played(body):
    """The mouse played so many of the gestures. It refuses the others, such as on an old frame: the next one shows them."""
    done.update(asked_for[: body["played"]])
    asked_for.clear()
    clicks = {"kind": "counter", "name": "targets clicked on", "add": body["played"]}  # flowpipe adds them up
    return [{"port": "metrics", "body": {"metrics": [clicks]}}]


def process(message=None, finish=None, **_):
    """The messages to send for one that arrived, by its input."""
    if finish:  # all inputs have ended: the last chance to send something
        return {}
    inputs = {"targets": on_targets, "played": on_played}
    return {"messages": inputs[message["port"]](message["body"])}


for asked in map(json.loads, sys.stdin):
    answer = {}
    if "protocol" in asked:  # the first message contains the settings of the config
        settings.update(asked["settings"])
    else:
        answer = process(**asked)
    print(json.dumps({"id": asked["id"], **answer}), flush=True)  # each message has one answer
