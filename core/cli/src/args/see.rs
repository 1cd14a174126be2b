//! `flowpipe see`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct See {
    /// The pictures, PNG or JPEG: screenshots of windows, devices or whole screens. Vision starts
    /// with no state for each.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// The vision plugin. Of one that reads no boards, all messages are printed.
    #[arg(long, default_value = "vision-opencv", value_name = "NAME")]
    pub plugin: String,
    /// Its config as a TOML inline table, such as '{ min_cells = 5 }' for vision-opencv.
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
    /// Print JSON Lines: one object for each picture.
    #[arg(long)]
    pub json: bool,
    /// Draw what vision reads, or the shapes of the flowpipe.overlay/1 that it emits, over each picture into this PNG
    /// file; several into FILE-1.png, FILE-2.png … in their order. Into a folder (one that exists, or a name that ends
    /// in `/`) as 1.png, 2.png ….
    #[arg(long, value_name = "FILE|DIR")]
    pub overlay: Option<PathBuf>,
    /// Save a picture of each step in this folder; for several pictures in folders 1, 2 … in it. The plugin must
    /// support it, as vision-opencv does. The times are not meaningful then.
    #[arg(long, value_name = "DIR")]
    pub steps: Option<PathBuf>,
    /// Read each picture this many times, with no state in between, and print the median and the 95th percentile of the
    /// times.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub repeat: u32,
}
