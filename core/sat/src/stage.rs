//! The stage of a plugin that is nothing but a back end.

/// Makes the solver stage of a plugin from a [`Backend`](crate::Backend):
/// `solver_stage!(SolverBatsat, Batsat, "solver-batsat", "A paragraph for people.");`. The crate that uses it depends
/// on `flowpipe-plugin` too.
#[macro_export]
macro_rules! solver_stage {
    ($stage:ident, $backend:ident, $name:literal, $doc:literal) => {
        /// The stage.
        struct $stage {
            options: $crate::Options,
            effort: $crate::Effort,
        }

        impl ::flowpipe_plugin::Solver for $stage {
            const NAME: &'static str = $name;
            const DOC: &'static str = $doc;
            const EFFECTS: ::core::option::Option<&'static [::flowpipe_plugin::Effect]> =
                ::core::option::Option::Some(&[]);
            const SUPPORTS: ::flowpipe_plugin::solver::Supports =
                ::flowpipe_plugin::solver::Supports::EVERYTHING;
            type Config = $crate::Options;

            fn new(
                config: Self::Config,
                _host: &::flowpipe_plugin::Host,
            ) -> ::flowpipe_plugin::Result<Self> {
                Ok(Self {
                    options: config,
                    effort: $crate::Effort::default(),
                })
            }

            fn solve(
                &mut self,
                puzzle: &$crate::Puzzle,
                cancel: &::flowpipe_plugin::Cancel<'_>,
            ) -> ::flowpipe_plugin::Result<$crate::Verdict> {
                self.effort = $crate::Effort::default();
                let cancelled = || cancel.is_cancelled();
                match $crate::solve::<$backend>(puzzle, &self.options, &cancelled) {
                    Ok(answer) => {
                        self.effort = answer.effort;
                        Ok(answer.verdict)
                    }
                    Err($crate::SolveError::Cancelled) => {
                        Err(::flowpipe_plugin::Error::cancelled())
                    }
                    Err(error) => Err(error.into()),
                }
            }

            fn effort(&mut self) -> $crate::Effort {
                std::mem::take(&mut self.effort)
            }
        }

        ::flowpipe_plugin::export!($stage);
    };
}
