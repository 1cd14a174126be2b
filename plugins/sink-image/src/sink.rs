//! The stage.

use flowpipe_plugin::{
    Carried, Context, Effect, EffectKind, Error, Frame, Host, Input, Message, Next, Port, Result,
    Stage, tracing,
};

use crate::config::Config;
use crate::drawing::Drawing;
use crate::encode::encode;
use crate::folder::Pictures;
use crate::pattern::Pattern;
use crate::pixels::PlainPixels;
use crate::waiting::{Choice, Waiting};

/// The input whose messages choose frames.
const CHOSEN: usize = 1;

/// The stage.
pub struct SinkImage {
    config: Config,
    pattern: Pattern,
    host: Host,
    waiting: Waiting<Frame, Drawing>,
    /// `None`: not active, or a dry run.
    pictures: Option<Pictures>,
}

impl Stage for SinkImage {
    const NAME: &'static str = "sink-image";
    const DOC: &'static str = "Writes frames to picture files, PNG or JPEG, in a folder with a bounded number of them: \
         all frames, or those from which a message at `chosen` descends. A file has its name only when it is whole. A \
         message without a frame is a failure. In a dry run nothing is written.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[Effect::new(
        EffectKind::WritesFiles,
        "writes pictures into {folder}, and removes old ones there",
    )
    .with_key("folder")]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        let chosen = Port::new("chosen", "*").carrying(Carried::ANYTHING);
        vec![
            Port::new("in", "*").carrying([Carried::Picture]),
            chosen.optional(),
        ]
    }

    fn outputs() -> Vec<Port> {
        Vec::new()
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        let pattern = Pattern::read(&config.name)
            .map_err(|error| Error::bad_config(format!("name = {:?}: {error}", config.name)))?;
        if config.draw && !config.choose {
            return Err(Error::bad_config(
                "draw needs choose = true: what is drawn comes in at `chosen`",
            ));
        }
        if config.most == 0 || config.waiting == 0 || config.quality == 0 {
            return Err(Error::bad_config(
                "most, waiting and quality are at least 1",
            ));
        }
        Ok(Self {
            waiting: Waiting::new(config.waiting),
            config,
            pattern,
            host: *host,
            pictures: None,
        })
    }

    fn activate(&mut self) -> Result<()> {
        let Config {
            folder,
            most,
            when_full,
            ..
        } = &self.config;
        if self.host.is_dry() {
            tracing::info!("a dry run: no picture is written into {folder}");
            return Ok(());
        }
        let pictures = Pictures::open(folder, self.pattern.clone(), *most, *when_full)?;
        self.pictures = Some(pictures);
        Ok(())
    }

    fn process(&mut self, input: Input<'_>, _: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            let found = match message.port() {
                CHOSEN => self.chosen(&message)?,
                _ => self.arrived(&message)?,
            };
            if let Some((frame, drawing)) = found {
                self.write(message.frame_sequence(), &frame, &drawing)?;
            }
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.waiting = Waiting::new(self.config.waiting);
        Ok(())
    }

    fn deactivate(&mut self) {
        self.pictures = None;
    }
}

/// A frame that is written, and what is drawn over it.
type Found = Option<(Frame, Drawing)>;

impl SinkImage {
    /// The frame of a message, if it is to be written now.
    fn arrived(&mut self, message: &Message<'_>) -> Result<Found> {
        let frame = message.frame().ok_or_else(|| {
            Error::bad_message(format!(
                "the {} has no frame: connect a stage that sends frames",
                message.schema()
            ))
        })?;
        Ok(match self.config.choose {
            true => self.waiting.add(message.frame_sequence(), frame),
            false => Some((frame, Drawing::Nothing)),
        })
    }

    /// The frame from which a message descends, if it has come.
    fn chosen(&mut self, message: &Message<'_>) -> Result<Found> {
        if !self.config.choose {
            return Err(Error::bad_message(
                "a message came in at `chosen`, where messages choose frames: set choose = true",
            ));
        }
        let number = message.frame_sequence();
        if number == 0 {
            return Err(Error::bad_message(format!(
                "the {} descends from no frame, and can't choose one",
                message.schema()
            )));
        }
        let drawing = match self.config.draw {
            true => Drawing::of(message)?,
            false => Drawing::Nothing,
        };
        Ok(match self.waiting.choose(number, drawing) {
            Choice::Waited(frame, drawing) => Some((frame, drawing)),
            Choice::ToCome | Choice::Repeated => None,
            Choice::Dropped(dropped) => {
                tracing::warn!("the choice of frame {dropped}, which has not come, is dropped");
                None
            }
            Choice::TooLate => {
                tracing::info!(
                    "frame {number} does not wait any more: raise `waiting` to write it"
                );
                None
            }
        })
    }

    fn write(&mut self, number: u64, frame: &Frame, drawing: &Drawing) -> Result<()> {
        let Some(pictures) = &mut self.pictures else {
            return Ok(());
        };
        if !pictures.has_room(number)? {
            return Ok(());
        }
        let pixels = drawing.over(PlainPixels::of(frame)?)?;
        let content = encode(&pixels, self.pattern.kind(), self.config.quality)?;
        pictures.write(number, &content)
    }
}
