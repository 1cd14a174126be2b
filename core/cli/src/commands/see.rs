//! `flowpipe see FILE...`: prints what vision reads from pictures.

use crate::args::{Global, See};
use crate::exit::{Ended, Failure};
use crate::see::printer::PicturePrinter;
use crate::see::vision_run::{self, VisionOptions};
use crate::{one_off, plugins};

pub fn run(global: &Global, args: &See) -> Result<Ended, Failure> {
    let catalogue = plugins::load(global);
    let mut printer = PicturePrinter::new(global, args);
    let readable = printer.readable();
    let several = args.files.len() > 1;
    // One pipeline for all files, except with --steps: each folder is a config of its own.
    let batch = if args.steps.is_some() { 1 } else { usize::MAX };
    let mut ended = Ok(());
    for indices in readable.chunks(batch) {
        let files: Vec<&str> = indices.iter().map(|&it| &*args.files[it]).collect();
        let folder = args.steps.as_ref().map(|folder| match several {
            true => folder.join(format!("{}", indices[0] + 1)),
            false => folder.clone(),
        });
        let options = VisionOptions {
            plugin: &args.plugin,
            config: args.config.as_deref(),
            repeat: args.repeat,
            steps: folder.as_deref(),
        };
        ended = vision_run::run(&files, &options, &catalogue, |place, reply| {
            let printed = indices.get(place).map(|&index| printer.add(index, reply));
            one_off::control_flow(printed.unwrap_or(Ok(())))
        });
        if ended.is_err() {
            break;
        }
    }
    let ended = one_off::ended(ended, global, || printer.end());
    catalogue.close();
    ended
}
