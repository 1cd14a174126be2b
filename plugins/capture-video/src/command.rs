//! How ffmpeg is run.

use std::io;
use std::process::{Command, Stdio};

use flowpipe_process::supervised::{kill_with_thread, limit_memory};

use crate::config::{Config, Source};
use crate::confinement::confine;

/// The kinds of files that ffmpeg may read. No playlists: they lead to other files and servers.
const FILES: &str = "mov,matroska,avi,mpeg,mpegts,mpegvideo,m4v,ogg,flv,gif,yuv4mpegpipe,asf,ivf,nut,dv,h264,hevc,mjpeg";
/// The most bytes of one piece of memory: frames of 134,217,728 pixels with four bytes each.
const LARGEST_ALLOCATION: u64 = 1 << 29;
/// The most bytes of its memory, the parts of libraries that are not used included.
const MOST_MEMORY: u64 = 4 << 30;

/// The command that writes frames to its standard output: of a file as Matroska, of a camera as pixmaps.
///
/// # Errors
/// When it can't be confined.
pub fn command(config: &Config, source: Source<'_>) -> io::Result<Command> {
    let mut command = Command::new(&config.ffmpeg);
    command
        .args(arguments(config, source))
        // It would write a report where this says.
        .env_remove("FFREPORT")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    limit_memory(&mut command, MOST_MEMORY);
    kill_with_thread(&mut command);
    confine(&mut command, &config.ffmpeg, source)?;
    Ok(command)
}

fn arguments(config: &Config, source: Source<'_>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |these: &[&str]| all.extend(these.iter().map(|&it| it.to_owned()));
    add(&["-nostdin", "-hide_banner", "-loglevel", "error"]);
    add(&["-max_alloc", &LARGEST_ALLOCATION.to_string()]);
    add(&[
        "-threads",
        "2",
        "-max_pixels",
        &config.max_pixels.to_string(),
    ]);
    match source {
        Source::File(path) => {
            add(&["-protocol_whitelist", "file", "-format_whitelist", FILES]);
            // Whatever the name is, it is no option and no URL.
            add(&["-i", &format!("file:{path}")]);
        }
        Source::Camera(device) => {
            add(&["-f", "v4l2"]);
            if let Some([width, height]) = config.size {
                add(&["-video_size", &format!("{width}x{height}")]);
            }
            if let Some(fps) = config.fps {
                add(&["-framerate", &fps.to_string()]);
            }
            add(&["-i", device]);
        }
    }
    // The first picture track that is no cover, and nothing else.
    add(&["-map", "0:V:0", "-pix_fmt", "rgb24"]);
    if let Some(frames) = config.max_frames {
        add(&["-frames:v", &frames.to_string()]);
    }
    match source {
        Source::File(_) => add(&["-c:v", "rawvideo", "-f", "matroska", "-allow_raw_vfw", "1"]),
        Source::Camera(_) => add(&["-c:v", "ppm", "-f", "image2pipe"]),
    }
    add(&["pipe:1"]);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(config: serde_json::Value) -> String {
        let config: Config = serde_json::from_value(config).unwrap();
        arguments(&config, config.source().unwrap()).join(" ")
    }

    #[test]
    fn a_file_is_neither_an_option_nor_a_url() {
        for path in ["-i", "http://example.org/a.mp4", "concat:a|b", "a b.mp4"] {
            let line = line(json!({ "path": path }));
            assert!(line.contains(&format!(" -i file:{path} -map ")), "{line}");
            let files_only = line.contains("-protocol_whitelist file -format_whitelist mov,");
            assert!(files_only, "{line}");
        }
        assert!(
            !FILES
                .split(',')
                .any(|it| ["hls", "concat", "dash", "image2"].contains(&it))
        );
    }

    #[test]
    fn a_camera_is_asked_for_what_the_config_names() {
        let line = line(
            json!({ "camera": "/dev/video0", "size": [640, 480], "fps": 29.97, "max_frames": 5 }),
        );
        let asked = "-f v4l2 -video_size 640x480 -framerate 29.97 -i /dev/video0 -map 0:V:0";
        assert!(line.contains(asked), "{line}");
        assert!(
            line.ends_with("-frames:v 5 -c:v ppm -f image2pipe pipe:1"),
            "{line}"
        );
    }
}
