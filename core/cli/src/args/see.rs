//! `flowpipe see`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct See {
    /// The pictures, PNG or JPEG: screenshots of windows, devices or whole screens. Each is looked at as
    /// if it was the first.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// The vision plugin.
    #[arg(long, default_value = "vision-opencv", value_name = "NAME")]
    pub plugin: String,
    /// Its config as a TOML inline table, such as '{ min_cells = 5 }' for vision-opencv.
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
    /// Print one JSON object for each picture, one a line.
    #[arg(long)]
    pub json: bool,
    /// Draw what was made out over each picture into this PNG file; of several into FILE-1.png,
    /// FILE-2.png …, by their order. Into a folder (one that exists, or a name that ends in `/`) as
    /// 1.png, 2.png ….
    #[arg(long, value_name = "FILE|DIR")]
    pub overlay: Option<PathBuf>,
    /// Save a picture of what each step saw in this folder; of several pictures in folders 1, 2 … in it.
    /// The plugin does it: vision-opencv can. Times are not to be trusted then.
    #[arg(long, value_name = "DIR")]
    pub steps: Option<PathBuf>,
    /// Look at each picture so many times, forgetting it in between, and give the medians of the times
    /// with what 95 in 100 looks do not exceed.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub repeat: u32,
}
