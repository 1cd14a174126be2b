//! Files with errors, by topic. A line that starts with `#::` opens each.

pub const SYNTAX: &str = r##"
#:: nothing quoted
on_stop = drop
[stages.screen]
plugin = capture-screen
timeout = 2s
#:: a value is missing
name =
[stages.screen]
plugin = "capture-screen"
#:: after an error the rest is still read
name = "x
[stages.screen]
plugin = "capture-scren"
tiemout = "1s"
#:: an open brace swallows what follows, so that is not judged
nam = "x"
[stages.screen]
plugin = "capture-screen"
config = { window = "x"
[stages.vision]
plugin = "vision"
#:: a header that is not closed
[stages.screen
plugin = "capture-screen"
#:: an open bracket at the very end
[stages.screen]
plugin = "capture-screen"
config.window = [
#:: an open multi-line string
[stages.screen]
plugin = """capture-screen
[stages.vision]
plugin = "vision"
#:: the same key twice
[stages.screen]
plugin = "capture-screen"
plugin = "capture-scren"
#:: the same stage twice
[stages.screen]
plugin = "capture-screen"
[stages.screen]
plugin = "capture-screen"
#:: an impossible date
[stages.screen]
plugin = "capture-screen"
config = { since = 2024-13-01 }
"##;

pub const KEYS_AND_VALUES: &str = r##"
#:: nothing

#:: no stage in it
name = "x"
[stages]
#:: stages with another name
[stage.screen]
plugin = "capture-screen"
#:: unknown keys everywhere
onstop = "drop"
zzz = 1
[stages.screen]
plugn = "capture-screen"
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = { stag = "screen", stage = "screen" }
queue = { capactiy = 1 }
#:: wrong types
name = 1
on_stop = true
stages = ["screen"]
#:: wrong types in a stage
[stages]
screen = "capture-screen"
[stages.vision]
plugin = { name = "vision-opencv" }
from = 3
queue = "latest"
timeout = 2
on_error = 1979-05-27
watchdog = 1.5
config = "none"
[stages.a]
plugin = ["solver-search", 3]
from = ["vision", ["x"]]
config = 1
#:: words, durations and numbers
name = " "
on_stop = "wait"
[stages.screen]
plugin = "capture-screen"
on_error = "Skip"
timeout = "2"
watchdog = "1s1m"
[stages."vision 1"]
plugin = "vision-opencv"
from = [{ stage = "screen", queue = { capacity = 0, when_full = "drop_oldest" } }]
queue = { capacity = 999_999, when_full = "sometimes" }
#:: numbers of workers
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
workers = 0
ordered = "no"
[stages.solver]
plugin = "solver-search"
from = "vision"
workers = 65
[stages.planner]
plugin = "planner-grid"
from = "solver"
workers = 2.5
#:: empty lists
[stages.screen]
plugin = []
from = []
"##;

pub const PLUGINS: &str = r##"
#:: no plugin
[stages.screen]
timeout = "1s"
#:: unknown, with a guess and without
[stages.a]
plugin = "opencv"
from = "b"
[stages.b]
plugin = "xyzzy"
#:: found and refused
[stages.screen]
plugin = "capture-old"
#:: a race against itself
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = ["vision-opencv", "vision-opencv"]
from = "screen"
#:: a race of unlike plugins
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = ["vision-opencv", "recorder", "solver-search"]
from = "screen"
#:: a race of sources
[stages.screen]
plugin = ["capture-screen", "capture-screen-two", "odd \"<name>\""]
#:: the config of a race is keyed by plugin
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
[stages.solver]
plugin = ["solver-search", "solver-varisat"]
from = "vision"
config = { limit = 1, solver-serch = {}, solver-varisat = 3 }
#:: workers of sources and of the mouse
[stages.screen]
plugin = "capture-screen"
workers = 2
[stages.vision]
plugin = "vision-opencv"
from = "screen"
[stages.solver]
plugin = "solver-search"
from = "vision"
workers = 64
[stages.planner]
plugin = "planner-grid"
from = "solver"
[stages.actuator]
plugin = "actuator-mouse"
from = "planner"
workers = 1
[stages.second]
plugin = ["actuator-simulated", "actuator-mouse"]
from = "planner"
workers = 3
#:: a broken manifest
[stages.screen]
plugin = "broken-schema"
#:: checks that are missing, and one that is no stage
[stages.keys]
plugin = "keys"
[stages.painter]
plugin = "painter"
[stages.check]
plugin = "check-clicks"
from = "keys"
"##;

pub const WIRING: &str = r##"
#:: unknown stages and ports
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = ["scren", "screen.output", { stage = "screen", into = "inn" }]
#:: none of the optional inputs is fed
[stages.mouse]
plugin = "player"
#:: fed by nothing
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
#:: fed by nothing, and nothing gives it
[stages.solver]
plugin = "solver-search"
#:: one input of two fed
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
[stages.referee]
plugin = "referee"
from = "vision"
#:: a source that is fed
[stages.screen]
plugin = "capture-screen"
from = "screen"
queue = { capacity = 1 }
#:: schemas that do not meet
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
[stages.planner]
plugin = "planner-grid"
from = "vision"
[stages.solver]
plugin = "solver-search"
from = "vision"
#:: contents that do not meet
[stages.microphone]
plugin = "microphone"
[stages.decoder]
plugin = "decoder"
from = "microphone"
[stages.oscilloscope]
plugin = "oscilloscope"
from = "microphone"
#:: from a sink
[stages.screen]
plugin = "capture-screen"
[stages.record]
plugin = "recorder"
from = "screen"
[stages.echo]
plugin = "echo"
from = "record"
#:: more than one port fits
[stages.screen]
plugin = "capture-screen"
[stages.twin]
plugin = "twin"
from = ["screen", { stage = "screen", into = "right" }]
[stages.record]
plugin = "recorder"
from = "twin"
#:: an edge twice
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = [
    "screen",
    { stage = "screen", port = "out" },
]
#:: no source
[stages.a]
plugin = "echo"
from = { stage = "b", queue = { when_full = "latest" } }
[stages.b]
plugin = "echo"
from = "a"
"##;

pub const CYCLES: &str = r##"
#:: round three stages
[stages.screen]
plugin = "capture-screen"
[stages.a]
plugin = "echo"
from = ["screen", "c"]
[stages.b]
plugin = "echo"
from = "a"
[stages.c]
plugin = "echo"
from = "b"
#:: to itself
[stages.screen]
plugin = "capture-screen"
[stages.a]
plugin = "echo"
from = ["screen", "a"]
#:: two of them
[stages.screen]
plugin = "capture-screen"
[stages.a]
plugin = "echo"
from = ["screen", "b"]
[stages.b]
plugin = "echo"
from = "a"
[stages.c]
plugin = "echo"
from = ["screen", "d"]
[stages.d]
plugin = "echo"
from = "c"
"##;

pub const PLUGIN_CONFIG: &str = r##"
#:: unknown and missing keys, wrong types, out of range
[stages.screen]
plugin = "capture-files"
[stages.screen.config]
path = "frames"
fps = 0
repeat = "yes"
#:: no table
[stages.screen]
plugin = "capture-files"
config = ["frames"]
#:: no config where one is needed
[stages.screen]
plugin = "capture-files"
#:: deep inside a list
[stages.screen]
plugin = "capture-files"
config.paths = [
    "a",
    3,
]
#:: not JSON
[stages.screen]
plugin = "capture-screen"
config = { a = nan, b = 99999999999999999999 }
#:: forms and choices
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
[stages.s1]
plugin = "solver-search"
from = "vision"
config = { limit = -1, order = "row", restart = { kind = "often" } }
[stages.s2]
plugin = "solver-search"
from = "vision"
config = { limit = 1.5, order = 3, restart = { kind = "sometimes" } }
[stages.s3]
plugin = "solver-search"
from = "vision"
config = { order = "zigzag", restart = "never" }
[stages.s4]
plugin = ["solver-varisat"]
from = "vision"
config = { solver-varisat = { max_conflicts = "many", max_conflict = 1 } }
"##;

pub const MACHINES: &str = r##"
#:: a stage on no machine, an unknown machine, and one without stages
[machines.desk]
listen = "tcp/127.0.0.1:7447"
[machines.rack]
[stages.screen]
plugin = "capture-screen"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "dek"
#:: a machine without machines
[stages.screen]
plugin = "capture-screen"
machine = "desk"
#:: names and addresses
[machines."my desk"]
listen = "tcp/0.0.0.0:7447"
[machines.rack]
connect = "rack:7447"
listen = 7447
port = 7447
[stages.screen]
plugin = "capture-screen"
machine = "rack"
#:: addresses between machines
[machines.desk]
listen = "tls/0.0.0.0:7447"
[machines.rack]
listen = "tcp/127.0.0.1:7447"
connect = "tls/rack.example:7447"
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "rack"
#:: hosts
[machines.desk]
listen = "tls/[::]:7447"
connect = "tls/[2001:db8::1]:7447"
[machines.rack]
listen = "tls/rack#verify_name_on_connect=false:7447"
connect = "tls/300.0.0.1:7447"
certificates = 1
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "rack"
#:: times for which connections are waited for
[machines.desk]
listen = "tcp/127.0.0.1:7447"
reconnect_timeout = "999ms"
[machines.rack]
reconnect_timeout = 60
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "rack"
#:: nobody listens
[machines.desk]
[machines.rack]
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "rack"
#:: an address that is wrong, and no other one
[machines.desk]
listen = "tcp/localhost:7447"
[machines.rack]
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "rack"
#:: the address of another machine
[machines.desk]
listen = "tcp/127.0.0.1:7447"
[machines.rack]
listen = "tcp/127.0.0.1:7448"
connect = "tcp/127.0.0.1:7447"
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "rack"
#:: of three machines, two that exchange messages do not listen
[machines.desk]
listen = "tcp/127.0.0.1:7447"
[machines.rack1]
[machines.rack2]
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "rack1"
[stages.echo]
plugin = "echo"
from = "vision"
machine = "rack2"
#:: a recording by each machine
record = { file = "run.mcap" }
[machines.desk]
listen = "tcp/127.0.0.1:7447"
[machines.rack]
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.echo]
plugin = "echo"
from = "screen"
machine = "rack"
#:: a loop on three machines
[machines.desk]
listen = "tcp/127.0.0.1:7447"
[machines.rack1]
listen = "tcp/127.0.0.1:7448"
[machines.rack2]
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.echo]
plugin = "echo"
from = ["screen", { stage = "third", queue = { when_full = "latest" } }]
machine = "desk"
[stages.second]
plugin = "echo"
from = "echo"
machine = "rack1"
[stages.third]
plugin = "echo"
from = "second"
machine = "rack2"
#:: machines in three groups without messages between them
[machines.desk]
listen = "tcp/127.0.0.1:7447"
[machines.rack1]
[machines.shelf]
listen = "tcp/127.0.0.1:7448"
[machines.rack2]
[machines.lamp]
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.echo]
plugin = "echo"
from = "screen"
machine = "rack1"
[stages.second-screen]
plugin = "capture-screen"
machine = "shelf"
[stages.second-echo]
plugin = "echo"
from = "second-screen"
machines = ["rack2"]
[stages.third-screen]
plugin = "capture-screen"
machine = "lamp"
#:: a distributed stage with a machine, twice on one, on an unknown one, and one on none
[machines.desk]
[machines.rack1]
listen = "tcp/127.0.0.1:7447"
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machine = "rack1"
machines = ["rack1", "rack2", "rack1"]
[stages.echo]
plugin = "echo"
from = "vision"
machines = []
[stages.second]
plugin = "echo"
from = "echo"
machines = "rack1"
#:: stages that can't be distributed, and too many workers
[machines.desk]
[machines.rack1]
listen = "tcp/127.0.0.1:7447"
[machines.rack2]
listen = "tcp/127.0.0.1:7448"
[stages.screen]
plugin = "capture-screen"
machines = ["rack1", "rack2"]
[stages.vision]
plugin = "vision-opencv"
from = "screen"
workers = 33
machines = ["rack1", "rack2"]
[stages.mouse]
plugin = "actuator-mouse"
from = { stage = "vision" }
machines = ["desk"]
#:: a machine that distributes, and those of the workers, which do not listen
[machines.desk]
[machines.rack1]
[machines.rack2]
[stages.screen]
plugin = "capture-screen"
machine = "desk"
[stages.vision]
plugin = "vision-opencv"
from = "screen"
machines = ["rack1", "desk", "rack2"]
"##;
