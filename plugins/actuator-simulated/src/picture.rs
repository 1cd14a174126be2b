//! Pictures of boards after the strokes.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flowpipe_game::Play;
use flowpipe_game::render::{Header, Scene, Style, Theme, render};
use flowpipe_output::{OutputFile, component};
use flowpipe_plugin::puzzle::message::SeenBoard;
use flowpipe_plugin::{Error, Result};
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder as _};

/// Pixels of a picture, the shape of a phone's screen.
const SIZE: (u32, u32) = (540, 960);

/// Red, green, blue of the board's lines.
const LINE: [u8; 3] = [90, 90, 60];

/// A folder that pictures are written into, numbered in the order of play.
pub struct Pictures {
    folder: PathBuf,
    written: usize,
}

impl Pictures {
    /// Makes the folder if it is not there.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn into_folder(folder: &str) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Error::bad_config(format!(
                "can't make the folder {folder} for pictures: {error}"
            ))
        })?;
        Ok(Self {
            folder: folder.into(),
            written: 0,
        })
    }

    /// Draws the board as it is, in the colours in which it was seen.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&mut self, play: &Play, seen: &SeenBoard, source: &str) -> Result<()> {
        self.written += 1;
        let board = play.puzzle().board();
        let scene = Scene {
            puzzle: play.puzzle(),
            flows: &play.drawn(),
            style: Style::Phone,
            theme: Theme::default(),
            palette: &seen.palette,
            line: LINE,
            lights: self.written as u64,
            header: Header {
                title: format!("board {}", self.written),
                note: format!("{}x{}", board.cols(), board.rows()),
                flows: play.flows_joined(),
                moves: play.moves(),
                best: None,
                pipe_percent: play.pipe_percent(),
            },
        };
        let pixels = render(&scene, SIZE.0, SIZE.1)?;
        let stem = Path::new(source)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        // The title of a window, or another text of others.
        let stem = component(&stem);
        let path = self.folder.join(format!("{:04}-{stem}.png", self.written));
        let mut png = Vec::new();
        PngEncoder::new(&mut png).write_image(
            &pixels.rgba,
            pixels.width,
            pixels.height,
            ExtendedColorType::Rgba8,
        )?;
        write_derived(&path, &png)
            .map_err(|error| Error::from(error).context(format!("can't write {}", path.display())))
    }
}

/// Writes a file whose name was derived: a link there is not followed.
fn write_derived(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = OutputFile::create_derived(path)?;
    file.write_all(content)?;
    file.commit()
}
