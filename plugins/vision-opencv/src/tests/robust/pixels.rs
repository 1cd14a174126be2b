//! What is done to pixels: light, noise, blur, JPEG, and other sizes.

use fastrand::Rng;
use image::codecs::jpeg::JpegEncoder;
use image::{ImageFormat, Rgb, RgbImage};
use opencv::boxed_ref::BoxedRef;
use opencv::core::{Mat, MatTraitConst, MatTraitConstManual, Size, Vec3b};
use opencv::imgproc;

/// Each value v of 0 to 255 becomes `255 * (v / 255)^gamma * factor + offset`.
#[derive(Clone, Copy, Debug)]
pub struct Light {
    pub factor: f64,
    pub offset: f64,
    pub gamma: f64,
}

impl Light {
    pub fn shine(self, picture: &mut RgbImage) {
        let table: Vec<u8> = (0..=255)
            .map(|value| (f64::from(value) / 255.0).powf(self.gamma) * 255.0)
            .map(|value| (value * self.factor + self.offset).round() as u8)
            .collect();
        for value in picture.iter_mut() {
            *value = table[usize::from(*value)];
        }
    }
}

/// Adds a normally distributed number to each value.
pub fn noise(picture: &mut RgbImage, sigma: f64, rng: &mut Rng) {
    // The sum of eight bytes is close to normal: the variance of a byte is (256² - 1) / 12.
    let (mean, deviation) = (8.0 * 127.5, (8.0 * 65535.0 / 12.0_f64).sqrt());
    for value in picture.iter_mut() {
        let sum: u32 = rng.u64(..).to_le_bytes().into_iter().map(u32::from).sum();
        let change = (f64::from(sum) - mean) / deviation * sigma;
        *value = (f64::from(*value) + change).round() as u8;
    }
}

/// A Gaussian blur with `sigma` in pixels.
pub fn blur(picture: &RgbImage, sigma: f64) -> RgbImage {
    by_opencv(picture, |old, new| {
        imgproc::gaussian_blur_def(old, new, Size::default(), sigma)
    })
}

/// Made larger (cubic) or smaller (by area).
pub fn resize(picture: &RgbImage, width: u32, height: u32) -> RgbImage {
    let method = if width < picture.width() {
        imgproc::INTER_AREA
    } else {
        imgproc::INTER_CUBIC
    };
    let size = Size::new(width as i32, height as i32);
    by_opencv(picture, |old, new| {
        imgproc::resize(old, new, size, 0.0, 0.0, method)
    })
}

/// OpenCV takes a tenth of the time that plain code takes.
fn by_opencv(
    picture: &RgbImage,
    change: impl Fn(&BoxedRef<'_, Mat>, &mut Mat) -> opencv::Result<()>,
) -> RgbImage {
    let (width, height) = picture.dimensions();
    let old = Mat::new_rows_cols_with_bytes::<Vec3b>(height as i32, width as i32, picture.as_raw());
    let mut new = Mat::default();
    change(&old.unwrap(), &mut new).unwrap();
    let bytes = new.data_bytes().unwrap().to_vec();
    RgbImage::from_raw(new.cols() as u32, new.rows() as u32, bytes).unwrap()
}

/// Written as JPEG and read again, with colours at half the resolution, as most programs write it.
pub fn jpeg(picture: &RgbImage, quality: u8) -> RgbImage {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality)
        .encode_image(&halved_colours(picture))
        .unwrap();
    image::load_from_memory_with_format(&bytes, ImageFormat::Jpeg)
        .unwrap()
        .into_rgb8()
}

/// The encoder keeps all colours: here they come from a picture of half the size, brightness from the whole.
fn halved_colours(picture: &RgbImage) -> RgbImage {
    let (width, height) = picture.dimensions();
    let half = resize(picture, width.div_ceil(2), height.div_ceil(2));
    let mut halved = resize(&half, width, height);
    for (new, old) in halved.pixels_mut().zip(picture.pixels()) {
        let change = brightness(old) - brightness(new);
        new.0 = new.0.map(|value| (f64::from(value) + change).round() as u8);
    }
    halved
}

/// As JFIF has it (ITU-R BT.601).
fn brightness(colour: &Rgb<u8>) -> f64 {
    let [red, green, blue] = colour.0.map(f64::from);
    0.299 * red + 0.587 * green + 0.114 * blue
}
