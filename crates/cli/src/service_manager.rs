//! What the service manager is told (sd_notify(3)): is the program ready, does it stop?
//!
//! systemd names a datagram socket in `NOTIFY_SOCKET`, which takes lines of assignments. Its documentation recommends to implement this small protocol.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixDatagram;

/// A state of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServiceState {
    /// Everything is open that users or peers connect to.
    Ready,
    /// It has begun to end.
    Stopping,
}

/// Tells the service manager, if there is one that wants to know. A program without it is not another one, so errors do not matter.
pub(crate) fn tell(state: ServiceState) {
    if let Some(socket) = env::var_os("NOTIFY_SOCKET") {
        let _ = send(&socket, state);
    }
}

fn send(socket: &OsStr, state: ServiceState) -> io::Result<()> {
    let line = match state {
        ServiceState::Ready => "READY=1",
        ServiceState::Stopping => "STOPPING=1",
    };
    let sender = UnixDatagram::unbound()?;
    match socket.as_bytes().strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            sender.send_to_addr(line.as_bytes(), &address)?;
        }
        #[cfg(not(target_os = "linux"))]
        Some(_) => {}
        None => drop(sender.send_to(line.as_bytes(), socket)?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(receiver: &UnixDatagram) -> Vec<u8> {
        let mut line = [0; 64];
        let length = receiver.recv(&mut line).unwrap();
        line[..length].to_vec()
    }

    #[test]
    fn states_arrive_at_the_socket_of_the_service_manager() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notify");
        let receiver = UnixDatagram::bind(&file).unwrap();
        send(file.as_os_str(), ServiceState::Ready).unwrap();
        assert_eq!(received(&receiver), b"READY=1");
        send(file.as_os_str(), ServiceState::Stopping).unwrap();
        assert_eq!(received(&receiver), b"STOPPING=1");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn socket_with_an_at_sign_is_an_abstract_one() {
        use std::os::linux::net::SocketAddrExt as _;
        let name = format!("anabranch-test-{}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        let receiver = UnixDatagram::bind_addr(&address).unwrap();
        send(OsStr::new(&format!("@{name}")), ServiceState::Ready).unwrap();
        assert_eq!(received(&receiver), b"READY=1");
    }
}
