//! Stage that sends an HTTP request for each message.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`origin`]: the servers that it names.
//! - [`request`]: the request of a message, by expressions. [`redirect`]: where a response leads.
//! - [`client`]: sends requests, on threads of their own. [`resolver`]: the addresses that are permitted.
//!   [`authorities`]: whose certificates are trusted.
//! - [`response`]: a response as a message. [`error`]: why there is none.
//! - [`stage`]: the stage.

mod authorities;
mod client;
mod config;
mod error;
mod origin;
mod redirect;
mod request;
mod resolver;
mod response;
mod stage;

#[cfg(test)]
mod tests;

use stage::HttpRequest;

flowpipe_plugin::export!(HttpRequest);
