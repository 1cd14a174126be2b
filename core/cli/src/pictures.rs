//! Pictures of puzzles and of how they were solved, each in a file of its own.

use std::path::{Path, PathBuf, is_separator};

use flowpipe_puzzle::svg;
use flowpipe_puzzle::text::Entry;
use flowpipe_terminal::escape;

use crate::exit::Failure;
use crate::outputs;
use crate::show::answer::Answer;

/// Draws an entry's puzzle, with the solution and the plan where there are some. `None`: it can't be read.
pub fn puzzle(entry: &Entry, answer: &Answer) -> Option<String> {
    let (puzzle, _) = entry.puzzle.as_ref().ok()?;
    let flows = answer.solution.as_ref().map(|solution| &solution.flows[..]);
    let plan = answer.plan.as_ref().and_then(|plan| plan.as_ref().ok());
    let title = escape(entry.title.as_deref().unwrap_or_default());
    let names: Vec<String> = entry
        .names
        .iter()
        .map(|it| escape(it).into_owned())
        .collect();
    let style = svg::Style {
        letters: true,
        names: &names,
        strokes: plan.map_or(&[], |plan| &plan.strokes),
        title: &title,
        ..svg::Style::default()
    };
    Some(svg::draw(puzzle, flows.unwrap_or_default(), style))
}

/// Writes the picture at an index, from 0, of so many: into the file itself where it is the only one, else
/// into one with its number, from 1, behind its name. Into a folder by its number alone, with the ending
/// of its kind (`svg`); the folder is made where it is not there and its name ends as a folder's.
///
/// # Errors
/// When the file can't be written.
pub fn write(
    file: &Path,
    index: usize,
    count: usize,
    ending: &str,
    picture: impl AsRef<[u8]>,
) -> Result<(), Failure> {
    let failure = |path: &Path, error| Failure::File {
        path: path.display().to_string(),
        error,
    };
    let named_as_folder = file.to_string_lossy().ends_with(is_separator);
    if named_as_folder || file.is_dir() {
        std::fs::create_dir_all(file).map_err(|error| failure(file, error))?;
        let path = file.join(format!("{}.{ending}", index + 1));
        return outputs::write_derived(&path, picture);
    }
    let path = place(file, index, count);
    match path == file {
        true => outputs::write(file, picture),
        false => outputs::write_derived(&path, picture),
    }
}

fn place(file: &Path, index: usize, count: usize) -> PathBuf {
    if count == 1 {
        return file.to_owned();
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{}", index + 1);
    if let Some(extension) = file.extension() {
        name += &format!(".{}", extension.to_string_lossy());
    }
    file.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_pictures_are_numbered_from_one() {
        let place = |file: &str, count| place(Path::new(file), 1, count).display().to_string();
        assert_eq!(place("a/b.svg", 1), "a/b.svg");
        assert_eq!(place("a/b.svg", 3), "a/b-2.svg");
        assert_eq!(place("b", 3), "b-2");
    }
}
