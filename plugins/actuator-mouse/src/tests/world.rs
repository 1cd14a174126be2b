//! The actuator in a world of a test's own: another mouse, other surroundings.

use std::marker::PhantomData;

use super::*;

/// What a test gives the actuator to act on.
pub trait World: 'static {
    /// Takes hold of it.
    ///
    /// # Errors
    /// When it is not there.
    fn mechanism(config: &Config, host: &Host) -> Result<Mechanism>;
}

/// The actuator in a world.
pub struct InWorld<W>(MouseActuator, PhantomData<fn() -> W>);

impl<W: World> Stage for InWorld<W> {
    const NAME: &'static str = "actuator-in-world";
    type Config = Config;

    fn inputs() -> Vec<Port> {
        MouseActuator::inputs()
    }

    fn outputs() -> Vec<Port> {
        MouseActuator::outputs()
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        let held = Some(W::mechanism(&config, host)?);
        Ok(Self(MouseActuator { config, held }, PhantomData))
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        self.0.process(input, context)
    }
}
