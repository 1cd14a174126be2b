//! A run on several machines.
//!
//! Each machine runs some stages of one pipeline ([`flowpipe_engine::run::remote`]), and has a link to each machine with
//! which it shares edges. A [`Peer`] is such a machine. All compare what they run ([`Facts`]) and start together
//! ([`agree`]). A [`Bridge`] then moves the messages of the edges between two of them.
//!
//! Channel 0 of a link is for the machines themselves. Channel N + 1 is edge N of the pipeline. The next channel is for
//! what they observe of their stages ([`Observation`]), such as their reports ([`whole_report`]): an
//! [`ObservationRouter`] passes that on to machines without a link to its sender. The last two are for the workers of
//! distributed stages ([`Served`]).

mod agreement;
pub mod batch;
mod bridge;
mod common_clock;
mod control;
mod frame_coding;
mod frame_tiles;
mod lent_frames;
mod observations;
mod peer;
mod ranges;
mod report;
mod shared_memory;
mod start;
mod topology;
mod unfinished;
mod wire;
mod workers;

pub use agreement::{Difference, Facts, Observers, Wanted};
pub use bridge::{Bridge, BridgeEvent};
pub use common_clock::{CommonClockError, observer_clock};
pub use frame_coding::FrameTraffic;
pub use observations::{
    LONGEST_OBSERVATION, Observation, ObservationRouter, ObservationSender, Observed, UNEXPECTED,
};
pub use peer::{Peer, PeerSettings};
pub use report::{ReportError, read_report, whole_report, write_report};
pub use start::{Absence, AgreementError, Missing, agree};
pub use topology::Topology;
pub use workers::server::Served;
