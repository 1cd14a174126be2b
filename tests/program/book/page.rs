//! A page of the book: its code blocks, as a shell script.

use std::path::Path;

use flowpipe_tests::project;

/// A code block.
pub struct Block {
    /// What follows the fence, such as `sh`.
    pub language: String,
    /// The lines between the fences.
    pub text: String,
    /// The last line with text before the block.
    before: String,
    /// The line of the page, from 1.
    pub line: usize,
    /// How many headings are before it.
    section: usize,
}

/// The blocks of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut open, mut before, mut section) = (None::<Block>, "", 0);
    for (number, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(block), None) => block.text += &format!("{line}\n"),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(language)) => {
                open = Some(Block {
                    language: language.to_owned(),
                    text: String::new(),
                    before: before.to_owned(),
                    line: number + 1,
                    section,
                });
            }
            (None, None) if line.starts_with('#') => section += 1,
            (None, None) if !line.is_empty() => before = line,
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a code block has no end");
    blocks
}

/// What a page runs, and what it shows of it.
pub struct Script {
    /// The commands, and its files where they come. The output of each block is a file of `OUTPUTS`, by the block's
    /// line.
    pub text: String,
    /// The lines of blocks of output, with the line of the block that prints it.
    pub shown: Vec<(usize, Block)>,
}

/// A page as a script: its `sh` blocks word for word, and blocks of source files, after a line that ends in the file's
/// name.
pub fn script(page: &str) -> Script {
    let mut text = String::from("set -e\n");
    let mut shown = Vec::new();
    let mut last: Option<(usize, usize)> = None;
    for block in blocks(page) {
        let Block { line, section, .. } = block;
        match block.language.as_str() {
            "sh" => {
                text += &format!("{{\n{}}} > \"$OUTPUTS/{line}\" 2>&1\n", block.text);
                last = Some((line, section));
                continue;
            }
            // Directly after commands, in their section: what they print.
            "text" => match last {
                Some((of, within)) if within == section => shown.push((of, block)),
                _ => {}
            },
            "rust" | "python" => text += &source(&block),
            // What is not run: it needs a screen, a game or the network, or it is an example of a format.
            "console" | "toml" | "json" | "ini" | "yaml" | "promql" => {}
            other => panic!("line {line}: nothing is known of blocks of {other:?}"),
        }
        last = None;
    }
    Script { text, shown }
}

/// The command that writes a source file, unless the project has it.
fn source(block: &Block) -> String {
    let name = block
        .before
        .strip_suffix("`:")
        .and_then(|it| it.rsplit('`').next());
    let Some(name) = name.filter(|name| Path::new(name).components().count() > 1) else {
        return String::new();
    };
    match std::fs::read_to_string(project().join(name)) {
        Ok(file) => {
            assert!(
                file.contains(&block.text),
                "line {}: {name} differs",
                block.line
            );
            String::new()
        }
        Err(_) => format!("cat > {name} <<'END OF FILE'\n{}END OF FILE\n", block.text),
    }
}
