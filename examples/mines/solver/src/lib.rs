//! Finds out which covered cells are safe, and which have mines. It sees only what the window shows.

use flowpipe_plugin::{Context, Effect, Error, Host, Input, Next, NoConfig, Port, Result, Stage};
use mines_game::chances::{certain, chances};
use mines_game::field::State;
use mines_game::message::{FIELD, Guess, MOVES, Moves, Reading, SeenField, Sighting};

/// Solves fields of Minesweeper exactly: which cells are safe, which have mines, and if none is safe, which is the least
/// dangerous.
struct Solver;

impl Stage for Solver {
    const NAME: &'static str = "solver-mines";
    const DOC: &'static str = "Solves fields of Minesweeper exactly: which cells are safe, which have mines, and if none \
         is safe, which is the least dangerous.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = NoConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("field", FIELD)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("moves", MOVES)]
    }

    fn new(_: NoConfig, _: &Host) -> Result<Self> {
        Ok(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            let Sighting { frame, reading } = message.parse()?;
            if let Reading::Field(seen) = reading {
                let moves = solve(frame, seen, context)?;
                context.emit(0, &moves)?;
            }
        }
        Ok(Next::More)
    }
}

/// # Errors
/// When no layout of the mines fits.
fn solve(frame: serde_json::Value, seen: SeenField, context: &Context<'_>) -> Result<Moves> {
    let chances = match seen.state {
        State::Playing => {
            let cancel = context.cancel();
            chances(&seen.field, &|| cancel.is_cancelled()).map_err(Error::new)?
        }
        State::Won | State::Lost => Vec::new(),
    };
    let safe = certain(&chances, 0.0);
    let guess = chances
        .iter()
        .enumerate()
        .filter_map(|(cell, &chance)| {
            Some(Guess {
                cell,
                chance: chance?,
            })
        })
        .min_by(|one, other| one.chance.total_cmp(&other.chance))
        .filter(|guess| safe.is_empty() && guess.chance < 1.0);
    Ok(Moves {
        mines: certain(&chances, 1.0),
        frame,
        seen,
        safe,
        guess,
    })
}

flowpipe_plugin::export!(Solver);

#[cfg(test)]
mod tests {
    use flowpipe_plugin::harness::Harness;
    use mines_game::field::Field;
    use mines_game::message::Grid;
    use serde_json::{Value, json};

    use super::*;

    fn solver() -> Harness {
        flowpipe_plugin::harness!(Solver, json!({})).unwrap()
    }

    fn sent(mines: usize, rows: &str) -> Result<Vec<Value>> {
        let field = Field::parse(mines, rows).unwrap();
        let grid = Grid {
            left: 30,
            top: 50,
            side: 20,
        };
        let seen = SeenField {
            state: field.state(),
            field,
            grid,
        };
        let sighting = Sighting {
            frame: json!({ "source": "test" }),
            reading: Reading::Field(seen),
        };
        let emitted = solver().send(0, FIELD, &sighting)?;
        Ok(emitted.into_iter().map(|it| it.body).collect())
    }

    #[test]
    fn it_finds_what_is_safe() {
        let moves = &sent(1, "1#\n1#\n1#").unwrap()[0];
        assert_eq!(
            (&moves["safe"], &moves["mines"]),
            (&json!([1, 5]), &json!([3]))
        );
        assert_eq!(moves["guess"], Value::Null);
        assert_eq!(moves["frame"]["source"], "test");
    }

    #[test]
    fn it_guesses_only_if_it_has_to() {
        let moves = &sent(1, "#1#\n###").unwrap()[0];
        assert_eq!(moves["safe"], json!([]));
        assert!(moves["guess"]["chance"].as_f64().unwrap() > 0.0, "{moves}");
    }

    #[test]
    fn a_field_that_can_not_be_is_an_error() {
        let error = sent(1, "1#1\n###\n1#2").unwrap_err().to_string();
        assert!(error.contains("misread"), "{error}");
    }

    #[test]
    fn what_was_not_read_is_not_solved() {
        let reading = Reading::Refused {
            reason: "there is no grid of cells".to_owned(),
        };
        let sighting = Sighting {
            frame: json!({}),
            reading,
        };
        assert!(solver().send(0, FIELD, &sighting).unwrap().is_empty());
    }

    #[test]
    fn a_finished_game_passes_without_moves() {
        let moves = &sent(1, "F1\n11").unwrap()[0];
        assert_eq!(
            (&moves["seen"]["state"], &moves["mines"]),
            (&json!("won"), &json!([]))
        );
    }
}
