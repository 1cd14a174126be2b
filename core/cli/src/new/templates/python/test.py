"""Tests plugin-name without a pipeline: sends it the messages of flowpipe. Run it with `python3 test.py`."""
import json, pathlib, subprocess, sys, unittest

SCRIPT = pathlib.Path(__file__).with_name("script.py")

def ask(message, settings={}):
    """The answer to one message; `settings` are those of a pipeline's config."""
    hello = {"id": 0, "protocol": "flowpipe.exec/1", "role": "ROLE", "settings": settings, "dry": False}
    lines = "".join(json.dumps(line) + "\n" for line in (hello, {"id": 1, **message}))
    ran = subprocess.run([sys.executable, SCRIPT], input=lines, stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    return [answer for answer in answers if answer["id"] == 1 and "mark" not in answer][0]

class Test(unittest.TestCase):
    def test_it(self):
        answer = ask(MESSAGE)
        CHECK

if __name__ == "__main__":
    unittest.main()
