"""plugin-name: a flowpipe capture stage in Python, run by plugin exec. This one draws a board with three flows.

Standard output is for answers only; print everything else to standard error (flowpipe shows it with -v).
"""
import json, sys, tempfile, time

settings = {"frames": 3, "fps": 10}
CELL = 60  # pixels of a cell's side
SIDE = 3 * CELL + 40
RED, BLUE, YELLOW, LINE, BLACK = bytes([250, 40, 40]), bytes([40, 80, 250]), bytes([230, 220, 40]), bytes([110, 120, 110]), bytes(3)
TERMINALS = {(0, 0): RED, (2, 2): RED, (0, 1): BLUE, (1, 1): BLUE, (0, 2): YELLOW, (1, 2): YELLOW}  # by row and column
file = tempfile.NamedTemporaryFile(prefix="plugin-name-")  # holds the frame; deleted when this program ends

def colour(x, y):
    """The colour of a pixel: black, with lines around the cells, and a disc at each terminal."""
    x, y = x - 20, y - 20
    if not (0 <= x <= 3 * CELL and 0 <= y <= 3 * CELL):
        return BLACK
    if x % CELL == 0 or y % CELL == 0:
        return LINE
    across, down = x % CELL - CELL // 2, y % CELL - CELL // 2
    return TERMINALS.get((y // CELL, x // CELL), BLACK) if across**2 + down**2 < 21**2 else BLACK

def process(tick, **_):
    """Returns the next frame. tick counts the frames before it."""
    if tick == settings["frames"]:
        return {"end": True}
    time.sleep(1 / settings["fps"])
    file.seek(0)
    file.write(b"".join(colour(x, y) for y in range(SIDE) for x in range(SIDE)))
    file.flush()
    frame = {"file": file.name, "format": "rgb8", "width": SIDE, "height": SIDE}
    return {"frame": frame, "note": {"source": "plugin-name"}}

for asked in map(json.loads, sys.stdin):
    answer = {}
    if "protocol" in asked:  # the first message contains the settings of the config
        settings.update(asked["settings"])
    else:
        answer = process(**asked)
    print(json.dumps({"id": asked["id"], **answer}), flush=True)  # each message has one answer
