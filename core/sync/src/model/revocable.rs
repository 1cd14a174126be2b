//! [`crate::revocable`]: no thread uses a revoked pointer.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::model::faulty::{Fault, finds, inject};
use crate::model::model;
use crate::revocable::Slot;

/// The pointer's target. loom reports a read while it is freed.
struct Table(UnsafeCell<bool>);

impl Table {
    fn use_it(&self) {
        // SAFETY: the model checks it.
        assert!(!self.0.with(|freed| unsafe { *freed }), "use after free");
    }

    fn free(&self) {
        // SAFETY: as above.
        self.0.with_mut(|freed| unsafe { *freed = true });
    }
}

fn table() -> Arc<Table> {
    Arc::new(Table(UnsafeCell::new(false)))
}

fn user(slot: &Arc<Slot<Table>>, generation: u32) -> thread::JoinHandle<()> {
    let slot = slot.clone();
    thread::spawn(move || {
        if let Some(table) = slot.enter(generation) {
            table.use_it();
        }
    })
}

fn a_revoked_pointer_is_not_used() {
    model(|| {
        let (slot, table) = (Arc::new(Slot::new()), table());
        // SAFETY: it is valid until the end.
        let generation = unsafe { slot.grant(&raw const *table) };
        let users = [user(&slot, generation), user(&slot, generation)];
        slot.revoke();
        table.free();
        for user in users {
            user.join().unwrap();
        }
    });
}

#[test]
fn loom_a_revoked_pointer_is_not_used() {
    a_revoked_pointer_is_not_used();
}

finds!(
    loom_a_user_that_leaves_without_order_is_found,
    "Causality violation",
    {
        inject(Fault::Unordered);
        a_revoked_pointer_is_not_used();
    }
);

finds!(loom_a_count_in_two_steps_is_found, "panicked", {
    inject(Fault::Torn);
    a_revoked_pointer_is_not_used();
});

finds!(
    loom_a_lost_notification_of_the_last_user_is_found,
    "deadlock",
    {
        inject(Fault::LostNotify);
        a_revoked_pointer_is_not_used();
    }
);

#[test]
fn loom_a_late_user_never_uses_the_next_pointer() {
    model(|| {
        let (slot, first, second) = (Arc::new(Slot::new()), table(), table());
        // SAFETY: it is valid until the end.
        let generation = unsafe { slot.grant(&raw const *first) };
        let late = user(&slot, generation);
        slot.revoke();
        first.free();
        // SAFETY: as above.
        let next = unsafe { slot.grant(&raw const *second) };
        assert_ne!(next, generation);
        assert!(slot.enter(next).is_some());
        // Also while the late user is about to notice.
        slot.revoke();
        second.free();
        late.join().unwrap();
    });
}
