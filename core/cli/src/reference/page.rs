//! A page in Markdown.

use textwrap::{Options, WordSeparator, WordSplitter};

/// The longest line of prose.
const WIDTH: usize = 120;

/// A page, which grows by blocks.
pub struct Page(String);

impl Page {
    /// A page with a title and an introduction.
    pub fn new(title: &str, introduction: &[&str]) -> Self {
        let mut page = Self(format!("# {title}\n"));
        for paragraph in introduction {
            page.paragraph(paragraph);
        }
        page
    }

    /// A heading of a level from 2.
    pub fn heading(&mut self, level: usize, title: &str) {
        self.0 += &format!("\n{} {title}\n", "#".repeat(level));
    }

    /// A paragraph, wrapped.
    pub fn paragraph(&mut self, text: &str) {
        self.0 += "\n";
        self.wrapped(text, "", "");
    }

    /// A block of text as it is.
    pub fn block(&mut self, text: &str) {
        self.0 += &format!("\n```text\n{}\n```\n", text.trim_end());
    }

    /// A list, whose items are of depths from 0.
    pub fn list(&mut self, items: &[(usize, String)]) {
        if !items.is_empty() {
            self.0 += "\n";
        }
        for (depth, text) in items {
            let indent = "  ".repeat(*depth);
            self.wrapped(text, &format!("{indent}- "), &format!("{indent}  "));
        }
    }

    /// The whole page.
    pub fn finish(self) -> String {
        self.0
    }

    fn wrapped(&mut self, text: &str, first: &str, further: &str) {
        let options = Options::new(WIDTH)
            .initial_indent(first)
            .subsequent_indent(further)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .break_words(false);
        for line in textwrap::wrap(text, options) {
            self.0 += line.trim_end();
            self.0 += "\n";
        }
    }
}

/// Text as code.
pub fn code(text: &str) -> String {
    format!("`{text}`")
}

/// A doc comment or a help text as Markdown in one line: outside of code, no character starts an HTML element, emphasis
/// or a link to an item of Rust.
pub fn prose(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let unlinked = one_line.replace("[`", "`").replace("`]", "`");
    let parts = unlinked.split('`').enumerate();
    let escaped = parts.map(|(index, part)| match index % 2 {
        0 => part
            .replace('<', "\\<")
            .replace('*', "\\*")
            .replace('~', "\\~"),
        _ => part.to_owned(),
    });
    escaped.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_markdown_are_escaped_outside_of_code() {
        let text = "In\n<DIR>, as [`Pace`] or `a*b`.";
        assert_eq!(prose(text), "In \\<DIR>, as `Pace` or `a*b`.");
    }

    #[test]
    fn lines_are_wrapped_but_words_are_not_split() {
        let mut page = Page::new("T", &[]);
        page.list(&[(1, format!("{} planner-minlink", "x".repeat(110)))]);
        let expected = format!("# T\n\n  - {}\n    planner-minlink\n", "x".repeat(110));
        assert_eq!(page.finish(), expected);
    }
}
