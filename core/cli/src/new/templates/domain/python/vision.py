"""The vision stage of pipeline-name, in Python: finds the coloured spots of a frame. Put what your game needs in its place.

Standard output is for answers only; print everything else to standard error (flowpipe shows it with -v).
"""
import json, mmap, sys

settings = {
    "step": 4,  # every so many pixels are looked at, in both directions
    "colour": 120,  # how much the brightest and the darkest of red, green and blue differ in a coloured pixel
    "smallest": 16,  # the sides of a spot, in pixels, at least
}
# By format: bytes of a pixel, and where its red, green and blue are.
FORMATS = {"bgra8": (4, 2, 1, 0), "rgba8": (4, 0, 1, 2), "bgr8": (3, 2, 1, 0), "rgb8": (3, 0, 1, 2), "grey8": (1, 0, 0, 0)}


def coloured(frame, pixels):
    """The coloured pixels among those that are looked at, as columns and rows of steps."""
    size, *channels = FORMATS[frame["format"]]
    step = settings["step"]
    for row in range(0, frame["height"], step):
        start = row * frame["stride"]
        line = pixels[start : start + frame["width"] * size]
        red, green, blue = (line[channel :: size * step] for channel in channels)
        for column, colour in enumerate(zip(red, green, blue)):
            if max(colour) - min(colour) >= settings["colour"]:
                yield column, row // step


def spots(frame, pixels):
    """The rectangles around pixels that touch, from top to bottom."""
    left, step, found = set(coloured(frame, pixels)), settings["step"], []
    while left:
        edge, spot = [left.pop()], []
        while edge:
            x, y = edge.pop()
            spot.append((x, y))
            near = {(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)} & left
            left -= near
            edge.extend(near)
        (x0, y0), (x1, y1) = map(min, zip(*spot)), map(max, zip(*spot))
        place = {"x": x0 * step, "y": y0 * step, "width": (x1 - x0 + 1) * step, "height": (y1 - y0 + 1) * step}
        if min(place["width"], place["height"]) >= settings["smallest"]:
            found.append(place)
    return sorted(found, key=lambda place: (place["y"], place["x"]))


def rectangle(place):
    """A shape of the overlay, which a report draws over the frame."""
    return {"form": {"rectangle": {side: place[side] for side in ("x", "y", "width", "height")}}}


def process(message=None, finish=None, **_):
    """The messages for a frame. Its body is a note: where the frame comes from."""
    if finish:  # all inputs have ended: the last chance to send something
        return {}
    frame = message["frame"]
    with open(frame["file"], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pixels:
        found = spots(frame, pixels)
    size = {"width": frame["width"], "height": frame["height"]}
    targets = {"frame": message["body"], "size": size, "targets": found}
    overlay = {"shapes": [rectangle(place) for place in found]}
    return {"messages": [{"port": "targets", "body": targets}, {"port": "overlay", "body": overlay}]}


for asked in map(json.loads, sys.stdin):
    answer = {}
    if "protocol" in asked:  # the first message contains the settings of the config
        settings.update(asked["settings"])
    else:
        answer = process(**asked)
    print(json.dumps({"id": asked["id"], **answer}), flush=True)  # each message has one answer
