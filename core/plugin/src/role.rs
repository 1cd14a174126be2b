//! What the five roles share: the constants and methods of their traits, and how a role becomes a stage.
//!
//! The author of a plugin writes one `impl`, of a role. Two macros write the rest: [`role_items`] inside the trait of a
//! role, [`role_as_stage`] inside the `impl Stage` of its adapter.

/// The items of a role's trait that do not depend on the role: the prefix of names, the default of `DETERMINISTIC`, and
/// what that constant states.
macro_rules! role_items {
    ($prefix:literal, $deterministic:literal, $states:literal) => {
        #[doc = concat!(
            "The name that pipelines use: `", $prefix, "-…`, made of lower-case letters, digits and hyphens."
        )]
        const NAME: &'static str;
        /// A paragraph for people. Empty: the config's doc comment is used.
        const DOC: &'static str = "";
        #[doc = $states]
        const DETERMINISTIC: bool = $deterministic;
        /// What it does to the world outside of the program; see [`Stage::EFFECTS`].
        const EFFECTS: Option<&'static [$crate::effects::Effect]> = None;
        /// The format of [`Self::save`]; see [`Stage::STATE`].
        const STATE: &'static str = "";
        /// What users set; see [`Stage::Config`].
        type Config: ::serde::de::DeserializeOwned + ::schemars::JsonSchema;

        /// Creates the stage. Called on the control thread, and on the stage's thread after a panic.
        ///
        /// # Errors
        /// [`crate::Error::bad_config`] when the config can't be used; any other when something is missing.
        fn new(config: Self::Config, host: &$crate::host::Host) -> $crate::error::Result<Self>;

        /// Drops the state that earlier messages left; see [`Stage::reset`]. Called on the stage's thread.
        ///
        /// # Errors
        /// When it fails.
        fn reset(&mut self) -> $crate::error::Result<()> {
            Ok(())
        }

        /// Saves the state for the stage that replaces this one; see [`Stage::save`]. Called on the control thread,
        /// only if [`Self::STATE`] names a format.
        ///
        /// # Errors
        /// When the state can't be serialized. This stage stays active then.
        fn save(&mut self) -> $crate::error::Result<::serde_json::Value> {
            Ok(::serde_json::Value::Null)
        }

        /// Loads the state of another instance; see [`Stage::load`]. Called on the control thread, before the first
        /// message.
        ///
        /// # Errors
        /// When the state can't be used. The old stage stays active then.
        fn load(&mut self, format: &str, state: ::serde_json::Value) -> $crate::error::Result<bool> {
            let _ = (format, state);
            Ok(false)
        }
    };
}

/// All of `impl Stage` for a tuple struct around a role's `T`, except `process`.
macro_rules! role_as_stage {
    ($T:ident as $role:literal, in: [$($input:expr)?], out: $output:expr, checked by: $check:expr) => {
        const NAME: &'static str = $T::NAME;
        const DOC: &'static str = $T::DOC;
        const ROLE: &'static str = $role;
        const DETERMINISTIC: bool = $T::DETERMINISTIC;
        const EFFECTS: Option<&'static [$crate::effects::Effect]> = $T::EFFECTS;
        const STATE: &'static str = $T::STATE;
        type Config = $T::Config;

        fn inputs() -> Vec<$crate::stage::Port> {
            vec![$($crate::stage::Port::new("in", $input))?]
        }

        fn outputs() -> Vec<$crate::stage::Port> {
            vec![$crate::stage::Port::new("out", $output).checked_by($check)]
        }

        fn new(config: Self::Config, host: &$crate::host::Host) -> $crate::error::Result<Self> {
            $T::new(config, host).map(Self)
        }

        fn reset(&mut self) -> $crate::error::Result<()> {
            self.0.reset()
        }

        fn save(&mut self) -> $crate::error::Result<::serde_json::Value> {
            self.0.save()
        }

        fn load(&mut self, format: &str, state: ::serde_json::Value) -> $crate::error::Result<bool> {
            self.0.load(format, state)
        }
    };
}

pub(crate) use {role_as_stage, role_items};
