//! Paths: what the genes are made of, and where new ones come from.

mod dead_end;
mod passages;
mod plan;
pub mod route;
pub mod walk;

use std::rc::Rc;

use flowpipe_plugin::puzzle::Node;

/// The nodes of one flow, from its first terminal to its second.
pub type Path = Rc<[Node]>;

#[cfg(test)]
mod tests;
