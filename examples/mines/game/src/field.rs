//! A field as a player sees it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most cells of a field. The solver counts layouts with `f64`, and 2 to the power of 1000 is still a number there.
pub const MOST_CELLS: usize = 1000;

/// A field: as JSON its rows as text (see [`Cell`]), and the number of mines below all of its cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Written", into = "Written")]
#[schemars(with = "Written")]
pub struct Field {
    rows: usize,
    cols: usize,
    mines: usize,
    cells: Vec<Cell>,
}

/// What a cell shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// `#`: nothing, it is covered.
    Covered,
    /// `F`: covered, with a flag.
    Flag,
    /// `0` to `8`: open, with the number of mines around.
    Open(u8),
    /// `*`: a mine, after the game was lost.
    Mine,
    /// `X`: the mine that was hit.
    Exploded,
    /// `W`: a flag where no mine was, after the game was lost.
    WrongFlag,
}

/// Whether a game goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Cells are left to open.
    Playing,
    /// All cells without mines are open.
    Won,
    /// A mine was hit.
    Lost,
}

/// A field as JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Written {
    /// How many mines there are.
    mines: usize,
    /// A text for each row, a character for each cell: `#` covered, `F` flag, `0` to `8` open, `*` mine, `X` the mine
    /// that was hit, `W` wrong flag.
    rows: Vec<String>,
}

impl Field {
    /// A field of a number of columns, row by row.
    ///
    /// # Errors
    /// When there can be no such field.
    pub fn new(cols: usize, mines: usize, cells: Vec<Cell>) -> Result<Self, String> {
        let rows = cells.len().checked_div(cols).unwrap_or(0);
        if rows == 0 || rows * cols != cells.len() || cells.len() > MOST_CELLS {
            let count = cells.len();
            return Err(format!(
                "a field of {count} cells in {cols} columns: it must have whole rows, and 1 to {MOST_CELLS} cells"
            ));
        }
        if mines >= cells.len() {
            let count = cells.len();
            return Err(format!("{mines} mines do not fit into {count} cells"));
        }
        Ok(Self {
            rows,
            cols,
            mines,
            cells,
        })
    }

    /// Reads rows of characters, one a line.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn parse(mines: usize, text: &str) -> Result<Self, String> {
        let lines: Vec<&str> = text.split_whitespace().collect();
        let cols = lines.first().map_or(0, |line| line.chars().count());
        let mut cells = Vec::new();
        for line in lines {
            if line.chars().count() != cols {
                return Err(format!("the rows are not of one length: {line:?}"));
            }
            for character in line.chars() {
                let cell = Cell::of(character);
                cells.push(cell.ok_or_else(|| format!("{character:?} is no cell"))?);
            }
        }
        Self::new(cols, mines, cells)
    }

    /// How many rows it has.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns it has.
    #[must_use]
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// How many mines there are in all.
    #[must_use]
    pub const fn mines(&self) -> usize {
        self.mines
    }

    /// Its cells, row by row.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The indices of the up to eight cells around a cell.
    pub fn around(&self, cell: usize) -> impl Iterator<Item = usize> + use<> {
        let (rows, cols) = (self.rows, self.cols);
        let (row, col) = (cell / cols, cell % cols);
        let near = |at: usize, count: usize| at.saturating_sub(1)..(at + 2).min(count);
        near(row, rows)
            .flat_map(move |row| near(col, cols).map(move |col| row * cols + col))
            .filter(move |&other| other != cell)
    }

    /// Checks the numbers of a game that is not lost: none may have more flags, or fewer covered cells, around. A cell on
    /// which the mouse button is down, which looks open, is found out so.
    ///
    /// # Errors
    /// Which number is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.state() == State::Lost {
            return Ok(());
        }
        let flags = self.cells.iter().filter(|&&it| it == Cell::Flag).count();
        if flags > self.mines {
            let mines = self.mines;
            return Err(format!(
                "there are {flags} flags for {mines} mines: is the number of mines right?"
            ));
        }
        for (cell, shown) in self.cells.iter().enumerate() {
            let Cell::Open(number) = *shown else { continue };
            let count = |kind: fn(Cell) -> bool| {
                self.around(cell).filter(|&it| kind(self.cells[it])).count()
            };
            let (flags, covered) = (count(|it| it == Cell::Flag), count(Cell::is_covered));
            if usize::from(number) < flags
                || usize::from(number) > covered
                || (number == 0 && covered > 0)
            {
                let (row, col) = (cell / self.cols + 1, cell % self.cols + 1);
                return Err(format!(
                    "the {number} in row {row}, column {col} has {covered} covered cells around, {flags} with flags"
                ));
            }
        }
        Ok(())
    }

    /// Whether a game of this field goes on. Of a game that is won, all mines have flags: the program sets those that
    /// are missing.
    #[must_use]
    pub fn state(&self) -> State {
        let count = |cell: Cell| self.cells.iter().filter(|&&it| it == cell).count();
        if self.cells.iter().any(|cell| cell.shows_mine()) {
            State::Lost
        } else if count(Cell::Covered) == 0 && count(Cell::Flag) == self.mines {
            State::Won
        } else {
            State::Playing
        }
    }
}

impl Cell {
    /// The cell of a character.
    #[must_use]
    pub fn of(character: char) -> Option<Self> {
        Some(match character {
            '#' => Self::Covered,
            'F' => Self::Flag,
            '*' => Self::Mine,
            'X' => Self::Exploded,
            'W' => Self::WrongFlag,
            '0'..='8' => Self::Open(character as u8 - b'0'),
            _ => return None,
        })
    }

    /// Its character.
    #[must_use]
    pub fn character(self) -> char {
        match self {
            Self::Covered => '#',
            Self::Flag => 'F',
            Self::Mine => '*',
            Self::Exploded => 'X',
            Self::WrongFlag => 'W',
            Self::Open(number) => char::from(b'0' + number),
        }
    }

    /// Whether it may have a mine below it, as far as it shows.
    #[must_use]
    pub fn is_covered(self) -> bool {
        matches!(self, Self::Covered | Self::Flag)
    }

    /// Whether it shows that the game is lost.
    #[must_use]
    pub fn shows_mine(self) -> bool {
        matches!(self, Self::Mine | Self::Exploded | Self::WrongFlag)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.cells.chunks(self.cols) {
            let text: String = row.iter().map(|cell| cell.character()).collect();
            writeln!(formatter, "{text}")?;
        }
        Ok(())
    }
}

impl TryFrom<Written> for Field {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        Self::parse(written.mines, &written.rows.join("\n"))
    }
}

impl From<Field> for Written {
    fn from(field: Field) -> Self {
        Self {
            mines: field.mines,
            rows: field.to_string().lines().map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_readable_json() {
        let field = Field::parse(2, "#1F\n012\nX*W").unwrap();
        let json = serde_json::to_string(&field).unwrap();
        assert_eq!(json, r##"{"mines":2,"rows":["#1F","012","X*W"]}"##);
        assert_eq!(serde_json::from_str::<Field>(&json).unwrap(), field);
    }

    #[test]
    fn malformed_fields_are_errors() {
        for (mines, rows, words) in [
            (1, "", "0 cells"),
            (1, "##\n#", "not of one length"),
            (1, "#9", "'9' is no cell"),
            (4, "##\n##", "4 mines do not fit"),
        ] {
            let error = Field::parse(mines, rows).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(Field::parse(1, &"#".repeat(MOST_CELLS + 1)).is_err());
    }

    #[test]
    fn it_is_won_when_all_mines_have_flags_and_the_rest_is_open() {
        let state = |mines, rows| Field::parse(mines, rows).unwrap().state();
        assert_eq!(state(1, "F1\n11"), State::Won);
        assert_eq!(state(1, "#1\n11"), State::Playing);
        assert_eq!(state(1, "F1\n#1"), State::Playing);
        assert_eq!(state(2, "X2\n#2"), State::Lost);
    }

    #[test]
    fn numbers_that_can_not_be_are_found() {
        let check = |rows| Field::parse(2, rows).unwrap().check();
        assert_eq!(check("##\n21"), Ok(()));
        assert_eq!(check("X2\n31"), Ok(()), "what is lost is not checked");
        for (rows, words) in [
            (
                "#1\n12",
                "the 2 in row 2, column 2 has 1 covered cells around, 0 with flags",
            ),
            (
                "FF\n21",
                "the 1 in row 2, column 2 has 2 covered cells around, 2 with flags",
            ),
            ("##\n02", "the 0 in row 2, column 1"),
        ] {
            let error = check(rows).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn cells_around() {
        let field = Field::parse(1, "###\n###\n###").unwrap();
        let around = |cell| field.around(cell).collect::<Vec<_>>();
        assert_eq!(around(0), [1, 3, 4]);
        assert_eq!(around(4), [0, 1, 2, 3, 5, 6, 7, 8]);
        assert_eq!(around(8), [4, 5, 7]);
    }
}
