//! The puzzles of a command that were read and are not printed yet.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use flowpipe_machines::batch::Supply;
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::text::Entry;

use crate::batch::puzzle_store::PuzzleStore;
use crate::exit::Failure;
use crate::puzzle_input::PuzzleInput;
use crate::solver_run::{GivenPuzzle, PuzzleContent, PuzzleSource, share};

/// The most puzzles that are kept.
const MOST_PUZZLES: usize = 1 << 15;
/// The most bytes of puzzles that are kept, unless one has more.
const MOST_BYTES: usize = 64 << 20;
/// The same for answers that wait for earlier ones. No more puzzles are given to a solver than answers are expected to
/// find room.
const MOST_ANSWER_BYTES: usize = 64 << 20;
/// About what a puzzle takes besides what it consists of.
const PUZZLE_BYTES: usize = 512;
/// About what a cell of a board takes.
const CELL_BYTES: usize = 96;

/// Puzzles between the thread that reads them, the solvers, and the printer. It is bounded: while it is full, nothing is
/// read. Puzzles leave it in their order, as they are printed.
#[derive(Default)]
pub struct PuzzleWindow {
    state: Mutex<WindowState>,
    /// For the thread that reads.
    has_room: Condvar,
    /// For those that solve.
    has_puzzles: Condvar,
}

#[derive(Default)]
struct WindowState {
    /// With about how many bytes each takes.
    entries: VecDeque<(Arc<Entry>, usize)>,
    /// The index of the first of them.
    printed: usize,
    bytes: usize,
    /// Of the entries that are puzzles: their indices.
    puzzles: VecDeque<usize>,
    /// The place of the first of them among all puzzles.
    first_place: usize,
    /// The place of the next puzzle that is given to a solver here.
    next_place: usize,
    /// How many that were given to a solver here are answered.
    answered: usize,
    answer_bytes: usize,
    largest_answer: usize,
    /// How the input has ended.
    end: Option<Result<(), Failure>>,
    /// Nothing more is needed.
    is_closed: bool,
    /// Whether the thread that reads waits.
    is_reader_waiting: bool,
    /// How many threads wait that solve.
    solvers_waiting: usize,
}

/// The next puzzle to print.
pub struct NextEntry {
    /// What was read.
    pub entry: Arc<Entry>,
    /// Whether it is the only one so far, and there may be others.
    pub may_be_only: bool,
}

impl PuzzleWindow {
    /// Reads puzzles into a window in a thread. That ends with the input, or with the program.
    ///
    /// # Errors
    /// When the thread can't be started.
    pub fn read(mut input: PuzzleInput) -> std::io::Result<Arc<Self>> {
        let window = Arc::<Self>::default();
        let reading = window.clone();
        let thread = std::thread::Builder::new().name("flowpipe-reading".into());
        thread.spawn(move || {
            let end = loop {
                match input.next() {
                    Ok(Some(entry)) => {
                        if !reading.enter(entry) {
                            break Ok(());
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(failure) => break Err(failure),
                }
            };
            reading.end(end);
        })?;
        Ok(window)
    }

    /// Adds a puzzle. Waits while there is no room. Returns whether more are needed.
    fn enter(&self, entry: Entry) -> bool {
        let mut state = self.lock();
        if state.is_full(1, 1) {
            // With room for one puzzle alone, both ends would wait again and again.
            while state.is_full(7, 8) && !state.is_closed {
                state.is_reader_waiting = true;
                state = wait(&self.has_room, state);
            }
            state.is_reader_waiting = false;
        }
        let index = state.read();
        if entry.puzzle.is_ok() {
            state.puzzles.push_back(index);
        }
        let bytes = entry_bytes(&entry);
        state.bytes += bytes;
        state.entries.push_back((Arc::new(entry), bytes));
        if state.solvers_waiting > 0 {
            self.has_puzzles.notify_one();
        }
        !state.is_closed
    }

    fn end(&self, end: Result<(), Failure>) {
        self.lock().end = Some(end);
        self.has_puzzles.notify_all();
    }

    /// The next puzzle to print, if it was read.
    pub fn next_entry(&self) -> Option<NextEntry> {
        let state = self.lock();
        let (entry, _) = state.entries.front()?;
        Some(NextEntry {
            entry: entry.clone(),
            may_be_only: state.read() == 1 && state.end.is_none() && !state.is_closed,
        })
    }

    /// The next puzzle is printed. `answer_bytes`: what its answer took.
    pub fn printed(&self, answer_bytes: usize) {
        let mut state = self.lock();
        let Some((_, bytes)) = state.entries.pop_front() else {
            return;
        };
        state.bytes -= bytes;
        if state.puzzles.front() == Some(&state.printed) {
            state.puzzles.pop_front();
            state.first_place += 1;
            state.next_place = state.next_place.max(state.first_place);
        }
        state.printed += 1;
        state.answer_bytes = state.answer_bytes.saturating_sub(answer_bytes);
        if state.is_reader_waiting && !state.is_full(7, 8) {
            self.has_room.notify_one();
        }
        self.wake_solvers(&state);
    }

    /// A puzzle that was given to a solver here has an answer of so many bytes.
    pub fn answered(&self, answer_bytes: usize) {
        let mut state = self.lock();
        state.answered += 1;
        state.answer_bytes += answer_bytes;
        state.largest_answer = state.largest_answer.max(answer_bytes);
        self.wake_solvers(&state);
    }

    /// The answer to a puzzle has grown.
    pub fn added(&self, answer_bytes: usize) {
        self.lock().answer_bytes += answer_bytes;
    }

    /// The index of the puzzle at a place. `None`: it is printed, or not read.
    pub fn index_of(&self, place: usize) -> Option<usize> {
        let state = self.lock();
        let at = place.checked_sub(state.first_place)?;
        state.puzzles.get(at).copied()
    }

    /// How many puzzles were read, and whether these are all.
    pub fn count(&self) -> (usize, bool) {
        let state = self.lock();
        (state.read(), state.end.is_some())
    }

    /// How the input has ended, if it has: once.
    pub fn take_end(&self) -> Option<Result<(), Failure>> {
        self.lock()
            .end
            .as_mut()
            .map(|end| std::mem::replace(end, Ok(())))
    }

    /// Lets those work that wait for room for their answers.
    fn wake_solvers(&self, state: &WindowState) {
        if state.solvers_waiting > 0 && state.available() > 0 && state.room_for_answers(1) > 0 {
            self.has_puzzles.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, WindowState> {
        // No code that holds the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, WindowState>,
) -> MutexGuard<'a, WindowState> {
    let waited = condition.wait(state);
    waited.unwrap_or_else(PoisonError::into_inner)
}

impl WindowState {
    /// How many entries were read.
    fn read(&self) -> usize {
        self.printed + self.entries.len()
    }

    /// How many puzzles were read.
    fn places(&self) -> usize {
        self.first_place + self.puzzles.len()
    }

    /// The puzzle that is so many places behind the first one.
    fn puzzle(&self, at: usize) -> Option<Puzzle> {
        let index = *self.puzzles.get(at)?;
        let (entry, _) = self.entries.get(index - self.printed)?;
        let (puzzle, _) = entry.puzzle.as_ref().ok()?;
        Some(puzzle.clone())
    }

    /// How many puzzles were given to no solver here.
    fn available(&self) -> usize {
        self.places() - self.next_place
    }

    /// Whether all puzzles were given to solvers, and no more are read.
    fn is_exhausted(&self) -> bool {
        self.available() == 0 && self.end.is_some()
    }

    /// Whether it is full to this part.
    fn is_full(&self, numerator: usize, denominator: usize) -> bool {
        let part = |most: usize| most / denominator * numerator;
        let has_much = self.entries.len() >= part(MOST_PUZZLES) || self.bytes >= part(MOST_BYTES);
        has_much && !self.entries.is_empty()
    }

    /// How many more puzzles may be given to solvers, so that there is room for all their answers. One is always solved:
    /// it is the next one that is printed.
    fn room_for_answers(&self, pipelines: usize) -> usize {
        let solving = self.next_place.saturating_sub(self.answered);
        let free = MOST_ANSWER_BYTES.saturating_sub(self.answer_bytes);
        let most = free / self.largest_answer.max(1);
        // How large answers are shows after the first ones.
        let most = most.min(pipelines + self.answered);
        most.saturating_sub(solving).max(usize::from(solving == 0))
    }
}

/// About what an entry takes.
fn entry_bytes(entry: &Entry) -> usize {
    let names: usize = entry
        .names
        .iter()
        .map(|it| size_of::<String>() + it.capacity())
        .sum();
    let title = entry.title.as_ref().map_or(0, String::capacity);
    let content = match &entry.puzzle {
        Err(_) => 0,
        Ok((puzzle, solution)) => {
            let description = puzzle.board().description();
            let flows = solution.iter().flat_map(|it| &it.flows);
            let flows = flows.map(|flow| size_of_val(flow) + size_of_val(&*flow.cells));
            puzzle.board().len() * CELL_BYTES
                + size_of_val(puzzle.terminals())
                + size_of_val(&*description.walls)
                + flows.sum::<usize>()
        }
    };
    PUZZLE_BYTES + names + title + content
}

impl PuzzleSource for PuzzleWindow {
    fn take(&self, pipelines: usize, has_ended: &dyn Fn() -> bool) -> Option<Vec<GivenPuzzle>> {
        let mut state = self.lock();
        loop {
            let available = state.available();
            if state.is_closed || state.is_exhausted() {
                return None;
            }
            if has_ended() {
                // What has woken this thread may have been for another one.
                self.wake_solvers(&state);
                return None;
            }
            let room = state.room_for_answers(pipelines);
            if available > 0 && room > 0 {
                let count = share(available, pipelines).min(room);
                let first = state.next_place;
                state.next_place += count;
                if state.is_exhausted() && state.solvers_waiting > 0 {
                    // For them there are none: nothing else wakes them.
                    self.has_puzzles.notify_all();
                }
                let at = first - state.first_place;
                let given = at..at + count;
                return Some(
                    given
                        .zip(first..)
                        .filter_map(|(at, place)| {
                            let content = PuzzleContent::Read(state.puzzle(at)?);
                            Some(GivenPuzzle { place, content })
                        })
                        .collect(),
                );
            }
            state.solvers_waiting += 1;
            state = wait(&self.has_puzzles, state);
            state.solvers_waiting -= 1;
        }
    }

    fn wake(&self) {
        // A thread that does not wait yet asks after this.
        drop(self.lock());
        self.has_puzzles.notify_all();
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.has_puzzles.notify_all();
        self.has_room.notify_all();
    }
}

impl PuzzleStore for PuzzleWindow {
    fn supply(&self) -> Supply {
        let state = self.lock();
        Supply {
            items: state.places() as u64,
            is_complete: state.end.is_some(),
        }
    }

    fn puzzles(&self, places: Range<usize>) -> Vec<Puzzle> {
        let state = self.lock();
        let Some(start) = places.start.checked_sub(state.first_place) else {
            return Vec::new();
        };
        let places = start..start + places.len();
        places.map_while(|at| state.puzzle(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::sync::atomic::{AtomicBool, Ordering};

    use flowpipe_puzzle::text;

    use super::*;

    fn window(texts: &[&str]) -> PuzzleWindow {
        let window = PuzzleWindow::default();
        for text in texts {
            assert!(window.enter(text::read(text).remove(0)));
        }
        window
    }

    fn places(window: &PuzzleWindow) -> Vec<usize> {
        let taken = window.take(1, &|| false).unwrap_or_default();
        taken.into_iter().map(|it| it.place).collect()
    }

    #[test]
    fn puzzles_have_places_and_what_can_not_be_read_has_none() {
        let window = window(&["A?", "AA", "B?", "BB", "CC"]);
        let indices = [0, 1, 2, 3].map(|place| window.index_of(place));
        assert_eq!(indices, [Some(1), Some(3), Some(4), None]);
        assert_eq!(places(&window), [0]);
        window.answered(0);
        window.printed(0);
        assert_eq!(window.index_of(0), Some(1));
        window.printed(0);
        assert_eq!(window.index_of(0), None);
        // What is printed is gone, also where a worker asks for what is behind it.
        assert_eq!(window.puzzles(0..3).len(), 0);
        assert_eq!(window.puzzles(1..9).len(), 2);
        assert_eq!(window.count(), (5, false));
        window.end(Ok(()));
        assert_eq!(window.supply(), Supply::all(3));
        assert_eq!(places(&window), [1]);
        assert_eq!(places(&window), [2]);
        assert!(window.take(1, &|| false).is_none());
        assert!(window.take_end().is_some_and(|end| end.is_ok()));
    }

    /// Puzzles without an end.
    struct Endless;

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let text = b"AA\n\n";
            let count = into.len() / text.len() * text.len();
            into.chunks_exact_mut(text.len())
                .for_each(|it| it.copy_from_slice(text));
            Ok(count)
        }
    }

    #[test]
    fn while_it_is_full_nothing_is_read() {
        let window = PuzzleWindow::read(PuzzleInput::new("-", Endless)).unwrap();
        let wait_until = |is_so: &dyn Fn(&WindowState) -> bool| {
            while !is_so(&window.lock()) {
                std::thread::yield_now();
            }
        };
        for round in 0..3 {
            wait_until(&|it| it.is_reader_waiting);
            let read = MOST_PUZZLES + round * MOST_PUZZLES / 2;
            assert_eq!(window.count(), (read, false));
            (0..MOST_PUZZLES / 2).for_each(|_| window.printed(0));
            wait_until(&|it| it.read() > read);
        }
        window.close();
        wait_until(&|it| it.end.is_some());
    }

    #[test]
    fn who_takes_the_last_puzzle_wakes_those_that_wait() {
        let window = window(&["AA"; 3]);
        window.end(Ok(()));
        assert_eq!(window.take(2, &|| false).map(|it| it.len()), Some(1));
        assert_eq!(window.take(2, &|| false).map(|it| it.len()), Some(1));
        std::thread::scope(|scope| {
            // There is no room for one more answer.
            let waiting = [(); 2].map(|()| scope.spawn(|| window.take(2, &|| false)));
            while window.lock().solvers_waiting < 2 {
                std::thread::yield_now();
            }
            window.answered(0);
            let taken = waiting.map(|it| it.join().unwrap().map_or(0, |it| it.len()));
            assert_eq!(taken.iter().sum::<usize>(), 1);
        });
    }

    #[test]
    fn who_waits_for_a_pipeline_that_has_ended_leaves_the_puzzles_to_others() {
        let window = window(&[]);
        let has_ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| window.take(2, &|| has_ended.load(Ordering::SeqCst)));
            let other = scope.spawn(|| window.take(2, &|| false));
            while window.lock().solvers_waiting < 2 {
                std::thread::yield_now();
            }
            has_ended.store(true, Ordering::SeqCst);
            window.wake();
            let of_ended = waiting.join().unwrap();
            let has_entered = window.enter(text::read("AA").remove(0));
            // Before anything is asserted: the scope waits for this thread.
            let of_other = other.join().unwrap();
            assert!(of_ended.is_none() && has_entered);
            assert_eq!(of_other.map(|it| it.len()), Some(1));
            assert!(window.enter(text::read("BB").remove(0)));
            assert!(window.take(2, &|| true).is_none());
        });
    }

    #[test]
    fn large_answers_hold_puzzles_back() {
        const ANSWER: usize = 1 << 20;
        let window = window(&["AA"; 1000]);
        // The first one is slow.
        assert_eq!(places(&window), [0]);
        let mut answered = 0;
        while window.lock().room_for_answers(2) > 0 {
            for _ in window.take(2, &|| false).unwrap() {
                window.answered(ANSWER);
                answered += 1;
            }
        }
        assert!((32..=64).contains(&answered), "{answered}");
        window.answered(ANSWER);
        // Now it is the next one that is printed.
        assert_eq!(window.lock().room_for_answers(2), 1);
        (0..=answered).for_each(|_| window.printed(ANSWER));
        assert_eq!(window.lock().room_for_answers(2), 64);
    }
}
