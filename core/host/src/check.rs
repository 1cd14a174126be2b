//! Checks: plugins that judge the messages of stages.

use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use flowpipe_abi as abi;
use flowpipe_sync::lock;

use crate::catalogue::Found;
use crate::instance::in_process::JudgeFunction;
use crate::instance::{CreateError, InProcess, StageInstance as _};
use crate::message::Message;
use crate::stage_clock::StageClock;
use crate::table::status::reason;
use crate::table::{Host, Services};

/// The most bytes of a reason. A longer one is cut.
const LONGEST_REASON: usize = 4 << 10;

/// The judgement of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is accepted.
    Accept,
    /// It is valid, but a weak answer ("no solution", "unsupported"): in a race it counts only when no contestant
    /// gives a better one. The reason, as a sentence.
    Weak(String),
    /// It is wrong and is not sent. The reason, as a sentence.
    Refuse(String),
}

/// Why a check gave no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoVerdict {
    /// Whether it caught a panic of its own. Otherwise it returned an error, such as that it can't read the message.
    pub panicked: bool,
    /// Its error.
    pub why: String,
}

/// An active plugin of the role `check`. It is destroyed by [`CheckPlugin::end`], or when this is dropped.
pub struct CheckPlugin {
    name: String,
    stage: *mut abi::Stage,
    judge: JudgeFunction,
    host: Arc<Host>,
    /// Whether it is destroyed.
    is_over: AtomicBool,
    instance: Mutex<Option<Box<InProcess>>>,
}

// SAFETY: the ABI lets any thread call `judge`, several at once. Nothing else is called until the drop.
unsafe impl Send for CheckPlugin {}
// SAFETY: as above.
unsafe impl Sync for CheckPlugin {}

impl CheckPlugin {
    /// Creates and activates a check. [control-thread]
    ///
    /// # Errors
    /// Why it failed.
    pub fn create(found: &Found, services: Arc<Services>) -> Result<Self, CreateError> {
        let name = &found.manifest.name;
        // It is no stage of the pipeline, and has no number there.
        let host = Host::new(name, u32::MAX, services, StageClock::Run);
        let library = found.file.library()?;
        let config = serde_json::json!({});
        let created = InProcess::create_raw(library, found.index, &config, host.clone());
        let mut instance = created.map_err(|(_, text)| CreateError::Failed(text))?;
        let status = instance.activate_raw();
        let judge = match status {
            0.. => instance
                .judge_function()
                .ok_or_else(|| "it has no function that judges messages".to_owned()),
            status => Err(reason(status, &host)),
        };
        let judge = match judge {
            Ok(judge) => judge,
            Err(reason) => {
                Box::new(instance).destroy();
                return Err(CreateError::Failed(reason));
            }
        };
        Ok(Self {
            name: name.clone(),
            stage: instance.as_abi(),
            judge,
            host,
            is_over: AtomicBool::new(false),
            instance: Mutex::new(Some(Box::new(instance))),
        })
    }

    /// Judges a message that a stage is about to emit, and refuses it when the check fails. `parent` is the message that
    /// the stage is processing, if any. [any-thread]
    #[must_use]
    pub fn judge(&self, parent: Option<&Message>, message: &Message) -> Judgement {
        let judged = self.try_judge(parent, message);
        judged.unwrap_or_else(|NoVerdict { why, .. }| {
            Judgement::Refuse(format!("{} could not judge it: {why}", self.name))
        })
    }

    /// Judges a message. [any-thread]
    ///
    /// # Errors
    /// Why the check gave no verdict.
    pub fn try_judge(
        &self,
        parent: Option<&Message>,
        message: &Message,
    ) -> Result<Judgement, NoVerdict> {
        let none = |panicked: bool, why: String| Err(NoVerdict { panicked, why });
        if self.is_over.load(Ordering::Relaxed) {
            return none(false, "the run is over".to_owned());
        }
        let captured = message.lineage.ancestor();
        let lineages = [parent, Some(message)].map(|it| it.map(|it| it.lineage.as_abi()));
        let [parent, message] = [
            parent.zip(lineages[0].as_ref()),
            Some(message).zip(lineages[1].as_ref()),
        ]
        .map(|it| it.map(|(message, lineage)| message.as_abi(0, lineage)));
        let pointer = |message: &Option<abi::Message>| {
            message
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref)
        };
        let mut text = [0_u8; LONGEST_REASON];
        let mut judgement = abi::Judgement {
            struct_size: size_of::<abi::Judgement>() as u32,
            verdict: 0,
            reason: text.as_mut_ptr().cast::<c_char>(),
            capacity: text.len(),
            length: 0,
            captured_schema: captured.map_or(std::ptr::null(), |it| it.schema.as_ptr()),
            captured_json: captured.map_or(std::ptr::null(), |it| it.body.as_c()),
            captured_json_length: captured.map_or(0, |it| it.body.json_len()),
        };
        // SAFETY: the stage is active until the drop, the messages and the judgement are valid for the call.
        let status = unsafe {
            (self.judge)(
                self.stage,
                pointer(&parent),
                pointer(&message),
                &raw mut judgement,
            )
        };
        let text = given_reason(&text, judgement.length);
        match (status, judgement.verdict) {
            (..abi::OK, _) if text.is_empty() => {
                none(status == abi::PANIC, reason(status, &self.host))
            }
            (..abi::OK, _) => none(status == abi::PANIC, text),
            (_, abi::ACCEPT) => Ok(Judgement::Accept),
            (_, abi::WEAK) => Ok(Judgement::Weak(text)),
            (_, abi::REFUSE) => Ok(Judgement::Refuse(text)),
            (_, verdict) => none(false, format!("its verdict is {verdict}")),
        }
    }

    /// Destroys it. No call of [`CheckPlugin::judge`] is in progress, and later ones refuse their messages.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(instance) = lock(&self.instance).take() {
            instance.destroy();
        }
    }
}

/// The reason that a check has written: of as many bytes as it states, or up to a NUL. A longer one is cut.
fn given_reason(text: &[u8], length: usize) -> String {
    let given = text.get(..length).unwrap_or(text);
    let end = given.iter().position(|byte| *byte == 0);
    let given = &given[..end.unwrap_or(given.len())];
    String::from_utf8_lossy(given).into_owned()
}

impl Drop for CheckPlugin {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::given_reason;

    #[test]
    fn a_reason_ends_at_its_length_or_at_a_nul() {
        let text = b"wrong\0\0\0";
        assert_eq!(given_reason(text, 3), "wro");
        assert_eq!(given_reason(text, 7), "wrong");
        assert_eq!(given_reason(text, 1 << 60), "wrong");
        assert_eq!(given_reason(&[0; 8], 1 << 60), "");
        assert_eq!(given_reason(b"wrong", 1 << 60), "wrong");
    }
}
