//! The reference pages of the book, written from what the program knows: its command line, the manifests of its
//! plugins, and the JSON Schemas of messages.

mod commands;
mod messages;
mod page;
mod plugins;
mod types;

/// The pages, with their file names.
pub fn pages() -> [(&'static str, String); 3] {
    [
        ("commands.md", commands::page()),
        ("plugins.md", plugins::page()),
        ("messages.md", messages::page()),
    ]
}
