//! The names of the files.

use flowpipe_output::component;
use thiserror::Error;

/// What names of files look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    number: Option<Number>,
    after: String,
    kind: Kind,
}

/// Which number a name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// That of the picture in its folder.
    Picture,
    /// That of the frame in the run.
    Frame,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Without loss.
    Png,
    /// Smaller, with loss.
    Jpeg,
}

/// Why a text is no pattern.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PatternError {
    /// The kind is unknown.
    #[error("it has to end in .png, .jpg or .jpeg")]
    Ending,
    /// It is no name of a file.
    #[error(
        "it has to be the name of a file, without folders and leading dots, of at most 128 bytes"
    )]
    NoName,
    /// A character that is not visible.
    #[error(
        "it has a character that is not visible, such as a mark that changes the direction of text"
    )]
    Hidden,
    /// Another placeholder.
    #[error("it has braces that are neither {{number}} nor {{frame}}")]
    Placeholder,
    /// More than one of them.
    #[error("it has more than one number: write {{number}} or {{frame}} once")]
    Several,
}

const PLACEHOLDERS: [(&str, Number); 2] =
    [("{number}", Number::Picture), ("{frame}", Number::Frame)];

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, PatternError> {
        let (_, ending) = text.rsplit_once('.').ok_or(PatternError::Ending)?;
        let kind = match ending {
            "png" => Kind::Png,
            "jpg" | "jpeg" => Kind::Jpeg,
            _ => return Err(PatternError::Ending),
        };
        if component(text) != text {
            return Err(PatternError::NoName);
        }
        if text.contains(is_hidden) {
            return Err(PatternError::Hidden);
        }
        let mut found = PLACEHOLDERS.iter().filter_map(|(placeholder, number)| {
            let (before, after) = text.split_once(placeholder)?;
            Some((before, Some(*number), after))
        });
        let (before, number, after) = found.next().unwrap_or((text, None, ""));
        if found.next().is_some() || PLACEHOLDERS.iter().any(|(it, _)| after.contains(it)) {
            return Err(PatternError::Several);
        }
        if [before, after].iter().any(|it| it.contains(['{', '}'])) {
            return Err(PatternError::Placeholder);
        }
        Ok(Self {
            before: before.to_owned(),
            number,
            after: after.to_owned(),
            kind,
        })
    }

    /// The kind of the files.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Which number the names have.
    pub fn number(&self) -> Option<Number> {
        self.number
    }

    /// The name with a number.
    pub fn name(&self, number: u64) -> String {
        let Self { before, after, .. } = self;
        match self.number {
            Some(_) => format!("{before}{number:06}{after}"),
            None => format!("{before}{after}"),
        }
    }

    /// The number of a name. `None`: it is none of these names.
    pub fn number_of(&self, name: &str) -> Option<u64> {
        if self.number.is_none() {
            return (name == self.name(0)).then_some(0);
        }
        let digits = name.strip_prefix(&self.before)?.strip_suffix(&self.after)?;
        let number = digits.parse().ok()?;
        (name == self.name(number)).then_some(number)
    }
}

/// Whether a character is one of Unicode's format characters (`Cf`) or separators of lines and paragraphs (`Zl`, `Zp`).
/// Such a name looks like another one, or as if it had another ending.
fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_has_a_number_or_none() {
        let name = |text: &str, number| Pattern::read(text).unwrap().name(number);
        assert_eq!(name("{number}.png", 7), "000007.png");
        assert_eq!(
            name("board-{frame}-a.jpeg", 1_234_567),
            "board-1234567-a.jpeg"
        );
        assert_eq!(name("last.jpg", 3), "last.jpg");
        assert_eq!(Pattern::read("a.png").unwrap().kind(), Kind::Png);
        assert_eq!(Pattern::read("a.jpg").unwrap().kind(), Kind::Jpeg);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let all = [
            ("frames", PatternError::Ending),
            ("a.PNG", PatternError::Ending),
            ("a.gif", PatternError::Ending),
            (".png", PatternError::NoName),
            ("../{number}.png", PatternError::NoName),
            ("a/{number}.png", PatternError::NoName),
            ("a\n.png", PatternError::NoName),
            ("a\u{202e}gpj.png", PatternError::Hidden),
            ("a\u{200b}.png", PatternError::Hidden),
            ("{number}\u{2028}.png", PatternError::Hidden),
            ("{number}\u{2029}.png", PatternError::Hidden),
            ("{time}.png", PatternError::Placeholder),
            ("{number.png", PatternError::Placeholder),
            ("{number}{number}.png", PatternError::Several),
            ("{frame}-{number}.png", PatternError::Several),
        ];
        for (text, error) in all {
            assert_eq!(Pattern::read(text), Err(error), "{text:?}");
        }
        let long = format!("{}.png", "x".repeat(200));
        assert_eq!(Pattern::read(&long), Err(PatternError::NoName));
    }

    #[test]
    fn other_names_have_no_number() {
        let pattern = Pattern::read("a{number}.png").unwrap();
        for other in [
            "a1.png",
            "a+00001.png",
            "b000001.png",
            "a000001.jpg",
            "a.png",
        ] {
            assert_eq!(pattern.number_of(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn the_number_of_a_name_is_found(number: u64, text in "[a-z0-9]{0,3}(\\{number\\}|\\{frame\\})[0-9a-z]{0,3}\\.png") {
            let pattern = Pattern::read(&text).unwrap();
            prop_assert_eq!(pattern.number_of(&pattern.name(number)), Some(number));
        }

        #[test]
        fn any_text_is_a_pattern_or_refused(text in any::<String>()) {
            if let Ok(pattern) = Pattern::read(&text) {
                let name = pattern.name(1);
                prop_assert!(!name.contains(['/', '\\', '\0']) && !name.starts_with('.'));
            }
        }
    }
}
