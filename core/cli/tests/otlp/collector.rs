//! A collector for the tests, which keeps what it gets or misbehaves.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// What a collector does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// It takes everything.
    Takes,
    /// It takes connections and answers nothing.
    Hangs,
    /// It sends a response without end, byte by byte.
    Trickles,
    /// It closes connections at once.
    Closes,
    /// It has no time for the first requests, so many.
    IsBusy(usize),
    /// It answers with this status.
    Answers(u16),
    /// It answers with something that is no HTTP.
    AnswersNonsense,
    /// It says that all is well, with a page.
    AnswersPage,
    /// It sends a body without end, as fast as it can.
    Floods,
    /// It names another address, where something listens.
    Redirects,
    /// It takes all spans of a request but this many.
    Rejects(i64),
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A collector. It ends when it is dropped.
pub struct Collector {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    pub fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (kept, ends) = (requests.clone(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let count = Arc::new(AtomicUsize::new(0));
            for stream in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let (kept, ends, count) = (kept.clone(), ends.clone(), count.clone());
                std::thread::spawn(move || {
                    // The other side may be gone at any time.
                    let _ = serve(stream.unwrap(), behaviour, &kept, &ends, &count);
                });
            }
        });
        Self {
            address,
            requests,
            is_over,
            thread: Some(thread),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// All spans, with the resource of each request of them.
    pub fn spans(&self) -> (Vec<Span>, Vec<Resource>) {
        let (mut spans, mut resources) = (Vec::new(), Vec::new());
        for request in self.requests().iter().filter(|it| it.path == "/v1/traces") {
            let decoded = ExportTraceServiceRequest::decode(&*request.body).unwrap();
            for resource in decoded.resource_spans {
                resources.push(resource.resource.unwrap());
                for scope in resource.scope_spans {
                    assert_eq!(scope.scope.unwrap().name, "flowpipe");
                    spans.extend(scope.spans);
                }
            }
        }
        (spans, resources)
    }

    /// The metrics of the last request with some.
    pub fn last_metrics(&self) -> (Vec<Metric>, Resource) {
        let requests = self.requests();
        let of_metrics = |it: &&Request| it.path == "/v1/metrics";
        let last = requests.iter().rfind(of_metrics).unwrap();
        let mut decoded = ExportMetricsServiceRequest::decode(&*last.body).unwrap();
        assert_eq!(decoded.resource_metrics.len(), 1);
        let mut resource = decoded.resource_metrics.remove(0);
        assert_eq!(resource.scope_metrics.len(), 1);
        let scope = resource.scope_metrics.remove(0);
        (scope.metrics, resource.resource.unwrap())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It wakes the thread.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    mut stream: TcpStream,
    behaviour: Behaviour,
    requests: &Mutex<Vec<Request>>,
    is_over: &AtomicBool,
    count: &AtomicUsize,
) -> std::io::Result<()> {
    if behaviour == Behaviour::Closes {
        return Ok(());
    }
    let rests = || {
        while !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    if behaviour == Behaviour::Hangs {
        rests();
        return Ok(());
    }
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ');
    assert_eq!(words.next(), Some("POST"), "{line}");
    let path = words.next().unwrap().to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.unwrap().1.parse().unwrap()];
    reader.read_exact(&mut body)?;
    let is_traces = path == "/v1/traces";
    let number = count.fetch_add(1, Ordering::Relaxed);
    let is_taken = match behaviour {
        Behaviour::Takes | Behaviour::Rejects(_) => true,
        Behaviour::IsBusy(requests) => number >= requests,
        _ => false,
    };
    if is_taken {
        requests.lock().unwrap().push(Request {
            path,
            headers,
            body,
        });
    }
    let answer = |status: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    match behaviour {
        Behaviour::Rejects(count) if is_traces => {
            let partial = ExportTracePartialSuccess {
                rejected_spans: count,
                error_message: "too \u{1b}[31mmany".to_owned(),
            };
            let response = ExportTraceServiceResponse {
                partial_success: Some(partial),
            };
            stream.write_all(&answer("200 OK", &response.encode_to_vec()))
        }
        _ if is_taken => stream.write_all(&answer("200 OK", b"")),
        Behaviour::IsBusy(_) => stream.write_all(&answer("503 Service Unavailable", b"")),
        Behaviour::Answers(status) => stream.write_all(&answer(&format!("{status} No"), b"no")),
        Behaviour::AnswersNonsense => stream.write_all(b"\x00\x01 what?\r\n\r\n"),
        Behaviour::AnswersPage => stream.write_all(&answer("200 OK", b"<html>fine</html>")),
        Behaviour::Redirects => stream.write_all(
            b"HTTP/1.1 307 Away\r\nLocation: http://127.0.0.1:9/v1/traces\r\nContent-Length: 0\r\n\r\n",
        ),
        Behaviour::Trickles => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")?;
            while !is_over.load(Ordering::Relaxed) {
                stream.write_all(b"x")?;
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok(())
        }
        Behaviour::Floods => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            let chunk = [b"10000\r\n".as_slice(), &[0; 0x10000], b"\r\n"].concat();
            while !is_over.load(Ordering::Relaxed) {
                stream.write_all(&chunk)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
