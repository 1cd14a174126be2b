"""A stage for flowpipe: forwards boards of at most 64 cells."""
import json
import sys


def process(message):
    """The messages to send on: this one, or none."""
    body = message["body"]
    if body["reading"]["status"] != "board":
        return []
    board = body["reading"]["puzzle"]["board"]
    is_small = board["rows"] * board["cols"] <= 64
    return [{"schema": message["schema"], "body": body}] if is_small else []


for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"]}
    if "message" in asked:
        answer["messages"] = process(asked["message"])
    print(json.dumps(answer), flush=True)
