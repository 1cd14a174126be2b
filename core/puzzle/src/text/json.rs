//! Puzzles as JSON, in and out: one object a line. It can express everything.

use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::colour::{self, Colour};
use crate::puzzle::{Puzzle, PuzzleError, Rules, Terminal};
use crate::solution::Solution;
use crate::text::Sheet;
use crate::text::level::Tag;

/// An object as it is written. Without the last four keys it is a puzzle as in the messages.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a puzzle with a board and terminals")]
struct Document {
    board: Board,
    terminals: Vec<Terminal>,
    #[serde(default, skip_serializing_if = "is_default")]
    rules: Rules,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solution: Option<Solution>,
    /// What each colour is called, by colour number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level: Option<Tag>,
}

/// The contents of an object.
pub(crate) struct Object {
    pub puzzle: Puzzle,
    pub solution: Option<Solution>,
    pub names: Vec<String>,
    pub title: Option<String>,
    pub tag: Option<Tag>,
}

/// What is wrong with an object.
pub(crate) enum JsonError {
    /// In words, with the byte in the line.
    Syntax(String, usize),
    /// Well-formed, but its parts don't fit.
    Puzzle(PuzzleError),
}

fn is_default(rules: &Rules) -> bool {
    *rules == Rules::default()
}

pub(crate) fn read(line: &str) -> Result<Object, JsonError> {
    let document: Document = serde_json::from_str(line).map_err(|error| {
        // The place is reported beside the message; serde_json counts columns in bytes.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        let message = message.trim_end_matches(&place).to_owned();
        JsonError::Syntax(message, error.column().saturating_sub(1))
    })?;
    let puzzle = Puzzle::new(document.board, document.terminals, document.rules)
        .map_err(JsonError::Puzzle)?;
    let own = own_names(&puzzle);
    let mut names = document.names;
    names.extend(own.into_iter().skip(names.len()));
    Ok(Object {
        puzzle,
        solution: document.solution,
        names,
        title: document.title,
        tag: document.level,
    })
}

/// The letters of a puzzle's colours, by colour number.
pub(crate) fn own_names(puzzle: &Puzzle) -> Vec<String> {
    let colours = puzzle.terminals().iter().map(|terminal| terminal.colour);
    (0..=colours.max().unwrap_or_default())
        .map(colour::name)
        .collect()
}

/// Writes everything that a sheet contains, with a newline at the end.
pub(crate) fn write(sheet: &Sheet) -> String {
    let own = |(colour, name): (usize, &String)| {
        Colour::try_from(colour).is_ok_and(|colour| *name == colour::name(colour))
    };
    let names = if sheet.names.iter().enumerate().all(own) {
        Vec::new()
    } else {
        sheet.names.to_vec()
    };
    let document = Document {
        board: sheet.puzzle.board().clone(),
        terminals: sheet.puzzle.terminals().to_vec(),
        rules: sheet.puzzle.rules(),
        solution: sheet.solution.cloned(),
        names,
        title: sheet.title.map(str::to_owned),
        level: sheet.tag.cloned(),
    };
    // Numbers and strings only: it always has a form in JSON.
    let mut line = serde_json::to_string(&document).unwrap_or_default();
    line.push('\n');
    line
}
