//! Systems on which a process can't be confined, or only by some rules.

#[cfg(not(target_os = "linux"))]
pub use nothing::{Rules, gaps};

#[cfg(not(target_os = "linux"))]
mod nothing {
    use std::io;
    use std::process::Command;

    use crate::access::Access;

    /// Rules that confine nothing on this system; see [`gaps`].
    #[derive(Debug)]
    pub struct Rules(());

    impl Rules {
        /// Permits everything but what only an administrator needs, and access to other processes.
        ///
        /// # Errors
        /// None on this system.
        pub fn loose() -> io::Result<Self> {
            Ok(Self(()))
        }

        /// Permits this and nothing else.
        ///
        /// # Errors
        /// None on this system.
        pub fn only(_: &Access) -> io::Result<Self> {
            Ok(Self(()))
        }

        /// Confines this process.
        ///
        /// # Errors
        /// None on this system.
        pub fn enforce(self) -> io::Result<()> {
            Ok(())
        }

        /// Confines the program that a command starts.
        pub fn enforce_on(self, _: &mut Command) {}
    }

    /// What this system can't enforce, each as a sentence about confined processes.
    #[must_use]
    pub fn gaps() -> Vec<String> {
        vec![
            "on this system they may do whatever their user may; Linux can confine them".to_owned(),
        ]
    }
}

#[cfg(target_os = "linux")]
pub mod seccomp {
    use std::io;

    use crate::access::Access;

    /// None.
    #[derive(Debug)]
    pub struct Filters(());

    pub fn loose() -> io::Result<Filters> {
        Ok(Filters(()))
    }

    pub fn only(_: &Access) -> io::Result<Filters> {
        Ok(Filters(()))
    }

    pub fn enforce(_: &Filters) -> io::Result<()> {
        Ok(())
    }

    pub fn is_there() -> bool {
        false
    }
}
