//! `flowpipe see FILE...`: what vision makes of pictures.

use crate::args::{Global, See};
use crate::ask;
use crate::exit::{Ended, Failure};
use crate::plugins;
use crate::see::look::{Look, look};
use crate::see::printer::Printer;

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
            ask::taken(taken.unwrap_or(Ok(())))
        });
        if ended.is_err() {
            break;
        }
    }
    let ended = ask::ended(ended, global, || printer.end());
    catalogue.close();
    ended
}
