//! P14: with the network off nothing gets out, by whichever kind of socket; with it on, the same attempts do.

use crate::place::Place;
use crate::place::attacker;
use crate::place::is_attacker;
use rustix::net::AddressFamily;
use rustix::net::SocketType;
use std::io::Read;
use std::io::Write;
use std::net::Shutdown;
use std::net::TcpListener;
use std::net::TcpStream;
use std::net::UdpSocket;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;

/// What came through, by the name of the way.
type Came = Arc<Mutex<Vec<String>>>;

/// Listeners of every kind on this machine, outside of the sandbox.
struct Listeners {
    came: Came,
    /// Where the socket with a path lies.
    services: TempDir,
    /// What the attacker is told: ports, the abstract name, the path.
    targets: String,
}

impl Listeners {
    fn open(folder: &Path) -> Self {
        let came = Came::default();
        let tcp = TcpListener::bind("0.0.0.0:0").unwrap();
        let udp = UdpSocket::bind("0.0.0.0:0").unwrap();
        let name = format!("custody-{}-{}", std::process::id(), folder.file_name().unwrap().display());
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let services = services();
        let path = services.path().join("service.socket");
        let shown = UnixListener::bind(&path).unwrap();
        let targets = format!(
            "{} {} {name} {}",
            tcp.local_addr().unwrap().port(),
            udp.local_addr().unwrap().port(),
            path.display()
        );
        let heard = Arc::clone(&came);
        std::thread::spawn(move || while tcp.accept().map(|_| heard.lock().unwrap().push("tcp".to_owned())).is_ok() {});
        let heard = Arc::clone(&came);
        std::thread::spawn(move || {
            while udp.recv(&mut [0; 9]).map(|_| heard.lock().unwrap().push("udp".to_owned())).is_ok() {}
        });
        for (listener, way) in [(hidden, "abstract"), (shown, "path")] {
            let heard = Arc::clone(&came);
            std::thread::spawn(
                move || {
                    while listener.accept().map(|_| heard.lock().unwrap().push(way.to_owned())).is_ok() {}
                },
            );
        }
        Self { came, services, targets }
    }

    fn came(&self) -> Vec<String> {
        std::thread::sleep(Duration::from_millis(200));
        let mut came = self.came.lock().unwrap().clone();
        came.sort();
        came.dedup();
        came
    }
}

/// Makes a folder where services have theirs: one that a sandbox shows as it is.
fn services() -> TempDir {
    let folders = ["/opt", "/srv", "/var/lib", env!("CARGO_TARGET_TMPDIR")];
    folders.iter().find_map(|folder| tempfile::tempdir_in(folder).ok()).unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// Tries all ways out, and says which kinds of sockets it got that know no namespaces.
#[test]
#[ignore = "an attacker that a test starts"]
fn caller() {
    if !is_attacker() {
        return;
    }
    let told = std::env::var("CUSTODY_TARGETS").unwrap();
    let targets: Vec<&str> = told.split(' ').collect();
    let hosts = ["127.0.0.1", "localhost", "10.0.2.2"];
    for host in hosts {
        let address = format!("{host}:{}", targets[0]);
        let addresses = std::net::ToSocketAddrs::to_socket_addrs(&address).into_iter().flatten();
        addresses.for_each(|address| {
            TcpStream::connect_timeout(&address, Duration::from_millis(300))
                .map(|stream| stream.shutdown(Shutdown::Both))
                .ok();
        });
        let udp = UdpSocket::bind("0.0.0.0:0").unwrap();
        udp.send_to(b"out", format!("{host}:{}", targets[1])).ok();
    }
    SocketAddr::from_abstract_name(targets[2]).and_then(|address| UnixStream::connect_addr(&address)).ok();
    UnixStream::connect(targets[3]).map(|mut stream| stream.write_all(b"out")).ok();
    for (name, number) in [("vsock", 40), ("bluetooth", 31), ("qrtr", 42), ("alg", 38)] {
        let made = rustix::net::socket(AddressFamily::from_raw(number), SocketType::STREAM, None);
        let why = made.map_or_else(|error| error.raw_os_error().to_string(), |_| "made".to_owned());
        writeln!(std::io::stdout(), "socket {name}: {why}").unwrap();
    }
}

fn call(place: &Place, listeners: &Listeners) -> String {
    let mut command = place.command(&attacker("network::caller"));
    command.env.insert("CUSTODY_TARGETS".to_owned(), listeners.targets.clone());
    let finished = place.open().run(&command);
    finished.output.text()
}

#[test]
fn with_the_network_off_nothing_gets_out_and_with_it_on_it_does() {
    let Some(place) = Place::held() else { return };
    let listeners = Listeners::open(place.folder());
    let said = call(&place, &listeners);
    assert!(said.contains("1 passed"), "{said}");
    assert_eq!(listeners.came(), Vec::<String>::new(), "{said}");

    let place = place.online();
    let said = call(&place, &listeners);
    assert!(said.contains("1 passed"), "{said}");
    // The socket below a path is a service of the machine's, which no network setting opens.
    assert_eq!(listeners.came(), ["abstract", "tcp", "udp"], "{said}");

    let mut place = place;
    place.settings.read = vec![listeners.services.path().to_owned()];
    call(&place, &listeners);
    assert_eq!(listeners.came(), ["abstract", "path", "tcp", "udp"], "a folder in `sandbox.read` shows its sockets");
}

#[test]
pub(crate) fn sockets_that_know_no_namespaces_are_not_made_without_the_network() {
    let Some(place) = Place::held() else { return };
    let listeners = Listeners::open(place.folder());
    let held = call(&place, &listeners);
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        for name in ["vsock", "bluetooth", "qrtr", "alg"] {
            assert!(held.contains(&format!("socket {name}: 97")), "{held}");
        }
    }
    // The twin; where the kernel has none of these kinds, there is nothing to see.
    let online = call(&place.online(), &listeners);
    let outside = ["vsock", "bluetooth", "qrtr", "alg"].map(|name| format!("socket {name}: made"));
    if !outside.iter().any(|made| online.contains(made)) {
        crate::place::skipped("this kernel has no sockets without namespaces");
    }
}

/// T32: a name is looked up nowhere.
#[test]
fn no_question_for_a_name_gets_out() {
    let Some(place) = Place::held() else { return };
    let (exit, said) = place.run("cat /proc/net/route | wc -l; cat /proc/net/dev | grep -vc ' lo:'");
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert!(lines == ["0", "2"] || lines == ["1", "2"], "{exit:?} {said}: a route, or an interface but the loopback");
    let mut text = String::new();
    std::fs::File::open("/proc/net/dev").unwrap().read_to_string(&mut text).unwrap();
    if text.lines().count() < 4 {
        crate::place::skipped("this machine has no network to keep out");
    }
}
