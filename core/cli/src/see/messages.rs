//! The messages that a vision plugin without sightings emits on a picture.

use flowpipe_host::frame::Frame;
use flowpipe_host::message::Message;
use flowpipe_message::{OVERLAY, Overlay};
use flowpipe_terminal::{counted, escape, escape_block};
use serde_json::{Value, json};

use crate::show::colour::{HEADING, QUIET, paint};

/// The most messages that are kept of a picture. All are counted.
const MOST_MESSAGES: usize = 100;
/// The most lines of a message in text. `--json` has all of it.
const MOST_LINES: usize = 100;
/// The most characters of such a line.
const LONGEST_LINE: usize = 500;

/// The messages of one call.
#[derive(Default)]
pub struct PictureMessages {
    kept: Vec<EmittedMessage>,
    count: usize,
    /// The last overlay, whether it is kept or not.
    overlay: Option<Message>,
}

/// A message without its pixels.
struct EmittedMessage {
    message: Message,
    /// Width and height of the pixels that it came with.
    size: Option<[u32; 2]>,
}

impl PictureMessages {
    /// Adds a message.
    pub fn add(&mut self, message: &Message) {
        self.count += 1;
        if message.schema() == OVERLAY {
            self.overlay = Some(message.without_frame());
        }
        if self.kept.len() < MOST_MESSAGES {
            let shape = message.frame().and_then(Frame::picture);
            self.kept.push(EmittedMessage {
                message: message.without_frame(),
                size: shape.map(|shape| [shape.width, shape.height]),
            });
        }
    }

    /// The number of messages.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many messages are counted and not kept.
    pub fn left_out(&self) -> usize {
        self.count - self.kept.len()
    }

    /// The shapes to draw over the picture: those of the last overlay. `None`: there is none.
    ///
    /// # Errors
    /// When they can't be drawn.
    pub fn overlay(&self) -> Result<Option<Overlay>, String> {
        let Some(message) = &self.overlay else {
            return Ok(None);
        };
        let overlay: Overlay = serde_json::from_str(message.json())
            .map_err(|error| format!("its {OVERLAY} can't be read: {error}"))?;
        overlay
            .check()
            .map_err(|wrong| format!("its {OVERLAY} can't be drawn: {wrong}"))?;
        Ok(Some(overlay))
    }

    /// Each with its schema and its JSON.
    pub fn text(&self, colours: bool) -> String {
        let mut text = String::new();
        for EmittedMessage { message, size } in &self.kept {
            text += &paint(&escape(message.schema()), HEADING, colours);
            if let Some([width, height]) = size {
                text += &format!(", {width} x {height} pixels");
            }
            text.push('\n');
            text += &pretty(message, colours);
        }
        let left_out = self.left_out();
        if left_out > 0 {
            let line = format!("and {} more", counted(left_out, "message"));
            text += &format!("{}\n", paint(&line, QUIET, colours));
        }
        text
    }

    /// Those that are kept, as JSON.
    pub fn json(&self) -> Value {
        let each = self.kept.iter().map(|EmittedMessage { message, size }| {
            let body = serde_json::from_str::<Value>(message.json());
            let mut value = json!({
                "schema": message.schema(),
                // Nested too deeply to be parsed: as text.
                "body": body.unwrap_or_else(|_| message.json().into()),
            });
            if let Some(size) = size {
                value["size"] = json!(size);
            }
            value
        });
        each.collect()
    }
}

/// The JSON of a message in lines, at most [`MOST_LINES`].
fn pretty(message: &Message, colours: bool) -> String {
    let value = serde_json::from_str::<Value>(message.json());
    let json = value.and_then(|value| serde_json::to_string_pretty(&value));
    let json = json.unwrap_or_else(|_| message.json().to_owned());
    let mut text = String::new();
    for line in json.lines().take(MOST_LINES) {
        match line.char_indices().nth(LONGEST_LINE) {
            None => text += &escape_block(line),
            Some((end, _)) => {
                text += &escape_block(&line[..end]);
                text.push('…');
            }
        }
        text.push('\n');
    }
    let left_out = json.lines().count().saturating_sub(MOST_LINES);
    if left_out > 0 {
        let line = format!("and {} more", counted(left_out, "line"));
        text += &format!("{}\n", paint(&line, QUIET, colours));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(all: &[(&str, &str)]) -> PictureMessages {
        let mut messages = PictureMessages::default();
        for (schema, json) in all {
            messages.add(&Message::detached(schema, json.as_bytes()).unwrap());
        }
        messages
    }

    #[test]
    fn each_has_its_schema_and_its_json() {
        let found = messages(&[("spots/1", r#"{"x":1,"y":[2]}"#), ("note/1", "\"\u{9b}\"")]);
        let text = found.text(false);
        let expected = "spots/1\n{\n  \"x\": 1,\n  \"y\": [\n    2\n  ]\n}\nnote/1\n";
        let rest = text.strip_prefix(expected).unwrap();
        assert!(!rest.contains('\u{9b}'), "{rest:?}");
        let json = json!([
            { "schema": "spots/1", "body": { "x": 1, "y": [2] } },
            { "schema": "note/1", "body": "\u{9b}" },
        ]);
        assert_eq!(found.json(), json);
    }

    #[test]
    fn long_messages_and_many_are_shortened() {
        let long = json!(vec![0; 1_000]).to_string();
        let text = messages(&[("long/1", &long)]).text(false);
        assert_eq!(text.lines().count(), MOST_LINES + 2);
        assert!(text.ends_with("and 902 lines more\n"), "{text}");
        let wide = json!("ä".repeat(5_000)).to_string();
        let text = messages(&[("wide/1", &wide)]).text(false);
        assert!(text.chars().count() < LONGEST_LINE + 20);
        let many = messages(&vec![("a/1", "1"); MOST_MESSAGES + 7]);
        assert_eq!(many.count(), MOST_MESSAGES + 7);
        assert!(many.text(false).ends_with("and 7 messages more\n"));
    }

    #[test]
    fn the_last_overlay_counts() {
        assert_eq!(messages(&[("a/1", "1")]).overlay(), Ok(None));
        let of = |radius: f64| {
            json!({ "shapes": [{ "form": { "circle": { "at": [1.0, 2.0], "radius": radius } } }] })
                .to_string()
        };
        let two = messages(&[(OVERLAY, &of(1.0)), (OVERLAY, &of(2.0))]);
        let shape = flowpipe_message::Shape::circle([1.0, 2.0], 2.0);
        assert_eq!(two.overlay().unwrap().unwrap().shapes, [shape]);
        for (json, why) in [("[]", "can't be read"), (&*of(0.0), "covers no area")] {
            let error = messages(&[(OVERLAY, json)]).overlay().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
