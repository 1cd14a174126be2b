//! What a picture of the screen costs through X11: over the connection, and into shared memory. Both in one
//! run on one display, interleaved, so that whatever else the machine does weighs on both alike.
//!
//! `DISPLAY=:1 cargo bench -p flowpipe-desktop --bench grab`, on an X11 display of any size, best of at
//! least 1920 x 1080.
#![allow(clippy::expect_used, reason = "a bench ends by panicking")]

fn main() {
    // Cargo runs benches as tests too: then a little is enough.
    let brief = std::env::args().any(|argument| argument == "--test");
    #[cfg(all(unix, not(target_os = "macos")))]
    measure::run(if brief { 3 } else { 300 });
    #[cfg(not(all(unix, not(target_os = "macos"))))]
    println!("nothing to compare here: X11 only ({brief})");
}

#[cfg(all(unix, not(target_os = "macos")))]
mod measure {
    use std::time::{Duration, Instant};

    use flowpipe_desktop::{Desktop, Grabber, Rect};

    pub fn run(rounds: usize) {
        let Ok(display) = std::env::var("DISPLAY") else {
            println!("DISPLAY is not set: nothing measured");
            return;
        };
        let desktop = Desktop::connect_x11(&display).expect("DISPLAY is an X server");
        let Rect { width, height, .. } = desktop.screen().expect("the server answers");
        let whole = Rect {
            x: 0,
            y: 0,
            width: width.min(1920),
            height: height.min(1080),
        };
        let window = Rect {
            x: 100,
            y: 100,
            width: 600.min(width),
            height: 800.min(height),
        };
        println!("{rounds} pictures each, interleaved (p50, p95)");
        for rect in [whole, window] {
            let mut ways = ways(&desktop, rect);
            let mut times = vec![Vec::with_capacity(rounds); ways.len()];
            for round in 0..=rounds {
                for ((_, grab), times) in ways.iter_mut().zip(&mut times) {
                    let began = Instant::now();
                    grab();
                    // The first of each gets memory, and does not count.
                    if round > 0 {
                        times.push(began.elapsed());
                    }
                }
            }
            for ((name, _), times) in ways.iter().zip(&mut times) {
                times.sort_unstable();
                let at = |share: f64| milliseconds(times[(times.len() as f64 * share) as usize]);
                let (width, height) = (rect.width, rect.height);
                println!(
                    "{width:5} x {height:<4}  {name:<18} {:8.3} ms  {:8.3} ms",
                    at(0.5),
                    at(0.95)
                );
            }
        }
    }

    type Way<'a> = (&'static str, Box<dyn FnMut() + 'a>);

    fn ways(desktop: &Desktop, rect: Rect) -> Vec<Way<'_>> {
        let mut shared = desktop.grabber().expect("a common screen");
        let mut plain = desktop.plain_grabber().expect("a common screen");
        vec![
            (
                "X11 shared memory",
                Box::new(move || grab(&mut shared, rect)),
            ),
            ("X11 GetImage", Box::new(move || grab(&mut plain, rect))),
        ]
    }

    fn grab(grabber: &mut Grabber, rect: Rect) {
        let picture = grabber.grab(rect).expect("a picture");
        assert_eq!(picture.expect("on the screen").width, rect.width);
    }

    fn milliseconds(time: Duration) -> f64 {
        time.as_secs_f64() * 1e3
    }
}
