//! Pictures that come to the screen late, as in games whose rendering is slow.

use std::collections::VecDeque;
use std::time::Duration;

use crate::kind::Look;
use crate::session::{Session, View};

/// States of a session on their way to the screen. Times are since the session's start.
pub(super) struct Delay {
    /// The least time between two pictures.
    rest: Duration,
    /// From a state to its picture.
    lag: Duration,
    /// Those that are not due yet, the oldest first.
    waiting: VecDeque<(Duration, State)>,
    /// When the last state was taken.
    taken_at: Option<Duration>,
    /// The last state that was taken, and the last one that was due.
    taken: Option<State>,
    due: Option<State>,
}

/// What a session shows, and the number of its board.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) view: View,
    pub(super) number: usize,
}

impl State {
    pub(super) fn of(session: &Session, now: Duration) -> Self {
        Self {
            view: session.view(now),
            number: session.number(),
        }
    }
}

impl Delay {
    /// The delay of a look; `None` if its pictures are not late.
    pub(super) fn of(look: Look) -> Option<Self> {
        (!look.lag.is_zero()).then(|| Self {
            rest: look.rest,
            lag: look.lag,
            waiting: VecDeque::new(),
            taken_at: None,
            taken: None,
            due: None,
        })
    }

    /// What the screen shows at a time of a session, if anything yet, and when to ask again.
    pub(super) fn pass(
        &mut self,
        session: &Session,
        now: Duration,
    ) -> (Option<State>, Option<Duration>) {
        let mut again = self.taken_at.map(|at| at + self.rest);
        if again.is_none_or(|at| at <= now) {
            again = None;
            let state = State::of(session, now);
            if self.taken.as_ref() != Some(&state) {
                self.waiting.push_back((now + self.lag, state.clone()));
                self.taken = Some(state);
                self.taken_at = Some(now);
                again = Some(now + self.rest);
            }
        }
        while let Some((_, state)) = self.waiting.pop_front_if(|(at, _)| *at <= now) {
            self.due = Some(state);
        }
        let next = self.waiting.front().map(|(at, _)| *at);
        (self.due.clone(), [again, next].into_iter().flatten().min())
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::place::centre;
    use flowpipe_puzzle::text;

    use super::*;
    use crate::session::{Level, Levels, Log, Options, Pointer};

    #[test]
    fn states_are_taken_now_and_then_and_come_late() {
        let ms = Duration::from_millis;
        let puzzle = text::read("A.A").remove(0).puzzle.expect("a puzzle").0;
        let at = |cell| centre(puzzle.board(), cell);
        let levels = Levels::Given(vec![Level {
            title: None,
            puzzle: puzzle.clone(),
        }]);
        let options = Options {
            input: crate::session::Input::Events,
            ..Options::default()
        };
        let mut session = Session::new(levels, options, Log::none()).expect("a session");
        let look = Look {
            rest: ms(60),
            lag: ms(150),
            ..Look::OWN
        };
        assert!(Delay::of(Look::OWN).is_none());
        let mut delay = Delay::of(look).expect("it is late");
        let drawn = |state: Option<State>| state.map(|state| state.view.face.flows.len());

        assert_eq!(delay.pass(&session, ms(0)), (None, Some(ms(60))));
        session.pointer(ms(10), Pointer::Press(at(0)));
        session.pointer(ms(11), Pointer::Move(at(1)));
        // The next state is taken after the rest, and the first one is due then.
        assert_eq!(delay.pass(&session, ms(20)), (None, Some(ms(60))));
        assert_eq!(delay.pass(&session, ms(60)), (None, Some(ms(120))));
        let (state, again) = delay.pass(&session, ms(150));
        assert_eq!((drawn(state), again), (Some(0), Some(ms(210))));
        let (state, again) = delay.pass(&session, ms(210));
        assert_eq!((drawn(state), again), (Some(1), None));
    }
}
