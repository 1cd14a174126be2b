"""plugin-name: a flowpipe stage in Python, run by plugin exec. This one forwards small boards only.

Standard output is for answers only; print everything else to standard error (flowpipe shows it with -v).
"""
import json, sys

settings = {"cells": 64}  # the maximum number of cells of a board

def process(message=None, finish=None, **_):
    if finish:  # all inputs have ended: the last chance to send something
        return {}
    body = message["body"]
    if body["reading"]["status"] != "board":
        return {}
    board = body["reading"]["puzzle"]["board"]
    cells = board["rows"] * board["cols"]
    if cells > settings["cells"]:
        print(f"a board of {cells} cells is too large", file=sys.stderr, flush=True)
        return {}
    return {"messages": [{"schema": message["schema"], "body": body}]}

for asked in map(json.loads, sys.stdin):
    answer = {}
    if "protocol" in asked:  # the first message contains the settings of the config
        settings.update(asked["settings"])
    else:
        answer = process(**asked)
    print(json.dumps({"id": asked["id"], **answer}), flush=True)  # each message has one answer
