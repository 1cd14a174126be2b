//! Outputs and other contents of the file as MCAP topics.

use std::collections::BTreeMap;

use crate::name::Name;

/// An output of a stage, as a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Topic {
    /// The stage.
    pub stage: Name,
    /// The output.
    pub port: Name,
}

/// The content of a channel, by its metadata: names of topics are for people.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChannelKind {
    /// Messages of an output.
    Messages(Topic),
    /// Pictures of an output.
    Pictures(Topic),
    /// Buffers of an output.
    Buffers(Topic),
    /// [`crate::entry::Call`].
    Calls,
    /// [`crate::entry::Dropped`].
    Drops,
    /// [`crate::entry::Trouble`].
    Problems,
    /// [`crate::entry::Change`].
    Changes,
    /// [`crate::entry::DroppedLineages`].
    DroppedLineages,
    /// [`crate::entry::PictureNote`].
    PictureNotes,
    /// Annotations for viewers, which this crate does not read. The topic's name.
    Extra(String),
}

/// The topic of the calls.
pub const CALLS: &str = "/flowpipe/calls";

/// The metadata key of a channel's kind.
const KIND_KEY: &str = "flowpipe.holds";
const STAGE: &str = "flowpipe.stage";
const PORT: &str = "flowpipe.port";

impl Topic {
    /// The output `port` of a stage.
    pub fn new(stage: impl Into<Name>, port: impl Into<Name>) -> Self {
        Self {
            stage: stage.into(),
            port: port.into(),
        }
    }
}

impl std::fmt::Display for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "/{}/{}", self.stage, self.port)
    }
}

impl ChannelKind {
    /// The topic's name.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Messages(topic) => topic.to_string(),
            Self::Pictures(topic) => format!("{topic}/image"),
            Self::Buffers(topic) => format!("{topic}/buffer"),
            Self::Calls => CALLS.into(),
            Self::Drops => "/flowpipe/drops".into(),
            Self::Problems => "/flowpipe/problems".into(),
            Self::Changes => "/flowpipe/changes".into(),
            Self::DroppedLineages => "/flowpipe/dropped-lineages".into(),
            Self::PictureNotes => "/flowpipe/pictures".into(),
            Self::Extra(name) => name.clone(),
        }
    }

    pub(crate) fn metadata(&self) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::from([(KIND_KEY.to_owned(), self.word().to_owned())]);
        if let Self::Messages(topic) | Self::Pictures(topic) | Self::Buffers(topic) = self {
            metadata.insert(STAGE.to_owned(), String::from(&topic.stage));
            metadata.insert(PORT.to_owned(), String::from(&topic.port));
        }
        metadata
    }

    /// `None`: a channel that flowpipe did not write.
    pub(crate) fn of(name: &str, metadata: &BTreeMap<String, String>) -> Option<Self> {
        let topic = || Some(Topic::new(metadata.get(STAGE)?, metadata.get(PORT)?));
        Some(match metadata.get(KIND_KEY)?.as_str() {
            "messages" => Self::Messages(topic()?),
            "pictures" => Self::Pictures(topic()?),
            "buffers" => Self::Buffers(topic()?),
            "calls" => Self::Calls,
            "drops" => Self::Drops,
            "problems" => Self::Problems,
            "changes" => Self::Changes,
            "dropped-lineages" => Self::DroppedLineages,
            "picture-notes" => Self::PictureNotes,
            "extra" => Self::Extra(name.to_owned()),
            _ => return None,
        })
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Messages(_) => "messages",
            Self::Pictures(_) => "pictures",
            Self::Buffers(_) => "buffers",
            Self::Calls => "calls",
            Self::Drops => "drops",
            Self::Problems => "problems",
            Self::Changes => "changes",
            Self::DroppedLineages => "dropped-lineages",
            Self::PictureNotes => "picture-notes",
            Self::Extra(_) => "extra",
        }
    }
}
