//! What a pipeline can set.

use flowpipe_plugin::JsonSchema;
use serde::{Deserialize, Serialize};

/// The names that [`crate::pattern::Pattern`] accepts, but for their length in bytes.
const NAME_PATTERN: &str = r"^_*([^_.\-/\\:{}\p{Cc}\p{Cf}\p{Zl}\p{Zp}][^/\\:{}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*(\{(number|frame)\}[^/\\:{}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*)?|\{(number|frame)\}[^/\\:{}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*)\.(png|jpg|jpeg)$";

/// Config of sink-image.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [{
    "if": { "properties": { "draw": { "const": true } }, "required": ["draw"] },
    "then": {
        "required": ["choose"],
        "properties": { "choose": { "const": true } },
        "description": "set choose = true too: what is drawn comes in at `chosen`",
    },
}]))]
pub struct Config {
    /// The folder to write pictures into, relative to the pipeline file's folder. It is created. One that exists is
    /// empty, or one that flowpipe has written files into before.
    #[schemars(length(min = 1), extend("format" = "created-folder"))]
    pub folder: String,
    /// The names of the files. `{number}` is replaced by the number of the picture in the folder, `{frame}` by the
    /// number of the frame in the run, each with at least six digits. Without either, each picture replaces the one
    /// before. The name ends in `.png`, `.jpg` or `.jpeg`, which chooses the kind of the file, and has at most 128 bytes,
    /// all of visible characters.
    #[serde(default = "name")]
    #[schemars(regex(pattern = NAME_PATTERN), length(max = 128), extend("format" = "file-names"))]
    pub name: String,
    /// The quality of JPEG files: the higher, the larger.
    #[serde(default = "quality")]
    #[schemars(range(min = 1, max = 100))]
    pub quality: u8,
    /// The most pictures that lie in the folder, those of earlier runs included. Several stages or workers that write
    /// into one folder leave so many each.
    #[serde(default = "most")]
    #[schemars(range(min = 1, max = 100_000))]
    pub most: usize,
    /// What happens when there are so many.
    #[serde(default)]
    pub when_full: WhenFull,
    /// Write only the frames from which a message descends that comes in at `chosen`. In a pipeline with one stage that
    /// captures.
    #[serde(default)]
    pub choose: bool,
    /// With `choose`: draw over the picture what the message at `chosen` has of it: the board of a `flowpipe.sighting/1`,
    /// or the reason why there is none, and the shapes of a `flowpipe.overlay/1`.
    #[serde(default)]
    pub draw: bool,
    /// With `choose`: how many frames wait for such a message. The oldest one is dropped when another one comes.
    #[serde(default = "waiting")]
    #[schemars(range(min = 1, max = 256))]
    pub waiting: usize,
}

/// What happens when there are enough pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// The oldest picture is removed.
    #[default]
    DropOldest,
    /// No further picture is written.
    DropNewest,
}

fn name() -> String {
    "{number}.png".to_owned()
}

fn quality() -> u8 {
    90
}

fn most() -> usize {
    1_000
}

fn waiting() -> usize {
    16
}
