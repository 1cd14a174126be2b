//! Windows over a stream: the last messages, or those of a time.

use std::ffi::CString;

use flowpipe_plugin::{
    BufferPattern, Carried, Context, Effect, Error, Host, Input, JsonSchema, Next, Port, Result,
    Stage, abi,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::batch::TICK;
use crate::gathered::{Gathered, Kept as _, MOST_BYTES, schema};
use crate::kept_message::{JoinedMessage, KeptMessage};

/// The most messages of a window.
const MOST_MESSAGES: usize = 100_000;
/// The most windows that a message is in.
const MOST_OVERLAPPING: usize = 1_000;

/// Config of window.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["count"] }, { "required": ["span_ms"] }]))]
#[schemars(extend("dependentSchemas" = {
    "step": { "required": ["count"] },
    "step_ms": { "required": ["span_ms"] },
}))]
pub struct WindowConfig {
    /// The schema id of the windows, such as `sensor.window/1`. A window is an array of the bodies, in their order.
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]+/[0-9]+$"))]
    pub schema: String,
    /// How many messages a window has.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<usize>,
    /// With `count`: after how many messages the next window starts. Left out: after `count`, so that windows don't overlap.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub step: Option<usize>,
    /// How long a window is, in milliseconds. It has the messages that come in that time, at most 100,000.
    #[serde(default)]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub span_ms: Option<u32>,
    /// With `span_ms`: after which time the next window starts, in milliseconds. Left out: after `span_ms`, so that windows
    /// don't overlap.
    #[serde(default)]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub step_ms: Option<u32>,
}

/// The stage.
pub struct Window {
    schema: CString,
    kind: Kind,
    state: OpenWindow,
}

enum Kind {
    Count { count: usize, step: usize },
    Time { span_ns: i64, step_ns: i64 },
}

#[derive(Default, Serialize, Deserialize)]
struct OpenWindow {
    /// The messages that a window to come has, and when each came.
    gathered: Gathered<i64, KeptMessage>,
    bytes: usize,
    /// By count: how many messages are left out before the next window starts. Without a window yet, none.
    skip: usize,
    /// How many of the messages, from the oldest on, were in a window already.
    sent: usize,
    /// By time: when the next window starts at the earliest. `None`: no message has come.
    start_ns: Option<i64>,
}

impl Stage for Window {
    const NAME: &'static str = "window";
    const DOC: &'static str = "Sends windows over a stream: an array of the bodies of so many messages, or of those that \
         come within a time, without their frames, and their buffers as one, joined along the first dimension. Windows \
         can overlap. A window of a time is sent when a message comes \
         behind its end, also one at `tick`, which is in no window, and at the end of the stream; one without messages \
         is not sent.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const STATE: &'static str = "window/3";
    type Config = WindowConfig;

    fn inputs() -> Vec<Port> {
        let tick = Port::new("tick", "*").carrying(Carried::ANYTHING);
        vec![
            Port::new("in", "*").carrying(Carried::ANYTHING),
            tick.optional(),
        ]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("out", "*")
                .carrying([Carried::Nothing, BufferPattern::any().into()])
                .with_schema_key("schema")
                .joining("in"),
        ]
    }

    fn new(config: WindowConfig, _: &Host) -> Result<Self> {
        Ok(Self {
            schema: schema(&config.schema)?,
            kind: kind(&config)?,
            state: OpenWindow::default(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        match (input, &self.kind) {
            (Input::Message(message), Kind::Count { .. }) if message.port() == TICK => {
                return Err(Error::new(
                    "a window of so many messages ends at no time: set span_ms, or leave `tick` unconnected",
                ));
            }
            (Input::Message(message), &Kind::Time { span_ns, step_ns })
                if message.port() == TICK =>
            {
                let now_ns = context.host().now_ns();
                self.end_windows(span_ns, step_ns, Some(now_ns), context)?;
            }
            (Input::Message(message), &Kind::Count { count, step }) => {
                let message = KeptMessage::of(&message)?;
                self.by_count(count, step, message, context)?;
            }
            (Input::Message(message), &Kind::Time { span_ns, step_ns }) => {
                let now_ns = context.host().now_ns();
                let message = KeptMessage::of(&message)?;
                // A window that can't be sent is not the fault of this message, which is in the next one.
                let ended = self.end_windows(span_ns, step_ns, Some(now_ns), context);
                let added = self.add(now_ns, message);
                ended.and(added)?;
            }
            // What no window had.
            (Input::Finish, &Kind::Count { count, step }) => {
                let mut windows = self.send_complete(count, step, context);
                let OpenWindow { gathered, sent, .. } = std::mem::take(&mut self.state);
                if gathered.len() > sent {
                    let window = gathered.iter().map(|(_, kept)| kept);
                    let window = JoinedMessage::of(window, context.host());
                    windows.add(self.send(window, context));
                }
                windows.result()?;
            }
            (Input::Finish, &Kind::Time { span_ns, step_ns }) => {
                self.end_windows(span_ns, step_ns, None, context)?;
            }
            _ => {}
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.state = OpenWindow::default();
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        Ok(serde_json::to_value(&self.state)?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        self.state = serde_json::from_value(state)?;
        self.state.bytes = self.state.gathered.bytes();
        let goes_on = match self.kind {
            Kind::Count { count, step } => step < count,
            Kind::Time { span_ns, step_ns } => step_ns < span_ns && self.align(step_ns),
        };
        if !goes_on {
            // The window that has them was sent with another config.
            self.remove_first(self.state.sent);
            self.state.sent = 0;
        }
        Ok(true)
    }
}

fn kind(config: &WindowConfig) -> Result<Kind> {
    let wrong = |text: &str| Err(Error::bad_config(text));
    match *config {
        WindowConfig {
            count: Some(count),
            span_ms: None,
            step,
            step_ms: None,
            ..
        } => match step.unwrap_or(count) {
            0 => wrong("step is at least 1"),
            _ if count == 0 => wrong("count is at least 1"),
            step => Ok(Kind::Count { count, step }),
        },
        WindowConfig {
            count: None,
            span_ms: Some(span_ms),
            step: None,
            step_ms,
            ..
        } => {
            let step_ms = step_ms.unwrap_or(span_ms);
            if span_ms == 0 || step_ms == 0 {
                return wrong("span_ms and step_ms are at least 1");
            }
            if span_ms.div_ceil(step_ms) as usize > MOST_OVERLAPPING {
                return wrong(
                    "step_ms is less than a thousandth of span_ms: a message would be in too many windows",
                );
            }
            Ok(Kind::Time {
                span_ns: i64::from(span_ms) * 1_000_000,
                step_ns: i64::from(step_ms) * 1_000_000,
            })
        }
        _ => wrong("set either count, with step, or span_ms, with step_ms"),
    }
}

impl Window {
    /// Moves the start of the next window to a multiple of this step, where the config before had another one. Whether what
    /// was in a window already is in the next one too. If not, nothing moves: the start may lie within a window that was sent,
    /// and the next one has what no window had.
    fn align(&mut self, step_ns: i64) -> bool {
        let OpenWindow {
            start_ns,
            gathered,
            sent,
            ..
        } = &mut self.state;
        let Some(start_ns) = start_ns else {
            // Windows of so many messages: these have no times.
            return *sent == 0;
        };
        let steps = start_ns.div_euclid(step_ns) + i64::from(start_ns.rem_euclid(step_ns) > 0);
        let aligned_ns = steps.saturating_mul(step_ns);
        let last_sent = sent.checked_sub(1).and_then(|it| gathered.iter().nth(it));
        let is_within = aligned_ns == *start_ns || last_sent.is_some_and(|it| it.0 >= aligned_ns);
        if is_within {
            *start_ns = aligned_ns;
        }
        is_within
    }

    fn add(&mut self, value: i64, message: KeptMessage) -> Result<()> {
        let state = &mut self.state;
        let bytes = message.bytes();
        if state.gathered.len() >= MOST_MESSAGES || state.bytes + bytes > MOST_BYTES {
            return Err(Error::new(format!(
                "the message is left out: the window has {} messages of {} bytes, and may have {MOST_MESSAGES} of {MOST_BYTES}",
                state.gathered.len(),
                state.bytes
            )));
        }
        state.bytes += bytes;
        state.gathered.push(value, message);
        Ok(())
    }

    fn remove_first(&mut self, count: usize) {
        self.state.gathered.remove_first(count);
        self.state.bytes = self.state.gathered.bytes();
    }

    fn by_count(
        &mut self,
        count: usize,
        step: usize,
        message: KeptMessage,
        context: &mut Context<'_>,
    ) -> Result<()> {
        if self.state.skip > 0 {
            self.state.skip -= 1;
            return Ok(());
        }
        if self.state.bytes + message.bytes() > MOST_BYTES && !self.state.gathered.is_empty() {
            // It would never be complete.
            let dropped = std::mem::take(&mut self.state).gathered.len();
            self.add(0, message)?;
            return Err(Error::new(format!(
                "the window is dropped: with this message, its {} messages have more than {MOST_BYTES} bytes. The next \
                 window starts with this message",
                dropped + 1
            )));
        }
        self.add(0, message)?;
        self.send_complete(count, step, context).result()
    }

    /// Sends the windows that have all their messages: several after a change to a smaller `count`.
    fn send_complete(
        &mut self,
        count: usize,
        step: usize,
        context: &mut Context<'_>,
    ) -> SentWindows {
        let mut windows = SentWindows::default();
        while self.state.gathered.len() >= count {
            let window = self.state.gathered.iter().take(count);
            let window = JoinedMessage::of(window.map(|(_, kept)| kept), context.host());
            self.state.skip = step.saturating_sub(self.state.gathered.len());
            self.state.sent = count.saturating_sub(step);
            self.remove_first(step);
            if !windows.add(self.send(window, context)) {
                break;
            }
        }
        windows
    }

    /// Sends the windows that end at this time or before, or all.
    fn end_windows(
        &mut self,
        span_ns: i64,
        step_ns: i64,
        now_ns: Option<i64>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        /// The end of the first window that has a message of this time. They start at multiples of the step.
        fn first_end(time_ns: i64, span_ns: i64, step_ns: i64) -> i64 {
            ((time_ns - span_ns).div_euclid(step_ns) + 1) * step_ns + span_ns
        }
        let mut windows = SentWindows::default();
        while let Some(&oldest_ns) = self.state.gathered.first() {
            // With another step than before, a start may lie within a window: that one has only what no window had.
            let start_ns = self
                .state
                .start_ns
                .map(|it| it.div_euclid(step_ns) * step_ns);
            let end_ns = start_ns
                .map_or(i64::MIN, |it| it + span_ns)
                .max(first_end(oldest_ns, span_ns, step_ns));
            if now_ns.is_some_and(|now_ns| end_ns > now_ns) {
                break;
            }
            let within = |time_ns: i64| time_ns >= end_ns - span_ns && time_ns < end_ns;
            let gathered = self.state.gathered.iter();
            let mut window = gathered.filter(|(time_ns, _)| within(*time_ns)).peekable();
            let window = window.peek().is_some().then(|| {
                let messages = window.map(|(_, kept)| kept);
                JoinedMessage::of(messages, context.host())
            });
            let next_start = end_ns + step_ns - span_ns;
            let before = |end_ns: i64| {
                let gathered = self.state.gathered.iter();
                gathered.take_while(|it| it.0 < end_ns).count()
            };
            let (old, ended) = (before(next_start), before(end_ns));
            self.remove_first(old);
            self.state.sent = ended.saturating_sub(old);
            self.state.start_ns = Some(next_start);
            if let Some(window) = window
                && !windows.add(self.send(window, context))
            {
                break;
            }
        }
        windows.result()
    }

    fn send(&self, window: Result<JoinedMessage>, context: &mut Context<'_>) -> Result<()> {
        window?.send(&self.schema, context)
    }
}

/// What became of windows that are sent one after the other. One that fails holds none behind it: at the end of the stream
/// no other message would send them.
#[derive(Default)]
struct SentWindows {
    /// How many are left out.
    failed: usize,
    /// Why the first one is, or that the stage is to end.
    first: Option<Error>,
}

impl SentWindows {
    /// Whether further ones can be sent, which is so until the stage is to end.
    fn add(&mut self, sent: Result<()>) -> bool {
        let Err(error) = sent else {
            return true;
        };
        let goes_on = !matches!(error.status(), abi::STOPPED | abi::CANCELLED);
        self.failed += usize::from(goes_on);
        self.first.get_or_insert(error);
        goes_on
    }

    fn result(self) -> Result<()> {
        let failed = self.failed;
        match self.first {
            Some(error) if failed > 1 => {
                Err(error.context(format!("{failed} windows are left out; the first one")))
            }
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
