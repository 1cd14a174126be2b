//! Workers of a stage on other machines.
//!
//! One machine distributes the messages of the stage: it has the stage's queue and order. Its [`Distributor`] has the
//! instances that another machine runs for it, whose [`server`] creates and calls them. A link has two channels for both:
//! one to the workers ([`protocol::ToWorker`]), one back ([`protocol::FromWorker`]). Several instances share them, so that no
//! thread that reads them waits for a plugin.

mod call;
mod connection;
pub(crate) mod distributor;
mod held;
mod packets;
mod protocol;
pub(crate) mod server;

pub(crate) use held::HeldNumbers;
pub(crate) use packets::PacketSender;

/// How many packets may wait. Each can be as long as a message of a link.
pub(crate) const CAPACITY: u64 = 16;
