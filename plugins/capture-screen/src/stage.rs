//! One capture after another.

use flowpipe_desktop::choice::KEPT_SCREEN_FILE;
use flowpipe_desktop::{Desktop, Grabber};
use flowpipe_plugin::{Cancel, Capture, Effect, EffectKind, Error, FrameSink, Host, Next, Result};

use crate::config::Config;
use crate::covers::Covers;
use crate::pace::Pace;
use crate::sent::Sent;
use crate::target_lookup::TargetLookup;

/// The stage.
pub struct CaptureScreen {
    desktop: Desktop,
    grabber: Grabber,
    target: TargetLookup,
    pace: Pace,
    covers: Covers,
    sent: Sent,
}

impl Capture for CaptureScreen {
    const NAME: &'static str = "capture-screen";
    const DOC: &'static str = "The screen, live: a window wherever it goes, a monitor, or a region. A frame is sent when \
         the picture has changed, and now and then when it has not. X11 asks for nothing. Under \
         Wayland, GNOME shows an indicator in its panel, and can't list windows: name a monitor or a region. KDE and \
         others ask in a dialog which monitor or window may be seen, which is monitor 1 then. macOS \
         wants Screen Recording allowed in System Settings under Privacy & Security.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(
            EffectKind::ReadsScreen,
            "reads the screen[: window '{window}'][: monitor {monitor}][: the region {region}]",
        ),
        Effect::new(
            EffectKind::ReadsFiles,
            "reads what a desktop portal has allowed before",
        )
        .with_state_file(KEPT_SCREEN_FILE),
        Effect::new(
            EffectKind::WritesFiles,
            "keeps what a desktop portal allows",
        )
        .with_state_file(KEPT_SCREEN_FILE),
    ]);
    type Config = Config;

    fn new(config: Config, host: &Host) -> Result<Self> {
        // Before anything else: a wrong config is reported even where there is no screen.
        config.check()?;
        let desktop = Desktop::connect_by(config.desktop)?;
        let run = *host;
        desktop.give_up_when(move || run.is_ending());
        Self::on(desktop, &config)
    }

    fn capture(&mut self, sink: &mut FrameSink<'_, '_>, _: &Cancel<'_>) -> Result<Next> {
        if self.pace.wait(sink)? {
            // Before the capture. A picture that a compositor has sent through PipeWire is older, and still what is shown: it
            // sends another one after each change. When it stands still it can't; so the mouse asks it before each press.
            let captured_ns = sink.host().now_ns();
            let target = self.target.known(&self.desktop);
            let target = target.map_err(|error| unless_ending(&sink.host(), error))?;
            let Some(target) = target else {
                return Ok(Next::More);
            };
            let seen = target
                .capture(&self.desktop, &mut self.grabber, captured_ns)
                .map_err(|error| unless_ending(&sink.host(), error))?;
            if let Some(seen) = seen {
                let covered = self.covers.over(&self.desktop, &seen, captured_ns)?;
                self.sent.offer(&seen, covered, captured_ns, sink)?;
            }
        }
        Ok(Next::More)
    }
}

/// Why a capture failed. The first one may ask a person: a question that was given up since the run ends is no failure.
fn unless_ending(host: &Host, error: Error) -> Error {
    match host.is_ending() {
        true => Error::cancelled(),
        false => error,
    }
}

impl CaptureScreen {
    /// The stage on a desktop.
    ///
    /// # Errors
    /// When the config can't be used, or the screen can't be captured.
    pub fn on(desktop: Desktop, config: &Config) -> Result<Self> {
        let subject = config.check()?;
        Ok(Self {
            grabber: desktop.grabber()?,
            target: TargetLookup::new(subject, config.wait_for_window, &desktop)?,
            pace: Pace::new(config.rate),
            covers: Covers::default(),
            sent: Sent::new(config.skip_identical, config.resend, desktop.session_name()),
            desktop,
        })
    }
}
