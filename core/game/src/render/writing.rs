//! The writing above the board, written again only where it has changed.

use super::canvas::Canvas;
use super::header::{Text, texts};
use super::{Area, Layout, Scene};

/// What is written on a canvas.
#[derive(Default)]
pub(super) struct Writing(Vec<Text>);

impl Writing {
    /// Writes the texts of a scene. A text that is gone is replaced by the pixels of a
    /// clean canvas of the same size. What has changed is added to `changed`.
    pub(super) fn update(
        &mut self,
        canvas: &mut Canvas,
        clean: &Canvas,
        scene: &Scene,
        layout: &Layout,
        changed: &mut Vec<Area>,
    ) {
        let (was, is) = (&self.0, texts(scene, layout));
        let area = |text: &Text| text.area(clean.size());
        let mut fresh: Vec<&Text> = is.iter().filter(|text| !was.contains(text)).collect();
        let gone = was.iter().filter(|text| !is.contains(text));
        let mut stale: Vec<Area> = gone.filter_map(area).collect();
        let touches_stale = |text: &Text| {
            let area = area(text);
            area.is_some_and(|area| stale.iter().any(|&stale| area.touches(stale)))
        };
        // Where texts overlap, as they may in an odd window, all are written again.
        if is
            .iter()
            .any(|text| was.contains(text) && touches_stale(text))
        {
            fresh = is.iter().collect();
            stale = was.iter().filter_map(area).collect();
        }
        for &area in &stale {
            canvas.copy(clean, area);
        }
        for text in &fresh {
            text.draw(canvas);
        }
        changed.extend(stale);
        changed.extend(fresh.into_iter().filter_map(area));
        self.0 = is;
    }

    /// Where something is written on a canvas of a size.
    pub(super) fn covers(&self, size: (u32, u32)) -> impl Iterator<Item = Area> {
        self.0.iter().filter_map(move |text| text.area(size))
    }

    /// Takes all of it off again.
    pub(super) fn wipe(&mut self, canvas: &mut Canvas, clean: &Canvas) {
        for area in self.0.drain(..).filter_map(|text| text.area(clean.size())) {
            canvas.copy(clean, area);
        }
    }
}
