//! How far the snippets were searched. A search that takes long goes on in the next frame.

/// Which snippets were searched since a pause began or something was pressed.
#[derive(Debug, Default)]
pub struct Sweep {
    /// The snippet that is searched first in the next frame.
    first: usize,
    /// Snippets that were searched in a row, and not found.
    in_vain: usize,
}

impl Sweep {
    /// All of so many snippets, in the order in which the next frame is searched.
    pub fn order(&self, count: usize) -> impl Iterator<Item = usize> + use<> {
        let first = self.first;
        (0..count).map(move |step| (first + step) % count)
    }

    /// The search of a frame stopped before that snippet.
    pub fn stop_before(&mut self, snippet: usize) {
        self.first = snippet;
    }

    /// A snippet was searched.
    pub fn note(&mut self, is_found: bool) {
        self.in_vain = if is_found { 0 } else { self.in_vain + 1 };
    }

    /// Something was pressed: the window may show another picture.
    pub fn begin_again(&mut self) {
        self.in_vain = 0;
    }

    /// Whether each of so many snippets was searched, and none found. Until then it is unknown whether one is there.
    pub fn is_in_vain(&self, count: usize) -> bool {
        self.in_vain >= count
    }
}
