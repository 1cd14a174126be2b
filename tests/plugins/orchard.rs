//! A domain that exists nowhere: pictures of apples, their places, and baskets in which they are sorted, with a check of
//! its own, metrics and overlays.

use std::time::Duration;

use flowpipe_plugin::message::{
    CHECK, FRAME, FrameNote, METRICS, Metric, Metrics, OVERLAY, Overlay, Shape, Tone,
};
use flowpipe_plugin::{
    Cancel, Capture, Check, Context, Effect, Error, Format, FrameSink, Host, Input, JsonSchema,
    Judgement, Message, Next, NoConfig, Port, Result, Stage,
};
use serde::{Deserialize, Serialize};

/// The side of a picture, in pixels.
const SIDE: u32 = 16;

/// Schema id of [`Apples`].
const APPLES: &str = "orchard.apples/1";
/// Schema id of [`Basket`].
const BASKET: &str = "orchard.basket/1";
/// The check of both.
const CHECK_ORCHARD: &str = "check-orchard";

/// Where apples are, as `[x, y]` in pixels.
#[derive(Serialize, Deserialize)]
struct Apples {
    places: Vec<[u32; 2]>,
}

/// The weights of apples, the lightest first. An apple weighs the sum of its coordinates.
#[derive(Serialize, Deserialize)]
struct Basket {
    weights: Vec<u32>,
}

/// Gives pictures of more and more apples.
struct Camera {
    config: CameraConfig,
    taken: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CameraConfig {
    /// How many pictures there are.
    pictures: u32,
    /// The pause between them.
    #[serde(default)]
    pause_ms: u64,
}

impl Capture for Camera {
    const NAME: &'static str = "orchard-camera";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = CameraConfig;

    fn new(config: CameraConfig, _: &Host) -> Result<Self> {
        Ok(Self { config, taken: 0 })
    }

    fn capture(&mut self, sink: &mut FrameSink<'_, '_>, _: &Cancel<'_>) -> Result<Next> {
        if self.taken == self.config.pictures {
            return Ok(Next::End);
        }
        std::thread::sleep(Duration::from_millis(self.config.pause_ms));
        self.taken += 1;
        let mut frame = sink.new_frame(Format::Grey8, SIDE, SIDE)?;
        let pixels = frame.pixels_mut()?;
        pixels.fill(0);
        for apple in 0..=self.taken % 5 {
            // Never twice the same pixel: 7 and 256 have no common divisor.
            let at = (apple * 7 + self.taken) * 7 % (SIDE * SIDE);
            pixels[at as usize] = 255;
        }
        let captured_ns = sink.host().now_ns();
        sink.emit(&frame, &FrameNote::of("an orchard"), captured_ns)?;
        Ok(Next::More)
    }
}

/// Finds the apples in a picture.
struct Eye;

impl Stage for Eye {
    const NAME: &'static str = "orchard-eye";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = NoConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("frame", FRAME)]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("apples", APPLES).checked_by(CHECK_ORCHARD),
            Port::new("overlay", OVERLAY).checked_by(CHECK),
        ]
    }

    fn new(_: NoConfig, _: &Host) -> Result<Self> {
        Ok(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let frame = message
            .frame()
            .ok_or_else(|| Error::bad_message("no picture"))?;
        let apples = (0..).zip(frame.pixels()).filter(|(_, pixel)| **pixel > 0);
        let places: Vec<[u32; 2]> = apples.map(|(at, _)| [at % SIDE, at / SIDE]).collect();
        let circle = |[x, y]: &[u32; 2]| {
            Shape::circle([f64::from(*x) + 0.5, f64::from(*y) + 0.5], 1.5).with_label("apple")
        };
        let overlay = Overlay::new(places.iter().map(circle).collect());
        context.emit(0, &Apples { places })?;
        context.emit(1, &overlay)?;
        Ok(Next::More)
    }
}

/// Sorts apples by weight; the hasty one puts one at the end that is too light.
struct Sorter<const IS_HASTY: bool> {
    config: SorterConfig,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct SorterConfig {
    /// How long it takes.
    pause_ms: u64,
    /// The heaviest first, which is wrong.
    is_wrong: bool,
}

impl<const IS_HASTY: bool> Stage for Sorter<IS_HASTY> {
    const NAME: &'static str = match IS_HASTY {
        true => "orchard-hasty-sorter",
        false => "orchard-sorter",
    };
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = SorterConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("apples", APPLES)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("basket", BASKET).checked_by(CHECK_ORCHARD)]
    }

    fn new(config: SorterConfig, _: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let apples: Apples = message.parse()?;
        std::thread::sleep(Duration::from_millis(self.config.pause_ms));
        let mut weights: Vec<u32> = apples.places.iter().map(|[x, y]| x + y).collect();
        weights.sort_unstable();
        if self.config.is_wrong {
            weights.reverse();
        }
        if IS_HASTY {
            weights.push(0);
        }
        context.emit(0, &Basket { weights })?;
        Ok(Next::More)
    }
}

/// Counts the apples in baskets.
struct Scale {
    config: ScaleConfig,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct ScaleConfig {
    /// The process ends at every basket of so many apples.
    aborts_at: Option<usize>,
}

impl Stage for Scale {
    const NAME: &'static str = "orchard-scale";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = ScaleConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("basket", BASKET)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("metrics", METRICS).checked_by(CHECK)]
    }

    fn new(config: ScaleConfig, _: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let Basket { weights } = message.parse()?;
        if self.config.aborts_at == Some(weights.len()) {
            std::process::abort();
        }
        let mut metrics = vec![
            Metric::counter("apples", weights.len() as u64),
            Metric::gauge("heaviest", weights.last().copied().unwrap_or(0).into()),
            Metric::distribution("weight", weights.iter().map(|&it| it.into()).collect())
                .with_unit("g"),
        ];
        if weights.len() == 5 {
            metrics.push(Metric::note("a basket is full").with_tone(Tone::Good));
        }
        context.emit(0, &Metrics::new(metrics))?;
        Ok(Next::More)
    }
}

/// Judges the messages of the domain.
struct OrchardCheck;

impl Check for OrchardCheck {
    const NAME: &'static str = CHECK_ORCHARD;
    const DOC: &'static str = "Apples lie in the picture, and baskets are sorted.";
    const SCHEMAS: &'static [&'static str] = &[APPLES, BASKET];

    fn new(_: &Host) -> Result<Self> {
        Ok(Self)
    }

    fn judge(&self, _: Option<&Message<'_>>, message: &Message<'_>) -> Result<Judgement> {
        let is_right = match message.schema() {
            APPLES => {
                let apples: Apples = message.parse()?;
                apples.places.iter().flatten().all(|&at| at < SIDE)
            }
            _ => message.parse::<Basket>()?.weights.is_sorted(),
        };
        Ok(match is_right {
            true => Judgement::Accept,
            false => Judgement::Refuse("apples in the wrong order or place".to_owned()),
        })
    }
}

flowpipe_plugin::export!(
    Camera,
    Eye,
    Sorter<false>,
    Sorter<true>,
    Scale,
    OrchardCheck
);
