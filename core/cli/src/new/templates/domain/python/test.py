"""Tests pipeline-name without a screen, on the picture frame.png. Run it with `python3 test.py`."""
import json, os, pathlib, subprocess, sys, tempfile, unittest

HERE = pathlib.Path(__file__).parent
FLOWPIPE = os.environ.get("FLOWPIPE", "flowpipe")
FRAME = '[stages.screen]\nplugin = "capture-files"\nconfig = { paths = ["frame.png"] }\n\n'
KEEP = """
[stages.keep]
plugin = "exec"
from = "planner"

[stages.keep.config]
command = ["python3", "test.py", "keep", FILE]
inputs = { gestures = { schema = "flowpipe.gestures/1" } }
outputs = {}
"""


def keep(file):
    """A stage at the end of the pipeline: keeps the messages that it gets in a file."""
    with open(file, "w") as out:
        for asked in map(json.loads, sys.stdin):
            if "message" in asked:
                print(json.dumps(asked["message"]["body"]), file=out, flush=True)
            print(json.dumps({"id": asked["id"]}), flush=True)


def ask(script, *messages):
    """The messages that a script answers to each of these, without a pipeline."""
    hello = {"id": 0, "protocol": "flowpipe.exec/1", "role": "stage", "settings": {}, "dry": False}
    lines = [hello, *({"id": number, "message": message} for number, message in enumerate(messages, 1))]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    ran = subprocess.run([sys.executable, HERE / script], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line).get("messages", []) for line in ran.stdout.splitlines()[1:]]


def flowpipe(*args):
    ran = subprocess.run([FLOWPIPE, *args], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        raise AssertionError(f"flowpipe {' '.join(args)}: exit code {ran.returncode}\n{ran.stdout}")


def play(pipeline):
    """The messages of the planner in a dry run of a pipeline, in which frame.png takes the screen's place."""
    before, after = pipeline.split("[stages.screen]\n")
    _, after = after.split("\n\n", 1)
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder, "kept.jsonl")
        stages = before + FRAME + after + KEEP.replace("FILE", json.dumps(str(kept)))
        test = HERE / f"test-{os.getpid()}.toml"
        try:
            test.write_text(stages)
            flowpipe("run", test.name, "--dry-run", "--quiet")
        finally:
            test.unlink()
        return [json.loads(line) for line in kept.read_text().splitlines()]


class Test(unittest.TestCase):
    def test_the_pipeline_is_whole(self):
        flowpipe("check", "pipeline.toml")

    def test_the_planner_waits_for_the_mouse(self):
        places = [{"x": x, "y": 0, "width": 20, "height": 20} for x in (0, 50)]
        body = {"frame": {"source": "a test"}, "size": {"width": 100, "height": 20}, "targets": places}
        targets = {"port": "targets", "body": body}
        one_played = {"port": "played", "body": {"played": 1}}
        answers = ask("planner.py", targets, targets, one_played, targets)
        gestures = [[message["body"].get("gestures", []) for message in answer] for answer in answers]
        clicks = [[gesture["name"] for message in answer for gesture in message] for answer in gestures]
        [[metrics]] = answers[2:3]
        self.assertEqual(metrics["body"]["metrics"], [{"kind": "counter", "name": "targets clicked on", "add": 1}])
        self.assertEqual(clicks, [["click at 10, 10", "click at 60, 10"], [], [], ["click at 60, 10"]])

    def test_every_target_is_clicked_on_once(self):
        [plan] = play((HERE / "pipeline.toml").read_text())
        clicks = [gesture["actions"][0]["click"]["at"] for gesture in plan["gestures"]]
        self.assertEqual(len(clicks), 10)
        self.assertEqual(clicks[0], [692, 368])
        bounds = plan["bounds"]
        self.assertEqual((bounds["width"], bounds["height"]), (1920, 1080))


if __name__ == "__main__":
    if sys.argv[1:2] == ["keep"]:
        keep(sys.argv[2])
    else:
        unittest.main()
