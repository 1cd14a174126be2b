//! What the rest of the runtime names of isolation, on systems that have none: nothing of it can be made there, and a
//! pipeline file that asks for it is refused.

pub(crate) mod page {
    /// There is none.
    #[derive(Debug)]
    pub(crate) enum Page {}

    impl Page {
        pub(crate) fn tell_mode(&self, _: u32) {
            match *self {}
        }

        pub(crate) fn tell_call(&self, _: u64) {
            match *self {}
        }

        pub(crate) fn tell_cancelled(&self, _: u64) {
            match *self {}
        }
    }
}

pub(crate) mod process {
    /// There is none.
    #[derive(Debug)]
    pub(crate) enum Lifeline {}

    /// There is none.
    #[derive(Debug)]
    pub(crate) struct Death {
        pub hung: bool,
        pub text: String,
    }

    impl Lifeline {
        pub(crate) fn is_busy(&self) -> bool {
            match *self {}
        }

        pub(crate) fn kill(&self, _: &str) {
            match *self {}
        }
    }
}
