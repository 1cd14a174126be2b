//! One module for each subcommand.

pub mod bench;
pub mod check;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod doctor;
pub mod generate;
pub mod graph;
pub mod machine;
pub mod man;
pub mod messages;
pub mod new;
pub mod play;
pub mod plugin_check;
pub mod plugin_install;
pub mod plugin_remove;
pub mod plugins;
pub mod reference;
pub mod replay;
pub mod report;
pub mod run;
pub mod schema;
pub mod see;
pub mod solve;
pub mod test;
pub mod top;
