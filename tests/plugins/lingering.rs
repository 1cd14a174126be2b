//! A stage without a line of `unsafe` that keeps its host and a frame where they outlive it: in a thread that never
//! stops using them, in a static, and in a thread-local value. What they are after `destroy` it prints.

#[forbid(unsafe_code)]
mod stage {
    use std::cell::RefCell;
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use flowpipe_plugin::puzzle::message::SIGHTING;
    use flowpipe_plugin::{
        Context, Effect, Ending, Format, Frame, Host, Input, Next, NoConfig, Port, Result, Stage,
        tracing,
    };

    /// What was kept, and by which stage.
    #[derive(Clone)]
    struct Kept {
        host: Host,
        frame: Frame,
    }

    static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

    /// How many stages there are, how many were dropped, and how many threads reported what they saw after that.
    static STAGES: AtomicU32 = AtomicU32::new(0);
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    static REPORTED: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static KEPT_BY_THREAD: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    }

    /// Used when a thread ends. In a process of its own that is when the stage was destroyed.
    struct AtEnd(Kept);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            self.0.report("thread-local");
        }
    }

    impl Kept {
        /// Everything that can be asked.
        fn use_all(&self) -> (bool, String) {
            let (host, frame) = (self.host, self.frame.clone());
            let now = match host.now_ns() {
                Host::REVOKED_NS => "revoked",
                _ => "going",
            };
            host.log(tracing::Level::TRACE, "still here");
            tracing::trace!("and here");
            let mut copy = frame.clone();
            let written = copy.pixels_mut().map_or(0, |pixels| {
                pixels.iter_mut().fold(0, |_, it| {
                    *it = 9;
                    9
                })
            });
            let made = host.new_frame(Format::Grey8, 4, 4).is_ok();
            let (ending, dry) = (host.is_ending(), host.is_dry());
            let pixels: u32 = frame.pixels().iter().map(|&it| u32::from(it)).sum();
            let text = format!(
                "clock {now}, makes frames {made}, ending {ending}, dry {dry}, pixels {pixels}, written {written}"
            );
            (now == "revoked", text)
        }

        fn report(&self, where_from: &str) {
            let (is_revoked, text) = self.use_all();
            if is_revoked {
                self.host.end_run(Ending::Stopped, "from beyond");
            }
            // In one write, so that lines of several processes do not mix, and none is cut off by the end of one.
            let line = format!("lingering in a {where_from}: {text}\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// Uses it without a pause, also while the stage is destroyed, and reports when that is seen.
    fn use_for_ever(kept: &Kept) {
        while !kept.use_all().0 {}
        kept.report("thread");
        for other in KEPT
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .take(1)
        {
            other.report("static");
        }
        REPORTED.fetch_add(1, Ordering::SeqCst);
        loop {
            kept.use_all();
        }
    }

    pub struct Lingering;

    impl Stage for Lingering {
        const NAME: &'static str = "lingering";
        const DETERMINISTIC: bool = true;
        const EFFECTS: Option<&'static [Effect]> = Some(&[]);
        type Config = NoConfig;

        fn inputs() -> Vec<Port> {
            vec![Port::new("in", SIGHTING)]
        }

        fn outputs() -> Vec<Port> {
            vec![Port::new("out", SIGHTING)]
        }

        fn new(_: NoConfig, host: &Host) -> Result<Self> {
            let mut frame = host.new_frame(Format::Grey8, 10, 10)?;
            frame.pixels_mut()?.fill(7);
            let kept = Kept { host: *host, frame };
            KEPT.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(kept.clone());
            KEPT_BY_THREAD.set(Some(AtEnd(kept.clone())));
            std::thread::spawn(move || use_for_ever(&kept));
            STAGES.fetch_add(1, Ordering::SeqCst);
            Ok(Self)
        }

        fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
            if let Input::Message(message) = input {
                context.emit(0, &message.parse::<serde_json::Value>()?)?;
            }
            Ok(Next::More)
        }
    }

    impl Drop for Lingering {
        /// The last one gives the threads of the others, which are destroyed by then, time to report what they see.
        fn drop(&mut self) {
            let others = DROPPED.fetch_add(1, Ordering::SeqCst);
            let deadline = Instant::now() + Duration::from_secs(20);
            while others + 1 == STAGES.load(Ordering::SeqCst)
                && REPORTED.load(Ordering::SeqCst) < others as usize
                && Instant::now() < deadline
            {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

flowpipe_plugin::export!(stage::Lingering);
