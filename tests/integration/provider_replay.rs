//! A loopback server that replays recorded answers byte for byte, one a connection.

use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::thread::JoinHandle;

/// One answer to replay.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { status, headers, body: body.into() }
    }
}

/// A server that gives these answers in order and then stops listening.
pub(crate) struct Replay {
    address: SocketAddr,
    thread: JoinHandle<Vec<String>>,
}

impl Replay {
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            answers.iter().map_while(|answer| serve(&mut listener.accept().unwrap().0, answer)).collect()
        });
        Self { address, thread }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests as they came; answers nobody asked for are let go.
    pub(crate) fn requests(self) -> Vec<String> {
        // A visitor without a request ends the waiting for the next one.
        TcpStream::connect(self.address).ok();
        self.thread.join().unwrap()
    }
}

fn serve(connection: &mut TcpStream, answer: &Answer) -> Option<String> {
    let request = read_request(connection)?;
    let mut head = format!("HTTP/1.1 {} replayed\r\nconnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", answer.body.len()));
    connection.write_all(head.as_bytes()).unwrap();
    for piece in answer.body.chunks(1000) {
        // The client may leave once it has what it needs.
        if connection.write_all(piece).is_err() {
            break;
        }
    }
    Some(request)
}

fn read_request(connection: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                return Some(text);
            }
        }
        match connection.read(&mut piece).unwrap() {
            0 => return None,
            size => bytes.extend_from_slice(&piece[..size]),
        }
    }
}
