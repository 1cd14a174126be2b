//! A file, block by block.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use flowpipe_plugin::{Buffer, Error, Host, Result};
use hound::{SampleFormat, WavReader, WavSpec};

use crate::config::SampleType;

/// The most bytes of a block.
const LARGEST_BLOCK: u64 = 64 << 20;

/// A file that is read.
pub struct Wave {
    reader: WavReader<BufReader<File>>,
    spec: WavSpec,
    block: u32,
    element: SampleType,
    /// How many samples of each channel were read.
    position: u64,
    /// Why the next block can't be read: the file is damaged behind the last one.
    failure: Option<Error>,
}

/// A block of samples.
pub struct Block {
    /// The samples: in time, by channel.
    pub samples: Buffer,
    /// How many samples of each channel are before it.
    pub position: u64,
    /// How many samples of each channel it has.
    pub length: u64,
}

impl Wave {
    /// Opens a file.
    ///
    /// # Errors
    /// When it is no WAV file that can be read, or a block of it would be too large.
    pub fn open(path: &Path, block: u32, element: SampleType) -> Result<Self> {
        let file = flowpipe_output::open_regular(path)?;
        let reader = WavReader::new(BufReader::new(file)).map_err(|error| {
            Error::new(format!(
                "it can't be read as a WAV file ({error}): convert others, such as with `ffmpeg -i FILE sound.wav`; the \
                 pictures of a video are for capture-video"
            ))
        })?;
        let spec = reader.spec();
        if spec.channels == 0 || spec.sample_rate == 0 {
            return Err(Error::new(format!(
                "it has {} channels and {} samples a second",
                spec.channels, spec.sample_rate
            )));
        }
        let is_float = spec.sample_format == SampleFormat::Float;
        if spec.bits_per_sample > 32 || (is_float && spec.bits_per_sample < 32) {
            return Err(Error::new(format!(
                "its samples have {} bits: integers of 8 to 32 bits are read, and floating-point numbers of 32. Convert \
                 it, such as with `ffmpeg -i FILE -c:a pcm_f32le sound.wav`",
                spec.bits_per_sample
            )));
        }
        let bytes = u64::from(block) * u64::from(spec.channels) * 4;
        if bytes > LARGEST_BLOCK {
            return Err(Error::new(format!(
                "a block of {block} samples of {} channels has more than 64 MiB: set a smaller `block`",
                spec.channels
            )));
        }
        Ok(Self {
            reader,
            spec,
            block,
            element,
            position: 0,
            failure: None,
        })
    }

    /// Samples a second of each channel.
    pub fn rate(&self) -> u32 {
        self.spec.sample_rate
    }

    /// Whether no samples were read yet.
    pub fn is_at_start(&self) -> bool {
        self.position == 0
    }

    /// The next block. `None`: the end.
    ///
    /// # Errors
    /// When the file is damaged there. What can be read before comes first.
    pub fn next(&mut self, host: Host) -> Result<Option<Block>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let channels = usize::from(self.spec.channels);
        let mut samples = self.read(self.block as usize * channels);
        // What is left of a file that is cut off in the middle of a sample of all channels.
        samples.truncate(samples.len() / channels * channels);
        if samples.is_empty() {
            return self.failure.take().map_or(Ok(None), Err);
        }
        let length = (samples.len() / channels) as u64;
        let shape = [length, channels as u64];
        let mut buffer = host.new_buffer("audio/pcm", self.element.into(), &shape)?;
        match self.element {
            SampleType::F32 => {
                let all = buffer.as_mut_slice::<f32>()?.iter_mut().zip(&samples);
                all.for_each(|(to, from)| *to = *from as f32);
            }
            SampleType::I16 => {
                let all = buffer.as_mut_slice::<i16>()?.iter_mut().zip(&samples);
                // A conversion of numbers out of range gives the nearest one.
                all.for_each(|(to, from)| *to = (from * 32_768.0).round() as i16);
            }
        }
        let position = self.position;
        self.position += length;
        Ok(Some(Block {
            samples: buffer,
            position,
            length,
        }))
    }

    /// So many samples, from -1 to 1, or those before the end or a damage.
    fn read(&mut self, count: usize) -> Vec<f64> {
        let mut samples = Vec::with_capacity(count);
        let mut failure = None;
        match self.spec.sample_format {
            SampleFormat::Float => {
                let all = self.reader.samples::<f32>().take(count);
                let all = all.map_while(|sample| sample.map_err(|it| failure = Some(it)).ok());
                samples.extend(all.map(f64::from));
            }
            SampleFormat::Int => {
                let largest = 2_f64.powi(i32::from(self.spec.bits_per_sample) - 1);
                let all = self.reader.samples::<i32>().take(count);
                let all = all.map_while(|sample| sample.map_err(|it| failure = Some(it)).ok());
                samples.extend(all.map(|sample| f64::from(sample) / largest));
            }
        }
        let position = self.position + (samples.len() / usize::from(self.spec.channels)) as u64;
        self.failure = failure.map(|error| self.damage(position, &error));
        samples
    }

    /// That the file can't be read behind a sample.
    fn damage(&self, position: u64, error: &hound::Error) -> Error {
        let seconds = position as f64 / f64::from(self.spec.sample_rate);
        let reason = match error {
            // A read that ends too early has no kind of its own.
            hound::Error::IoError(error) if error.kind() == ErrorKind::Other => {
                "it has fewer samples than its header says, as a file that is cut off or still written".to_owned()
            }
            other => other.to_string(),
        };
        Error::new(format!(
            "it can't be read behind sample {position} ({seconds:.3} s): {reason}. Write the whole file \
             again, or what is left of it with `ffmpeg -i FILE sound.wav`"
        ))
    }
}
