//! The receipt of the message that a call processes.
//!
//! A call that hangs keeps all that is on the stack of its thread. So its message would never be finished. Whoever gives
//! up on the call releases the receipt instead.

use std::sync::{Arc, Mutex, Weak};

use flowpipe_sync::lock;

use crate::edge::Receipt;

/// A receipt that can be released while others still hold it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldReceipt(Option<Arc<Mutex<Option<Receipt>>>>);

/// Releases a receipt, if somebody still holds it.
#[derive(Debug, Default)]
pub(crate) struct ReceiptReleaser(Weak<Mutex<Option<Receipt>>>);

/// The receipt was released: nothing may descend from its message any more.
#[derive(Debug)]
pub(crate) struct ReceiptReleased;

impl HeldReceipt {
    /// `None`: the message needs no receipt.
    pub(crate) fn new(receipt: Option<Receipt>) -> Self {
        Self(receipt.map(|it| Arc::new(Mutex::new(Some(it)))))
    }

    /// What a message keeps that descends from the one of this receipt.
    ///
    /// # Errors
    /// When it was released.
    pub(crate) fn share(&self) -> Result<Option<Receipt>, ReceiptReleased> {
        let Some(held) = &self.0 else {
            return Ok(None);
        };
        let receipt = lock(held).clone();
        receipt.map(Some).ok_or(ReceiptReleased)
    }

    /// Releases it for all that hold it.
    pub(crate) fn release(&self) {
        if let Some(held) = &self.0 {
            release(held);
        }
    }

    /// Releases it later. `None`: there is nothing to release.
    pub(crate) fn releaser(&self) -> Option<ReceiptReleaser> {
        let held = self.0.as_ref()?;
        Some(ReceiptReleaser(Arc::downgrade(held)))
    }
}

impl ReceiptReleaser {
    /// Releases it for all that hold it.
    pub(crate) fn release(&self) {
        if let Some(held) = self.0.upgrade() {
            release(&held);
        }
    }
}

fn release(held: &Mutex<Option<Receipt>>) {
    let receipt = lock(held).take();
    // Dropped outside the lock: this may run any code.
    drop(receipt);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_released_for_all_that_hold_it() {
        let receipt: Receipt = Arc::new(());
        let held = HeldReceipt::new(Some(receipt.clone()));
        let other = held.clone();
        let shared = held.share().unwrap();
        assert_eq!(Arc::strong_count(&receipt), 3);
        held.releaser().unwrap().release();
        assert!(other.share().is_err(), "nothing descends from it any more");
        // What descended from its message before keeps it.
        assert_eq!(Arc::strong_count(&receipt), 2);
        drop(shared);
        assert_eq!(Arc::strong_count(&receipt), 1);
    }

    #[test]
    fn messages_without_a_receipt_are_never_refused() {
        let held = HeldReceipt::new(None);
        held.release();
        assert!(held.share().unwrap().is_none());
        assert!(held.releaser().is_none());
    }
}
