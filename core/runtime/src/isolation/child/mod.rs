//! The process of one stage: loads its library, and does what the host says.
//!
//! # Layout
//! - `table`: what the plugin may call. `frames`: the frames that it refers to. `state`: what it remembers.

mod frames;
mod state;
mod table;

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use flowpipe_abi as abi;

use crate::clock::Clock;
use crate::confinement::{self, LeftOut};
use crate::document::Document;
use crate::isolation::memory::{Access, Mapping};
use crate::isolation::page::PageView;
use crate::isolation::wire::Wire;
use crate::isolation::words::{Create, Message, Process, Tape as TapeWord, ToHost, ToStage};
use crate::plugin::host::{Host, Services};
use crate::plugin::instance::Instance;
use crate::plugin::loader;
use crate::plugin::state::State;
use crate::plugin::tape::Tape;
use crate::pool::Pool;
use crate::sync::lock;

/// What this process has: there is one stage in it.
struct Child {
    /// The conversation about calls, which the stage's thread leads.
    call: Mutex<Wire>,
    /// What any thread may ask.
    side: Mutex<Wire>,
    page: PageView,
    blocks: Mutex<HashMap<u64, Arc<Mapping>>>,
    level: abi::Level,
    dry: bool,
}

static CHILD: OnceLock<Child> = OnceLock::new();

/// What came of what the host said.
struct Done {
    status: abi::Status,
    /// It still refers to the frame that came with the message.
    keeps_frame: bool,
    /// What it remembers, where that was asked for.
    state: Option<State>,
}

impl From<abi::Status> for Done {
    fn from(status: abi::Status) -> Self {
        Self {
            status,
            keeps_frame: false,
            state: None,
        }
    }
}

/// The process ends by itself so long after the program that started it.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Lives as the process of one stage until the host says that it is done or is gone.
#[must_use]
pub fn run() -> ExitCode {
    match live() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("a stage's process, which only flowpipe itself can start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn live() -> io::Result<()> {
    let mut call = Wire::to_host(connection()?);
    stand_first_in_line_for_the_killer();
    print_line_by_line();
    let Some((first, config)) = call.receive::<ToStage>()? else {
        return Ok(());
    };
    let ToStage::Create(create) = first else {
        return Err(io::Error::other("the host speaks another language"));
    };
    let side = call.file()?;
    let page = PageView::new(&call.file()?)?;
    let library = match create.is_replaced {
        true => Some(call.file()?),
        false => None,
    };
    let file = match &library {
        Some(file) => loader::name_of(file),
        None => create.library.clone(),
    };
    // Before there is a second thread, and before anything of the plugin runs.
    let confined = confinement::confine(&create.confinement, std::slice::from_ref(&file));
    watch_over(side.try_clone()?)?;
    let child = CHILD.get_or_init(|| Child {
        call: Mutex::new(call),
        side: Mutex::new(Wire::to_host(UnixStream::from(side))),
        page,
        blocks: Mutex::default(),
        level: create.level,
        dry: create.dry,
    });
    let tape = match create.tape {
        TapeWord::Off => Tape::Off,
        TapeWord::Records => Tape::Records(Mutex::default()),
        TapeWord::Plays(ref times, last) => Tape::plays_from(times, last),
    };
    let services = Arc::new(Services {
        clock: Clock::that_began(create.began_ns),
        pool: Pool::new(0),
        run: OnceLock::new(),
    });
    let host = Host::with(&create.stage, u32::MAX, services, tape, table::change);
    let made = match confined {
        Err(text) => Err((abi::ERROR, text)),
        Ok(left_out) => make(&create, library, &config, &host)
            .map_err(|(status, text)| (status, LeftOut::explain(&left_out, &file, text))),
    };
    let status = match &made {
        Ok(_) => abi::OK,
        Err((status, text)) => {
            host.note_error(*status, text.clone());
            *status
        }
    };
    child.done(&host, status.into())?;
    let Ok(mut instance) = made else {
        return Ok(());
    };
    while let Some((said, body)) = {
        let mut call = lock(&child.call);
        call.receive::<ToStage>()?
    } {
        let done = match said {
            ToStage::Activate => instance.activate_raw().into(),
            ToStage::Process(process) => child.process(&mut instance, *process, body)?,
            ToStage::Reset => instance.reset().into(),
            ToStage::HasState => state::has(&instance),
            ToStage::Save => state::save(&mut instance),
            ToStage::Load { format } => state::load(&mut instance, format, body),
            ToStage::Destroy => {
                instance.destroy();
                loader::deinit_all();
                return child.done(&host, abi::OK.into());
            }
            ToStage::Create(_) | ToStage::Status(_) => abi::ERROR.into(),
        };
        child.done(&host, done)?;
    }
    // The host is gone without a word; what the stage holds is let go all the same.
    instance.destroy();
    Ok(())
}

/// The connection that the host started this process with, in place of standard input. What a plugin starts does not get
/// it.
pub(crate) fn connection() -> io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    rustix::net::sockopt::socket_type(&socket)?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    drop(nothing);
    close_inherited(&socket);
    Ok(UnixStream::from(socket))
}

/// Closes the files that whoever started the program left open for it: they are not for its plugins. This process has
/// opened none yet but the connection.
fn close_inherited(connection: &OwnedFd) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let number = connection.as_raw_fd().cast_unsigned();
        for (first, last) in [(3, number.saturating_sub(1)), (number + 1, u32::MAX)] {
            if first <= last {
                // SAFETY: nothing in this process owns a file with these numbers.
                // A kernel before 5.9 can't, and then they stay open.
                let _ = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0_u32) };
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = connection;
}

/// When memory is short, the system ends this process before the program that it belongs to.
pub(crate) fn stand_first_in_line_for_the_killer() {
    if cfg!(target_os = "linux") {
        // A process may always make itself likelier; where it can't, it is as likely as others.
        let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    }
}

/// Lets the C library pass on each line that a plugin prints, as it does on a terminal: what stays in its memory is lost in a
/// crash.
fn print_line_by_line() {
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" {
            static stdout: *mut libc::FILE;
        }
        // SAFETY: the C library's own stream, which nothing has used yet and no other thread uses now. Without memory of
        // ours, the library takes its own.
        unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
    }
}

/// Ends this process when the host is gone, whatever the plugin is doing.
pub(crate) fn watch_over(side: OwnedFd) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let watch = move || {
        loop {
            let mut sockets = [PollFd::new(&side, PollFlags::empty())];
            match poll(&mut sockets, None) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        // A stage that holds the mouse lets go at once, whatever it is doing.
        if let Some(child) = CHILD.get() {
            child.page.abort();
        }
        std::thread::sleep(LAST_BREATH);
        let itself = rustix::process::getpid();
        // Nothing that the plugin registered for the end is run: it may be what hangs.
        let _ = rustix::process::kill_process(itself, rustix::process::Signal::KILL);
    };
    let thread = std::thread::Builder::new().name("flowpipe-watch".into());
    thread.spawn(watch).map(drop)
}

/// Loads the library and makes the stage.
fn make(
    create: &Create,
    file: Option<OwnedFd>,
    config: &[u8],
    host: &Arc<Host>,
) -> Result<Instance, (abi::Status, String)> {
    let failed = |text: String| (abi::ERROR, text);
    let library = match file {
        None => loader::load_with(&create.library, table::change_for_library),
        Some(file) => loader::load_only(&create.library, file, table::change_for_library),
    };
    let library = library.map_err(failed)?;
    if library.manifests.get(create.index as usize) != Some(&create.manifest) {
        let file = create.library.display();
        return Err(failed(format!(
            "{file} says something else of its stages now than when it was scanned: it is not used"
        )));
    }
    let config = serde_json::from_slice(config).map_err(|error| failed(error.to_string()))?;
    // What it says it says to the host, which puts it into words.
    Instance::create_raw(library, create.index, &config, host.clone())
}

impl Child {
    fn done(&self, host: &Host, done: Done) -> io::Result<()> {
        let (state, json) = match done.state {
            Some(State { format, json }) => (Some(format), json),
            None => (None, String::new()),
        };
        let done = ToHost::Done {
            status: done.status,
            error: host.take_error(),
            clock: host.tape().take(),
            keeps_frame: done.keeps_frame,
            state,
        };
        lock(&self.call).send(&done, json.as_bytes(), &[])
    }

    /// Lets the stage work.
    fn process(
        &self,
        instance: &mut Instance,
        process: Process,
        body: Vec<u8>,
    ) -> io::Result<Done> {
        self.forget(&process.forget);
        if let Some((times, last)) = &process.tape {
            instance.host().tape().load(times, *last);
        }
        let Some(message) = process.message else {
            let process = abi::Process {
                struct_size: size_of::<abi::Process>() as u32,
                event: process.event,
                message: std::ptr::null(),
                context: table::context(),
            };
            return Ok(instance.process(&process).into());
        };
        let Message {
            port,
            schema,
            sequence,
            frame_sequence,
            captured_ns,
            hops,
            frame,
        } = message;
        let schema = std::ffi::CString::new(schema)?;
        let document = Document::known(body);
        let hops: Vec<_> = hops
            .iter()
            .map(|&(stage, taken_ns, emitted_ns)| abi::Hop {
                stage,
                reserved: 0,
                taken_ns,
                emitted_ns,
            })
            .collect();
        let lineage = abi::Lineage {
            struct_size: size_of::<abi::Lineage>() as u32,
            hop_count: u32::try_from(hops.len()).unwrap_or(u32::MAX),
            sequence,
            frame_sequence,
            captured_ns,
            hops: hops.as_ptr(),
        };
        let frame = match frame {
            None => None,
            Some(told) => {
                let block = self.block(&told, &mut lock(&self.call), Access::Read)?;
                Some(frames::Frame::new(told, block, Access::Read))
            }
        };
        let message = abi::Message {
            struct_size: size_of::<abi::Message>() as u32,
            port,
            schema: schema.as_ptr(),
            json: document.as_c(),
            json_length: document.len(),
            document: document.as_abi(),
            frame: frame.map_or(std::ptr::null_mut(), |frame| frame.as_ptr().cast()),
            lineage: &raw const lineage,
        };
        let process = abi::Process {
            struct_size: size_of::<abi::Process>() as u32,
            event: process.event,
            message: &raw const message,
            context: table::context(),
        };
        let status = instance.process(&process);
        // SAFETY: this is the reference that came with the message, and nobody uses it after this.
        let keeps = frame.is_some_and(|frame| unsafe { !frames::give_up(frame) });
        Ok(Done {
            keeps_frame: keeps,
            ..status.into()
        })
    }

    /// These blocks are no more.
    fn forget(&self, gone: &[u64]) {
        let mut blocks = lock(&self.blocks);
        for block in gone {
            blocks.remove(block);
        }
    }

    /// The memory of a frame that came over a connection.
    fn block(
        &self,
        frame: &crate::isolation::words::Frame,
        wire: &mut Wire,
        access: Access,
    ) -> io::Result<Arc<Mapping>> {
        let mut blocks = lock(&self.blocks);
        if frame.is_new {
            let size = usize::try_from(frame.shape.size).unwrap_or(usize::MAX);
            let mapping = Arc::new(Mapping::new(&wire.file()?, size, access)?);
            blocks.insert(frame.block, mapping);
        }
        let missing = || io::Error::new(io::ErrorKind::InvalidData, "an unknown block of memory");
        blocks.get(&frame.block).cloned().ok_or_else(missing)
    }
}
