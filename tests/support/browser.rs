//! A real browser, without a window or in one: Chromium, driven by the DevTools protocol.

#![allow(dead_code, reason = "each test file uses some of it")]
#![expect(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page open. It ends when it is dropped.
pub struct Browser {
    process: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: Option<String>,
    asked: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// How a page is shown.
#[derive(Clone, Copy)]
pub struct Display {
    /// CSS pixels.
    pub width: u32,
    /// CSS pixels.
    pub height: u32,
    /// `light` or `dark`.
    pub scheme: &'static str,
}

impl Browser {
    /// Starts the browser with an empty page, without a window.
    ///
    /// # Panics
    /// When Chromium is not installed or does not start.
    pub fn start() -> Self {
        let mut browser = Self::launch(|chromium| {
            chromium.args(["--headless", "about:blank"]);
        });
        let page = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        browser.attach(&page["targetId"]);
        browser
    }

    /// Starts the browser on a screen, with a page in a window of this width and height without a bar for addresses.
    ///
    /// # Panics
    /// As [`Browser::start`].
    pub fn start_in_window(display: &str, page: &Path, [width, height]: [u32; 2]) -> Self {
        let mut browser = Self::launch(|chromium| {
            chromium
                .env("DISPLAY", display)
                .env_remove("WAYLAND_DISPLAY")
                // Without it, a bar warns that there is no sandbox.
                .arg("--test-type")
                .arg(format!("--window-size={width},{height}"))
                .arg("--window-position=20,20")
                .arg(format!("--app=file://{}", page.display()));
        });
        let began = Instant::now();
        let target = loop {
            let targets = browser.ask("Target.getTargets", json!({}));
            let mut targets = targets["targetInfos"].as_array().into_iter().flatten();
            if let Some(page) = targets.find(|it| it["type"] == "page") {
                break page["targetId"].clone();
            }
            assert!(began.elapsed() < PATIENCE, "the browser opens no page");
            std::thread::sleep(Duration::from_millis(20));
        };
        browser.attach(&target);
        browser
    }

    fn launch(change: impl FnOnce(&mut Command)) -> Self {
        let profile = tempfile::tempdir().expect("a temporary folder");
        let mut chromium = Command::new("chromium");
        chromium
            .args(["--disable-gpu", "--remote-debugging-port=0"])
            // Its sandbox takes no root, and the page is our own.
            .args(["--no-sandbox", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking"])
            .arg(format!("--user-data-dir={}", profile.path().display()));
        change(&mut chromium);
        let mut process = chromium
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("chromium is not installed: `./x test` does it, or install it by that name");
        let mut stderr = BufReader::new(process.stderr.take().expect("it is piped"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            let read = stderr
                .read_line(&mut line)
                .expect("chromium prints where it listens");
            assert!(read > 0, "chromium ended before it listened");
            if let Some(at) = line.find("ws://") {
                break line[at..].trim().to_owned();
            }
        };
        // The rest of the output is read, so that it never blocks.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let (socket, _) = tungstenite::connect(&address).expect("chromium takes a connection");
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            let set = stream.set_read_timeout(Some(PATIENCE));
            set.expect("a time that is not zero");
        }
        Self {
            process,
            socket,
            session: None,
            asked: 0,
            events: Vec::new(),
            _profile: profile,
        }
    }

    fn attach(&mut self, target: &Value) {
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.ask("Target.attachToTarget", attach);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Runtime", "Log", "Network", "Page"] {
            self.ask(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Has a script run in every page that is opened from now on, before the page's own.
    pub fn run_in_pages(&mut self, script: &str) {
        let source = json!({ "source": script });
        self.ask("Page.addScriptToEvaluateOnNewDocument", source);
    }

    /// Sets how pages are shown from now on.
    pub fn display(&mut self, display: Display) {
        let metrics = json!({
            "width": display.width,
            "height": display.height,
            "deviceScaleFactor": 1,
            "mobile": display.width < 700,
        });
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let feature = json!({ "name": "prefers-color-scheme", "value": display.scheme });
        self.ask(
            "Emulation.setEmulatedMedia",
            json!({ "features": [feature] }),
        );
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        let url = format!("file://{}", file.display());
        self.ask("Page.navigate", json!({ "url": url }));
        let began = Instant::now();
        while !self.happened("Page.loadEventFired") {
            assert!(began.elapsed() < PATIENCE, "{url} is not loaded");
            let event = self.read();
            self.events.push(event);
        }
    }

    /// The value of a JavaScript expression in the page.
    ///
    /// # Panics
    /// When it throws.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", asked);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown:#}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// When it is not for a minute.
    pub fn wait_for(&mut self, expression: &str) {
        let began = Instant::now();
        while self.value(expression) != Value::Bool(true) {
            assert!(began.elapsed() < PATIENCE, "never true: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses and releases a key, by the name that JavaScript has for it.
    pub fn key(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": key });
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// The page as PNG, in base64.
    pub fn picture(&mut self) -> String {
        let shot = self.ask("Page.captureScreenshot", json!({ "format": "png" }));
        shot["data"].as_str().unwrap_or_default().to_owned()
    }

    /// What the page complained of since it was opened: exceptions, errors on its console, refused requests.
    pub fn complaints(&mut self) -> Vec<String> {
        let wrong = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Log.entryAdded" | "Network.loadingFailed") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] != "log",
            _ => false,
        };
        let events = self.events.iter().filter(wrong);
        events.map(Value::to_string).collect()
    }

    /// What the page asked for since it was opened, without what it holds itself.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.events.iter();
        let sent = sent.filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = sent.filter_map(|event| event["params"]["request"]["url"].as_str());
        urls.filter(|url| !url.starts_with("data:") && !url.starts_with("blob:"))
            .map(str::to_owned)
            .collect()
    }

    fn happened(&self, method: &str) -> bool {
        self.events.iter().any(|event| event["method"] == method)
    }

    /// Asks, and keeps the events that come before the answer.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let mut command = json!({ "id": self.asked, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let sent = self.socket.send(Message::text(command.to_string()));
        sent.expect("chromium is there");
        loop {
            let mut heard = self.read();
            if heard["id"] == self.asked {
                assert!(heard["error"].is_null(), "{method}: {heard:#}");
                return heard["result"].take();
            }
            self.events.push(heard);
        }
    }

    fn read(&mut self) -> Value {
        loop {
            let message = self
                .socket
                .read()
                .expect("chromium answers within a minute");
            if let Message::Text(text) = message {
                return serde_json::from_str(&text).expect("the protocol is JSON");
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
