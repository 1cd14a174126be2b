//! Searches for tilted boards in the rectified picture.

use flowpipe_plugin::Format;
use flowpipe_plugin::puzzle::message::{BoardState, SeenBoard};
use opencv::core::{
    self, Mat, MatExprTraitConst, MatTraitConst, MatTraitConstManual, MatTraitManual, Scalar, Size,
};
use opencv::imgproc;

use crate::config::Config;
use crate::find::tilt::Tilt;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::read::error::ReadError;
use crate::read::search::BoardSearch;
use crate::steps::Steps;

/// Searches for tilted boards. It keeps nothing of a picture but memory.
#[derive(Default)]
pub struct TiltSearch {
    search: BoardSearch,
}

impl TiltSearch {
    /// Reads the board that is tilted in the picture that was searched last. `None` where there is none that can be
    /// read.
    ///
    /// # Errors
    /// [`ReadError`]; a board that can't be read is none.
    pub fn read(
        &mut self,
        picture: &Picture<'_>,
        search: &mut BoardSearch,
        config: &Config,
        steps: &mut Steps,
    ) -> Result<Option<Box<SeenBoard>>, ReadError> {
        for polarity in [Polarity::Bright, Polarity::Dark] {
            let [vertical, horizontal] = search.candidates().points(config, polarity);
            let size = [picture.width(), picture.height()].map(|side| side as f64);
            let tilt = Tilt::find(&vertical, &horizontal, size);
            steps.done("tilt");
            let Some(tilt) = tilt else { continue };
            let straight = straight(picture, &tilt)?;
            let mut info = picture.info();
            info.format = Format::Rgb8;
            info.stride = 3 * picture.width();
            let straight = Picture::new(straight.data_bytes()?, info)?;
            steps.done("tilt");
            if let Ok(read) = self.search.search(&straight, config, steps)? {
                let mut board = read.board;
                board.geometry = tilt.geometry_back(board.geometry);
                board.state = BoardState::Moving;
                return Ok(Some(board));
            }
        }
        Ok(None)
    }
}

/// The picture as it would be seen straight, in red, green and blue. What lies outside of it is as its edge.
fn straight(picture: &Picture<'_>, tilt: &Tilt) -> opencv::Result<Mat> {
    let (width, height) = (picture.width() as i32, picture.height() as i32);
    let mut rgb = Mat::zeros(height, width, core::CV_8UC3)?.to_mat()?;
    let bytes = rgb.data_bytes_mut()?;
    for (y, row) in bytes.chunks_exact_mut(3 * picture.width()).enumerate() {
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            pixel.copy_from_slice(&picture.pixel(x, y).unwrap_or_default());
        }
    }
    let map = Mat::from_slice(&tilt.pixels_back())?
        .reshape(1, 3)?
        .try_clone()?;
    let mut straight = Mat::default();
    imgproc::warp_perspective(
        &rgb,
        &mut straight,
        &map,
        Size::new(width, height),
        imgproc::INTER_LINEAR | imgproc::WARP_INVERSE_MAP,
        core::BORDER_REPLICATE,
        Scalar::all(0.0),
    )?;
    Ok(straight)
}
