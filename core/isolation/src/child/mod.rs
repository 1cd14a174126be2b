//! The process of one stage: loads its library and executes the host's calls.
//!
//! # Layout
//! - `table`: the functions that the plugin may call. `frames`: the frames that it refers to. `state`: state transfer.

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
use flowpipe_host::clock::Clock;
use flowpipe_host::document::Document;
use flowpipe_host::frame::memory::{Access, Mapping};
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::instance::{InProcess, StageInstance as _, State};
use flowpipe_host::library::loader;
use flowpipe_host::stage_clock::StageClock;
use flowpipe_host::table::{Host, Services};
#[cfg(target_os = "linux")]
use flowpipe_process::host_status;
use flowpipe_process::parent;
use flowpipe_sync::lock;

use crate::confinement::{self, Unreadable};
use crate::control_block::ControlView;
use crate::protocol::{Create, ProcessCall, ToHost, ToStage, WireFrame, WireMessage};
use crate::wire::Wire;

/// The context of this process: it has one stage.
struct Child {
    /// The connection for calls. The stage's thread uses it.
    call: Mutex<Wire>,
    /// The connection for requests from any thread.
    side: Mutex<Wire>,
    control: ControlView,
    blocks: Mutex<HashMap<u64, Arc<Mapping>>>,
    level: abi::Level,
    dry: bool,
}

static CHILD: OnceLock<Child> = OnceLock::new();

/// The result of a call from the host.
struct Done {
    status: abi::Status,
    /// The plugin still refers to the message's frame.
    keeps_frame: bool,
    /// The saved state, if the call was [`ToStage::Save`].
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

/// The process ends by itself this long after the host is gone.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Runs as the process of one stage until the host destroys the stage or is gone.
#[must_use]
pub fn run() -> ExitCode {
    match run_stage() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            end_if_alone(&error);
            eprintln!("a stage's process, which only flowpipe itself can start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_stage() -> io::Result<()> {
    let mut call = Wire::to_host(connection()?);
    // SAFETY: this process has no other thread yet.
    #[cfg(target_os = "linux")]
    unsafe {
        host_status::share();
    }
    raise_oom_score();
    flush_each_line();
    let Some((first, config)) = call.receive::<ToStage>()? else {
        return Ok(());
    };
    let ToStage::Create(create) = first else {
        return Err(io::Error::other("the host's first packet is not Create"));
    };
    let side = call.file()?;
    let control = ControlView::new(&call.file()?)?;
    let library = match create.is_replaced {
        true => Some(call.file()?),
        false => None,
    };
    let file = match &library {
        Some(file) => loader::name_of(file),
        None => create.library.clone(),
    };
    create.confinement.prepare(create.dry);
    // Before there is a second thread, and before any code of the plugin runs.
    let confined = confinement::confine(&create.confinement, std::slice::from_ref(&file));
    watch_host(side.try_clone()?)?;
    let child = CHILD.get_or_init(|| Child {
        call: Mutex::new(call),
        side: Mutex::new(Wire::to_host(UnixStream::from(side))),
        control,
        blocks: Mutex::default(),
        level: create.level,
        dry: create.dry,
    });
    let stage_clock = StageClock::from_source(&create.clock);
    let services = Arc::new(Services {
        clock: Clock::started_at(create.began_ns),
        pool: Pool::new(0),
        run: OnceLock::new(),
    });
    let host = Host::with(
        &create.stage,
        u32::MAX,
        services,
        stage_clock,
        table::change,
    );
    let created = match confined {
        Err(text) => Err((abi::ERROR, text)),
        Ok(unreadable) => create_stage(&create, library, &config, &host)
            .map_err(|(status, text)| (status, Unreadable::explain(&unreadable, &file, text))),
    };
    let status = match &created {
        Ok(_) => abi::OK,
        Err((status, text)) => {
            host.note_error(*status, text.clone());
            *status
        }
    };
    child.done(&host, status.into())?;
    let Ok(mut instance) = created else {
        return Ok(());
    };
    while let Some((packet, body)) = {
        let mut call = lock(&child.call);
        call.receive::<ToStage>()?
    } {
        let done = match packet {
            ToStage::Activate => instance.activate_raw().into(),
            ToStage::Process(process) => child.process(&mut instance, *process, body)?,
            ToStage::Reset => instance.reset().into(),
            ToStage::HasState => state::has(&instance),
            ToStage::Save => state::save(&mut instance),
            ToStage::Load { format } => state::load(&mut instance, format, body),
            ToStage::Destroy => {
                Box::new(instance).destroy();
                loader::deinit_all();
                return child.done(&host, abi::OK.into());
            }
            ToStage::Create(_) | ToStage::Status(_) => abi::ERROR.into(),
        };
        child.done(&host, done)?;
    }
    // The host is gone without a Destroy; the stage is destroyed all the same.
    Box::new(instance).destroy();
    end_group()
}

/// Ends the process group if an error means that the host is gone.
pub(crate) fn end_if_alone(error: &io::Error) {
    if matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    ) {
        end_group();
    }
}

/// Kills the process group, and so this process: the host, which would do that, is gone. A process that was not started
/// as the leader of a group kills itself alone.
fn end_group() -> ! {
    use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group, kill_process};
    if getpgrp() == getpid() {
        // It fails when there is no such group; then this process is not in one.
        let _ = kill_current_process_group(Signal::KILL);
    }
    let _ = kill_process(getpid(), Signal::KILL);
    // Both end this process before they return.
    std::process::abort()
}

/// The connection that the host started this process with, in place of standard input. Programs that a plugin starts
/// don't inherit it.
pub(crate) fn connection() -> io::Result<UnixStream> {
    rustix::net::sockopt::socket_type(io::stdin())?;
    let socket = parent::take_stdin()?;
    close_inherited(&socket);
    Ok(UnixStream::from(socket))
}

/// Closes the files that this process has inherited: they are not for plugins. So far this process has opened only the
/// connection.
fn close_inherited(connection: &OwnedFd) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let number = connection.as_raw_fd().cast_unsigned();
        for (first, last) in [(3, number.saturating_sub(1)), (number + 1, u32::MAX)] {
            if first <= last {
                // SAFETY: nothing in this process owns a file with these numbers.
                // A kernel before 5.9 fails, and then they stay open.
                let _ = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0_u32) };
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = connection;
}

/// Raises this process's OOM score: when memory is short, the system kills it before the main program.
pub(crate) fn raise_oom_score() {
    if cfg!(target_os = "linux") {
        // A process may always raise its own score; if that fails, it keeps its default.
        let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    }
}

/// Makes the C library flush each line that a plugin prints, as on a terminal: lines in its buffer are lost in a crash.
fn flush_each_line() {
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" {
            static stdout: *mut libc::FILE;
        }
        // SAFETY: the C library's own stream, which nothing has used yet and no other thread uses now. With a null
        // pointer the library allocates the buffer.
        unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
    }
}

/// Ends this process and its group when the host is gone, in whatever state the plugin is.
pub(crate) fn watch_host(side: OwnedFd) -> io::Result<()> {
    parent::watch(side, |_| {
        // A stage that holds a mouse button releases it at once.
        if let Some(child) = CHILD.get() {
            child.control.abort();
        }
        std::thread::sleep(SHUTDOWN_GRACE);
        // Exit handlers of the plugin don't run: one of them may hang.
        end_group()
    })
}

/// Loads the library and creates the stage.
fn create_stage(
    create: &Create,
    file: Option<OwnedFd>,
    config: &[u8],
    host: &Arc<Host>,
) -> Result<InProcess, (abi::Status, String)> {
    let failed = |text: String| (abi::ERROR, text);
    let library = match file {
        None => loader::load_with(&create.library, table::change_for_library),
        Some(file) => loader::load_single(&create.library, file, table::change_for_library),
    };
    let library = library.map_err(failed)?;
    if library.manifests.get(create.index as usize) != Some(&create.manifest) {
        let file = create.library.display();
        return Err(failed(format!(
            "{file}: its manifests differ from the scanned ones: it is not used; `flowpipe plugins` reads them again"
        )));
    }
    let config = serde_json::from_slice(config).map_err(|error| failed(error.to_string()))?;
    // The host turns the plugin's status and error into a text.
    InProcess::create_raw(library, create.index, &config, host.clone())
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
            clock: host.stage_clock().take(),
            keeps_frame: done.keeps_frame,
            state,
        };
        lock(&self.call).send(&done, json.as_bytes(), &[])
    }

    /// Executes one `process` call.
    fn process(
        &self,
        instance: &mut InProcess,
        process: ProcessCall,
        body: Vec<u8>,
    ) -> io::Result<Done> {
        self.forget(&process.forget);
        if let Some((times, last)) = &process.clock {
            instance.host().stage_clock().load(times, *last);
        }
        let Some(message) = process.message else {
            let process = abi::Process {
                struct_size: size_of::<abi::Process>() as u32,
                event: process.event,
                message: std::ptr::null(),
                context: table::context(),
            };
            // SAFETY: all its pointers are valid until the call returns.
            return Ok(unsafe { instance.process(&process) }.into());
        };
        let WireMessage {
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
            Some(wire) => {
                let block = self.block(&wire, &mut lock(&self.call), Access::Read)?;
                Some(frames::ChildFrame::new(wire, block, Access::Read))
            }
        };
        let message = abi::Message {
            struct_size: size_of::<abi::Message>() as u32,
            port,
            schema: schema.as_ptr(),
            json: document.as_c(),
            json_length: document.json_len(),
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
        // SAFETY: as above.
        let status = unsafe { instance.process(&process) };
        // SAFETY: this is the message's own reference, and it is not used again.
        let keeps = frame.is_some_and(|frame| unsafe { !frames::release(frame) });
        Ok(Done {
            keeps_frame: keeps,
            ..status.into()
        })
    }

    /// Unmaps blocks that the host has freed.
    fn forget(&self, freed: &[u64]) {
        let mut blocks = lock(&self.blocks);
        for block in freed {
            blocks.remove(block);
        }
    }

    /// The memory of a frame that came through `wire`.
    fn block(
        &self,
        frame: &WireFrame,
        wire: &mut Wire,
        access: Access,
    ) -> io::Result<Arc<Mapping>> {
        let mut blocks = lock(&self.blocks);
        if frame.is_new {
            let size = frame.layout.size();
            let mapping = Arc::new(Mapping::new(&wire.file()?, size, access)?);
            blocks.insert(frame.block, mapping);
        }
        let missing = || io::Error::new(io::ErrorKind::InvalidData, "an unknown block of memory");
        blocks.get(&frame.block).cloned().ok_or_else(missing)
    }
}
