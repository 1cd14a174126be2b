"""A solver for flowpipe: grows each pipe from both its terminals, always where the fewest ways are left."""
import itertools, json, sys

def solutions(links, ends, cover, touch):
    """Each solution once, as lists of nodes. `links`: the nodes beside a node, `ends`: the colour of its terminal."""
    def ways(head, heads, free):
        colour = ends[heads[head][0]]
        pair = [path for path in heads.values() if ends[path[0]] == colour]
        mates = [to for to in links[head] if to in heads and heads[to] in pair]
        if mates and len(pair) == 2 and not touch:
            return mates
        behind = {node for path in pair if len(pair) == 2 or path is heads[head] for node in path[:-1]}
        return mates + [to for to in links[head] if to in free and (touch or behind.isdisjoint(links[to]))]

    def grow(heads, free, done):  # `heads`: where each unfinished pipe has come to, with its nodes up to there
        if cover and any(sum(near in free or near in heads for near in links[node]) < 2 for node in free):
            return  # no pipe can pass through that node
        if not heads and not (cover and free):
            yield done
        best = {head: ways(head, heads, free) for head in heads}
        head = min(best, key=lambda head: len(best[head]), default=None)
        for to in best.get(head, []):
            rest = {other: path for other, path in heads.items() if other not in (head, to)}
            path = heads[head] + heads.get(to, [to])[::-1]
            if to in free:
                yield from grow({**rest, to: path}, free - {to}, done)
            elif touch or sum(near in path for node in path for near in links[node]) == 2 * len(path) - 2:
                yield from grow(rest, free, done + [path])  # it is whole, and touches itself nowhere
    heads = {node: [node] for node, colour in enumerate(ends) if colour is not None}
    return grow(heads, {*range(len(links))} - {*heads}, [])

def solve(puzzle, rules, graph, **_):
    found = [*itertools.islice(solutions(graph["links"], graph["colours"], **rules), 2)]  # a second one: not unique
    if not found: return {"verdict": "unsolvable"}
    flow = lambda path: {"colour": graph["colours"][path[0]], "cells": [graph["cells"][node] for node in path]}
    return {"verdict": "solution", "solution": {"flows": [*map(flow, found[0])]}, "unique": len(found) == 1}

for asked in map(json.loads, sys.stdin):
    answer = {"answer": solve(**asked)} if "puzzle" in asked else {}
    print(json.dumps({"id": asked["id"], **answer}), flush=True)
