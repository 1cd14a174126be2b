//! `flowpipe see FILE...`: what vision makes of pictures.

use std::ops::ControlFlow;

use crate::args::{Global, See};
use crate::ask::AskError;
use crate::exit::{Ended, Failure};
use crate::see::look::{Look, look};
use crate::see::printer::Printer;
use crate::{pipeline_file, plugins};

pub fn run(global: &Global, args: &See) -> Result<Ended, Failure> {
    let catalogue = plugins::load(global);
    let mut printer = Printer::new(global, args);
    let to_look_at = printer.to_look_at();
    let several = args.files.len() > 1;
    // One pipeline for all, but for folders of steps: each is a config of its own.
    let lot = if args.steps.is_some() { 1 } else { usize::MAX };
    let mut ended = Ok(());
    for indices in to_look_at.chunks(lot) {
        let files: Vec<&str> = indices.iter().map(|&it| &*args.files[it]).collect();
        let folder = args.steps.as_ref().map(|folder| match several {
            true => folder.join(format!("{}", indices[0] + 1)),
            false => folder.clone(),
        });
        let how = Look {
            plugin: &args.plugin,
            config: args.config.as_deref(),
            repeat: args.repeat,
            steps: folder.as_deref(),
        };
        ended = look(&files, &how, &catalogue, |place, said| {
            let taken = indices.get(place).map(|&index| printer.take(index, said));
            match taken.unwrap_or(Ok(())) {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => ControlFlow::Break(Err(failure)),
            }
        });
        if ended.is_err() {
            break;
        }
    }
    let ended = match ended {
        Ok(()) => printer.end(),
        Err(AskError::Config(errors)) => {
            pipeline_file::show(errors, global);
            Ok(Ended::BadConfig)
        }
        // What was made out before it is not held back.
        Err(AskError::Failure(Failure::Run(reason))) => {
            printer.end()?;
            Err(Failure::Run(reason))
        }
        Err(AskError::Failure(failure)) => Err(failure),
    };
    catalogue.close();
    ended
}
