//! The possible errors of a pipeline file, with their messages.

use thiserror::Error;

use super::duration::DurationError;
use super::suggest::list;
use crate::pipeline::Stage;

/// The largest file that is read.
pub const MAX_BYTES: usize = 1024 * 1024;
/// The most stages of one pipeline. Each is at least one thread.
pub const MAX_STAGES: usize = 256;
/// The longest name of a stage, in bytes. Recordings repeat the names in every entry.
pub const LONGEST_STAGE_NAME: usize = 128;
/// The most messages that one queue may hold.
pub const MAX_CAPACITY: usize = 65_536;
/// The most tests of one pipeline.
pub const MAX_TESTS: usize = 1_000;
/// The most restarts of a stage in a row.
pub const MAX_RESTARTS: u32 = 1_000_000;

/// An error. `Display` is the message; [`Problem::help`] is the advice.
///
/// A `hint` is a help text that was composed from the known names.
#[derive(Clone, Debug, PartialEq, Error)]
#[expect(missing_docs, reason = "the messages beside the fields describe them")]
#[non_exhaustive]
pub enum Problem {
    #[error("the file is larger than {MAX_BYTES} bytes, which no pipeline file is")]
    TooLarge,
    #[error("the byte 0x{byte:02x} is no part of UTF-8 text")]
    NotText { byte: u8 },
    #[error("{message}")]
    Syntax {
        message: String,
        hint: Option<String>,
    },
    #[error("{what} can't hold a NUL character: nothing is named with one")]
    Nul { what: &'static str },
    #[error("`{key}` is given twice")]
    DuplicateKey { key: String },

    #[error("unknown key `{key}` in {place}")]
    UnknownKey {
        key: String,
        place: String,
        hint: Option<String>,
    },
    #[error("`{what}` must be {expected}, not {found}")]
    WrongType {
        what: String,
        expected: &'static str,
        found: &'static str,
        hint: Option<String>,
    },
    #[error("`{what}` can't be {found:?}")]
    BadWord {
        what: &'static str,
        found: String,
        hint: Option<String>,
    },
    #[error("{text:?} is no duration: {reason}")]
    BadDuration { text: String, reason: DurationError },
    #[error("a queue holds 1 to {MAX_CAPACITY} messages, not {found}")]
    BadCapacity { found: String },
    #[error("a stage is restarted 1 to {MAX_RESTARTS} times in a row, not {found}")]
    BadRestarts { found: String },
    #[error("a stage has 1 to {} workers, not {found}", Stage::MAX_WORKERS)]
    BadWorkers { found: String },
    #[error("`{stage}` is a source, which can't have several workers")]
    SourceWithWorkers { stage: String },
    #[error("`{stage}` drives the mouse, so it can't have several workers: there is one mouse")]
    MouseWithWorkers { stage: String },
    #[error("`{stage}` is a source, which can't be distributed among machines")]
    SourceOnMachines { stage: String },
    #[error("`{stage}` drives the mouse, so it can't be distributed: there is one mouse")]
    MouseOnMachines { stage: String },
    #[error(
        "`{stage}` has {found} workers on all its machines, and may have {}",
        Stage::MAX_WORKERS
    )]
    TooManyWorkers { stage: String, found: usize },
    #[error("`{stage}` drives the mouse, and so does `{other}`: there is one mouse")]
    SecondMouse { stage: String, other: String },
    #[error(
        "`{stage}` drives the mouse of the desktop {desktop:?}, and `{other}` captures {captured:?}: what is seen is not where \
         the mouse is"
    )]
    OtherDesktop {
        stage: String,
        desktop: String,
        other: String,
        captured: String,
    },
    #[error("stages can't run in processes of their own on this system")]
    NoIsolation,
    #[error("`{stage}` runs in a process of its own, and can't use {stream} there")]
    IsolatedStream { stage: String, stream: &'static str },
    #[error("`{stage}` reads standard input, and so does `{other}`: each would get a part of it")]
    SecondInput { stage: String, other: String },
    #[error("`{stage}` reads standard input, which the pipeline was read from")]
    PipelineFromInput { stage: String },
    #[error("`{writer}` writes {}", also_read(.written, .reader, .read, *.is_folder))]
    ReadAndWritten {
        writer: String,
        written: String,
        reader: String,
        read: String,
        is_folder: bool,
    },
    #[error(
        "`{stage}` writes {names:?} into the folder {folder:?}, and so does `{other}`: each would replace the files of the \
         other"
    )]
    SameFileNames {
        stage: String,
        other: String,
        folder: String,
        names: String,
    },
    #[error("[record] names no file")]
    NoRecordFile,
    #[error("[record] in a file with machines: each of them would record")]
    RecordOfMachines,
    #[error("`{what}` is an empty list")]
    EmptyList { what: &'static str },
    #[error("{name:?} can't be the name of a stage")]
    BadStageName { name: String },
    #[error("{name:?} can't be the name of a machine")]
    BadMachineName { name: String },
    #[error("no machine can have the name of the authority of certificates")]
    MachineOfAuthority,
    #[error("a broken connection is waited for at least a second")]
    ShortReconnect,
    #[error("`reconnect_timeout` is for pipelines, and a file of machines has none")]
    ReconnectWithoutPipeline,
    #[error("{address:?} is no address of a machine")]
    BadAddress { address: String },
    #[error("a machine listens and is reached by one protocol")]
    DifferentProtocols,
    #[error("`{other}` listens at this address, not `{name}`")]
    AddressOfOther { name: String, other: String },
    #[error("others can't connect to this address: it stands for all of the machine")]
    UnspecifiedAddress,
    #[error("others can't connect to a numeric address of version 6")]
    NumericHost,
    #[error("`{stage}` is on no machine, and the pipeline has machines")]
    NoMachine { stage: String, hint: Option<String> },
    #[error("the pipeline has no machine `{name}`")]
    UnknownMachine { name: String, hint: Option<String> },
    #[error("`{stage}` has both `machine` and `machines`")]
    MachineAndMachines { stage: String },
    #[error("`{stage}` names the machine `{name}` twice")]
    MachineTwice { stage: String, name: String },
    #[error("the machine `{name}` has no stages")]
    IdleMachine { name: String },
    #[error(
        "the file has {found} machines without `listen`, and has to have one, which distributes"
    )]
    Coordinators { found: usize },
    #[error("the file has no machine that works")]
    NoWorkers,
    #[error(
        "`{name}` exchanges no messages with `{first}`, neither directly nor through other machines"
    )]
    SeparateMachine { name: String, first: String },
    #[error("the loop of `{stage}` is on {found} machines, and may be on 2")]
    LoopOfMachines { stage: String, found: usize },
    #[error("`{one}` and `{other}` exchange messages, and neither listens")]
    NobodyListens { one: String, other: String },
    #[error("`{distributor}` distributes `{stage}` to `{machine}`, and neither listens")]
    NobodyListensToDistribute {
        stage: String,
        distributor: String,
        machine: String,
    },
    #[error("{name:?} can't be the name of a pipeline")]
    BadPipelineName { name: String },
    #[error("{text} is no value that a plugin can be given")]
    NotJson { text: String },

    #[error("the pipeline has no stages")]
    NoStages,
    #[error("the pipeline has {found} stages, and may have {MAX_STAGES}")]
    TooManyStages { found: usize },
    #[error("stage `{stage}` has no plugin")]
    MissingPlugin { stage: String },
    #[error("unknown plugin `{name}`")]
    UnknownPlugin { name: String, hint: Option<String> },
    #[error("the plugin `{name}` was found but refused: {reason}")]
    RefusedPlugin { name: String, reason: String },
    #[error("`{name}` races against itself")]
    PluginTwice { name: String },
    #[error("`{second}` can't race `{first}`: {difference}")]
    DifferentPorts {
        first: String,
        second: String,
        difference: String,
    },
    #[error("sources can't race: `{name}` takes no input that an answer could be measured by")]
    RacingSources { name: String },

    #[error("the pipeline has no stage `{name}`")]
    NoSuchStage { name: String, hint: Option<String> },
    #[error("no stage of this pipeline has the config key `{key}`")]
    NoSuchConfigKey { key: String, hint: String },

    #[error(
        "`{plugin}` emits {schema}, which the check `{check}` has to judge, and there is no such check"
    )]
    MissingCheck {
        plugin: String,
        schema: String,
        check: String,
        hint: Option<String>,
    },
    #[error("`{plugin}` is a check: it judges messages, and is no stage")]
    CheckAsStage { plugin: String },

    #[error("`from` names the stage `{name}`, which is not there")]
    UnknownStage { name: String, hint: Option<String> },
    #[error("stage `{stage}` has no {direction} `{port}`")]
    UnknownPort {
        stage: String,
        direction: &'static str,
        port: String,
        hint: Option<String>,
    },
    #[error("`{from}` gives {gives}, but `{to}` takes {takes}")]
    SchemasDoNotMeet {
        from: String,
        gives: String,
        to: String,
        takes: String,
        hint: Option<String>,
    },
    #[error("`{from}` carries {gives}, but `{to}` carries {takes}")]
    ContentsDoNotMeet {
        from: String,
        gives: String,
        to: String,
        takes: String,
    },
    #[error("more than one {direction} of `{stage}` fits here: {}", list(.ports))]
    AmbiguousPort {
        stage: String,
        direction: &'static str,
        ports: Vec<String>,
        example: String,
    },
    #[error("`{stage}` gives nothing: its plugin has no outputs")]
    NoOutput { stage: String },
    #[error("`{stage}` is a source, so `{key}` has no meaning for it")]
    SourceFed {
        stage: String,
        plugin: String,
        key: &'static str,
    },
    #[error("nothing feeds {what}, which takes {takes}")]
    NotFed {
        what: String,
        takes: String,
        hint: Option<String>,
    },
    #[error("this feeds `{to}` from `{from}` a second time")]
    DuplicateEdge { from: String, to: String },
    #[error("no source leads to {}", list(.stages))]
    NoSource { stages: Vec<String> },
    #[error("a cycle of blocking queues can lock up: {}", .stages.join(" → "))]
    BlockingCycle { stages: Vec<String> },

    #[error("the pipeline has {found} tests, and may have {MAX_TESTS}")]
    TooManyTests { found: usize },
    #[error("two tests are named {name:?}")]
    TestTwice { name: String },
    #[error("a test may take at most 10 minutes")]
    LongTest,
    #[error("an input has one source, and this one has `{first}` and `{second}`")]
    TwoSources {
        first: &'static str,
        second: &'static str,
    },
    #[error(
        "a count of messages is an integer from 0 to {}, not {found}",
        u32::MAX
    )]
    BadCount { found: String },
    #[error("`expect` is an empty list")]
    EmptyExpect,
    #[error("`{stage}` is a source, and no source starts in a test")]
    SourceTested { stage: String },
    #[error("`{stage}` takes {takes}, not {schema}")]
    WrongTestSchema {
        stage: String,
        takes: String,
        schema: String,
    },
    #[error("`{stage}` gives {gives}, not {schema}")]
    WrongExpectedSchema {
        stage: String,
        gives: String,
        schema: String,
    },
    #[error("{found:?} is no schema id")]
    BadSchemaId { found: String },
    #[error("`expect` is \"nothing\", and `count` is {count}")]
    CountOfNothing { count: u64 },
    #[error("`expect` lists {listed}, and `count` is {count}")]
    FewerThanExpected { count: u64, listed: u64 },
    #[error("this input enters after {after}, and one before it enters after {before}")]
    EarlierTestInput { after: String, before: String },
    #[error("this config changes the inputs or outputs of `{plugin}`")]
    TestPorts { plugin: String },
    #[error("no input of this test leads to `{stage}`")]
    NotReached { stage: String },
    #[error("this test would run `{stage}`, which {effect}")]
    TestEffect {
        stage: String,
        effect: String,
        hint: String,
    },
    #[error(
        "this test would run `{stage}`, and `{plugin}` does not declare what it does outside of the program"
    )]
    UnknownTestEffect { stage: String, plugin: String },
    #[error("jq: {reason}")]
    BadExpression {
        reason: String,
        hint: Option<String>,
    },
    #[error("this is no buffer: {reason}")]
    BadBuffer { reason: String },

    #[error("{message}")]
    PluginConfig {
        message: String,
        hint: Option<String>,
    },
    #[error("{message}")]
    Missing {
        message: String,
        hint: Option<String>,
    },
    #[error("the config of plugin `{plugin}` can't be checked, its schema is broken: {reason}")]
    BrokenSchema { plugin: String, reason: String },
}

impl Problem {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Syntax { hint, .. }
            | Self::UnknownKey { hint, .. }
            | Self::WrongType { hint, .. }
            | Self::BadWord { hint, .. }
            | Self::UnknownPlugin { hint, .. }
            | Self::UnknownStage { hint, .. }
            | Self::UnknownMachine { hint, .. }
            | Self::NoMachine { hint, .. }
            | Self::NoSuchStage { hint, .. }
            | Self::UnknownPort { hint, .. }
            | Self::MissingCheck { hint, .. }
            | Self::SchemasDoNotMeet { hint, .. }
            | Self::NotFed { hint, .. }
            | Self::BadExpression { hint, .. }
            | Self::PluginConfig { hint, .. }
            | Self::Missing { hint, .. } => return hint.clone(),
            Self::NoSuchConfigKey { hint, .. } | Self::TestEffect { hint, .. } => hint,
            Self::BadDuration { .. } => "write whole numbers with h, m, s or ms: \"1m30s\"",
            Self::BadStageName { .. } => {
                "letters, digits, `-` and `_` make a name, at most 128 bytes of them"
            }
            Self::BadMachineName { .. } => {
                "letters of ASCII, digits, `-` and `_` make a name, at most 128 bytes of them"
            }
            Self::MachineOfAuthority => "its files would be ca.pem and ca.key: choose another name",
            Self::ReconnectWithoutPipeline => {
                "leave it out: what a disconnected worker has is given to others, and it may come back"
            }
            Self::BadAddress { .. } => {
                "between machines \"tls/HOST:PORT\", on one machine also \"tcp/127.0.0.1:7447\""
            }
            Self::DifferentProtocols => "begin both addresses with tls/, or both with tcp/",
            Self::AddressOfOther { .. } => "write where the others reach this machine",
            Self::UnspecifiedAddress => "add how others reach it: connect = \"tls/HOST:PORT\"",
            Self::NumericHost => "name the host: connect = \"tls/HOST:PORT\"",
            Self::IdleMachine { .. } => "give it a stage, or leave it out",
            Self::SeparateMachine { .. } => {
                "connect their stages, or write a file for each: the machines of a file start and end together"
            }
            Self::NobodyListens { .. } | Self::NobodyListensToDistribute { .. } => {
                "give one of them an address: listen = \"tls/0.0.0.0:7447\", connect = \"tls/HOST:7447\""
            }
            Self::LoopOfMachines { .. } => "put the stages of a loop on two machines at most",
            Self::Coordinators { .. } | Self::NoWorkers => {
                "give each machine that works an address: listen = \"tls/0.0.0.0:7447\", connect = \"tls/HOST:7447\""
            }
            Self::BadPipelineName { .. } => "without `name` the file's name is taken",
            Self::NotText { .. } => "save the file as UTF-8",
            Self::NotJson { .. } => "JSON has no nan, no inf and no larger integers than 64 bits",
            Self::NoStages => "a stage is a table: [stages.NAME] with plugin = \"PLUGIN\"",
            Self::CheckAsStage { .. } => {
                "leave the stage out: a check that is installed judges all messages of its schemas"
            }
            Self::MissingPlugin { .. } => "add plugin = \"NAME\"; `flowpipe plugins` lists them",
            Self::DifferentPorts { .. } => {
                "plugins that race must have the same ports and the same schemas"
            }
            Self::AmbiguousPort { example, .. } => return Some(format!("name one: {example}")),
            Self::ContentsDoNotMeet { .. } => {
                "let both ends declare the same with `carries`, or put a stage between them that converts"
            }
            Self::SourceFed { plugin, key, .. } => {
                return Some(format!(
                    "the plugin `{plugin}` has no inputs; leave `{key}` out"
                ));
            }
            Self::NoSource { .. } => "feed one of them from a stage whose plugin has no inputs",
            Self::BlockingCycle { .. } => {
                "let one of these queues drop: queue = { when_full = \"latest\" }"
            }
            Self::SourceWithWorkers { .. } => {
                "leave `workers` out: workers share the queue of an input, and a source has none"
            }
            Self::MouseWithWorkers { .. } => "leave `workers` out",
            Self::SourceOnMachines { .. } => {
                "name its machine with `machine`: workers share the queue of an input, and a source has none"
            }
            Self::MouseOnMachines { .. } => "name its machine with `machine`",
            Self::TooManyWorkers { .. } => "`workers` counts for each machine: lower it",
            Self::MachineAndMachines { .. } => {
                "leave one of them out: `machines` distributes the stage"
            }
            Self::MachineTwice { .. } => "for more workers on a machine, raise `workers`",
            Self::SecondMouse { .. } => {
                "leave one of them out: the other can receive from several stages, with `from = [...]`"
            }
            Self::OtherDesktop { .. } => {
                "set `desktop` of both to the same, or leave it out of both to use the desktop of the session"
            }
            Self::NoIsolation => "leave `isolation` out, or run it on Linux or another Unix",
            Self::IsolatedStream { .. } => "leave `isolation` out, or use a file or a TCP address",
            Self::SecondInput { .. } => "leave one of them out: an output can feed several stages",
            Self::PipelineFromInput { .. } => "save the pipeline as a file, and name that",
            Self::ReadAndWritten {
                is_folder: true, ..
            } => "name another folder to write into",
            Self::ReadAndWritten { .. } => "name another file to write",
            Self::SameFileNames { .. } => {
                "name another folder, or give the files of one of them other names"
            }
            Self::BadSchemaId { .. } => {
                "letters, digits, `.`, `-` and `_`, then a slash and a number: \"maker.name/1\""
            }
            Self::CountOfNothing { .. } => "leave one of them out",
            Self::EmptyExpect => "write expect = \"nothing\" if no message is expected",
            Self::SourceTested { .. } => "start at a stage that it feeds: its messages enter there",
            Self::TwoSources { .. } => "make two inputs of it: they enter one after the other",
            Self::EarlierTestInput { .. } => {
                "list the inputs in the order in which they enter: `after` is the time since the start of the test"
            }
            Self::UnknownTestEffect { .. } => {
                "leave it out, with without = [\"STAGE\"], and expect what reaches it"
            }
            Self::NotReached { .. } => {
                "start at a stage from which messages reach it, or take what is between out of `without`"
            }
            Self::EmptyList { .. } => "name at least one, or leave it out",
            Self::RecordOfMachines => "leave it out, and start one machine with --record FILE",
            Self::NoRecordFile => "add file = \"runs/{name}-{time}.mcap\"",
            _ => return None,
        };
        Some(help.to_owned())
    }

    /// Whether the error is that something is missing.
    pub(super) fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::NoStages
                | Self::MissingPlugin { .. }
                | Self::NoRecordFile
                | Self::UnknownStage { .. }
                | Self::UnknownMachine { .. }
                | Self::NoMachine { .. }
                | Self::IdleMachine { .. }
                | Self::NobodyListens { .. }
                | Self::NobodyListensToDistribute { .. }
                | Self::Coordinators { .. }
                | Self::NoWorkers
                | Self::NotFed { .. }
                | Self::NoSource { .. }
                | Self::NoSuchStage { .. }
                | Self::NoSuchConfigKey { .. }
                | Self::Missing { .. }
        )
    }
}

/// A file or a folder by the name by which it is written, and by that by which it is read.
fn also_read(written: &str, reader: &str, read: &str, is_folder: bool) -> String {
    match written == read {
        _ if is_folder => {
            format!("into the folder {written:?}, from which `{reader}` reads {read:?}")
        }
        true => format!("the file {read:?} that `{reader}` reads"),
        false => format!("{written:?}, which is the file {read:?} that `{reader}` reads"),
    }
}
