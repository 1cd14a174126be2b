//! A puzzle with its solution and strokes, as SVG.

use flowpipe_puzzle::svg;
use flowpipe_puzzle::text::Entry;
use flowpipe_terminal::escape;

use crate::solve::answer::Answer;

/// Draws an entry's puzzle, with its solution and its plan, if it has them. `None`: the entry is not a puzzle.
pub fn svg(entry: &Entry, answer: &Answer) -> Option<String> {
    let (puzzle, _) = entry.puzzle.as_ref().ok()?;
    let flows = answer
        .solutions()
        .next()
        .map(|solution| &solution.flows[..]);
    let plan = answer.plan.as_ref().and_then(|plan| plan.as_ref().ok());
    let title = escape(entry.title.as_deref().unwrap_or_default());
    let names: Vec<String> = entry
        .names
        .iter()
        .map(|it| escape(it).into_owned())
        .collect();
    let style = svg::SvgStyle {
        letters: true,
        names: &names,
        strokes: plan.map_or(&[], |plan| &plan.strokes),
        title: &title,
        ..svg::SvgStyle::default()
    };
    Some(svg::draw(puzzle, flows.unwrap_or_default(), style))
}
