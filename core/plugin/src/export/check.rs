//! The C side of [`Check`]: the extension `flowpipe.check/1`.

use flowpipe_abi as abi;

use super::Exported;
use crate::check::{Check, Judgement};
use crate::context::{Context, Message};
use crate::effects::Effect;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::logging;
use crate::panic_guard::guard;
use crate::stage::{Input, Next, NoConfig, Port, Stage};

/// A [`Check`] as a [`Stage`].
#[doc(hidden)]
pub struct CheckStage<T>(T);

impl<T: Check> Stage for CheckStage<T> {
    const NAME: &'static str = T::NAME;
    const DOC: &'static str = T::DOC;
    const ROLE: &'static str = "check";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = NoConfig;

    fn inputs() -> Vec<Port> {
        let numbered = (1..).zip(T::SCHEMAS);
        numbered
            .map(|(number, schema)| Port::new(&format!("in-{number}"), schema))
            .collect()
    }

    fn outputs() -> Vec<Port> {
        Vec::new()
    }

    fn new(_: NoConfig, host: &Host) -> Result<Self> {
        T::new(host).map(Self)
    }

    fn process(&mut self, _: Input<'_>, _: &mut Context<'_>) -> Result<Next> {
        Ok(Next::More)
    }

    fn check_table() -> Option<&'static abi::Check> {
        Some(table::<T>())
    }
}

/// The table of a check.
fn table<T: Check>() -> &'static abi::Check {
    const {
        &abi::Check {
            struct_size: size_of::<abi::Check>() as u32,
            reserved: 0,
            judge: Some(judge::<T>),
        }
    }
}

unsafe extern "C" fn judge<T: Check>(
    stage: *mut abi::Stage,
    parent: *const abi::Message,
    message: *const abi::Message,
    judgement: *mut abi::Judgement,
) -> abi::Status {
    // SAFETY: the host passes an active stage of this type, and no call that changes it happens at the same time: only
    // shared references to it exist.
    let exported = unsafe { &*stage.cast::<Exported<CheckStage<T>>>() };
    // SAFETY: the messages are valid for the call, and the parent may be null.
    let (parent, message) = unsafe { (parent.as_ref(), &*message) };
    let host = exported.host;
    let _entered = logging::enter(host);
    let judged = guard(|| {
        let Some(CheckStage(check)) = &exported.stage else {
            return Err(Error::new("the check could not be created again"));
        };
        // SAFETY: as above.
        let (parent, message) = unsafe {
            (
                parent.map(|parent| Message::new(host, parent)),
                Message::new(host, message).judged(&*judgement),
            )
        };
        check.judge(parent.as_ref(), &message)
    });
    // SAFETY: the host passes its judgement, with room for `capacity` bytes of a reason.
    unsafe { write(&mut *judgement, &judged) }
}

/// Fills in the judgement.
///
/// # Safety
/// It has room for `capacity` bytes.
unsafe fn write(judgement: &mut abi::Judgement, judged: &Result<Judgement>) -> abi::Status {
    let error;
    let (verdict, reason, status) = match judged {
        Ok(Judgement::Accept) => (abi::ACCEPT, "", abi::OK),
        Ok(Judgement::Weak(reason)) => (abi::WEAK, reason.as_str(), abi::OK),
        Ok(Judgement::Refuse(reason)) => (abi::REFUSE, reason.as_str(), abi::OK),
        Err(failed) => {
            error = failed.to_string();
            (abi::REFUSE, error.as_str(), failed.status())
        }
    };
    let length = reason.floor_char_boundary(judgement.capacity);
    judgement.verdict = verdict;
    judgement.length = length;
    // SAFETY: by the contract above; the length is at most the capacity.
    unsafe { std::ptr::copy_nonoverlapping(reason.as_ptr().cast(), judgement.reason, length) };
    status
}
