//! What the tests share.

pub mod boards;
pub mod oracle;
pub mod walks;
