//! What the host and the supervisor say to each other: JSON behind its length, descriptors beside it.

use crate::process::Command;
use crate::process::Exit;
use crate::process::Happening;
use crate::process::Survivor;
use rustix::net::RecvAncillaryBuffer;
use rustix::net::RecvAncillaryMessage;
use rustix::net::RecvFlags;
use rustix::net::SendAncillaryBuffer;
use rustix::net::SendAncillaryMessage;
use rustix::net::SendFlags;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::ErrorKind;
use std::io::IoSlice;
use std::io::IoSliceMut;
use std::io::Read;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The most descriptors beside one message: input, output, errors.
const DESCRIPTORS: usize = 3;

/// A message larger than this is a fault.
const LARGEST: usize = 64 * 1024 * 1024;

/// What the host wants.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Order {
    /// Run this; output and errors come as descriptors, and before them the input when `has_input`.
    Run { command: Box<Command>, has_input: bool },
    /// Give up the command that runs.
    Stop(Happening),
    /// End everything that lives on.
    End { grace: Duration },
}

/// What the supervisor answers.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Answer {
    /// It keeps to itself now, and waits for orders.
    Ready,
    Ended(Exit),
    AllEnded(Vec<Survivor>),
}

/// Sends a message, with descriptors beside its first byte.
pub(super) fn send<T: Serialize>(socket: &UnixStream, message: &T, descriptors: &[BorrowedFd]) -> std::io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).map_err(|_| std::io::Error::from(ErrorKind::FileTooLarge))?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(&length)], &mut beside, SendFlags::NOSIGNAL)?;
    let mut socket = socket;
    socket.write_all(&length[sent..])?;
    socket.write_all(&text)
}

/// Receives the next message and what came beside it; none when the other side is gone.
pub(super) fn receive<T: DeserializeOwned>(socket: &UnixStream) -> std::io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = loop {
        match rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut length)], &mut beside, flags) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received?.bytes,
        }
    };
    if received == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let mut socket = socket;
    socket.read_exact(&mut length[received..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LARGEST {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let mut text = vec![0; length];
    socket.read_exact(&mut text)?;
    Ok(Some((serde_json::from_slice(&text)?, descriptors)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_message_comes_with_its_descriptors() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        send(&ours, &Order::End { grace: Duration::from_secs(3) }, &[writer.as_fd()]).unwrap();
        drop(writer);
        let (order, mut descriptors) = receive::<Order>(&theirs).unwrap().unwrap();
        assert!(matches!(order, Order::End { grace } if grace == Duration::from_secs(3)));
        let mut writer = std::io::PipeWriter::from(descriptors.remove(0));
        writer.write_all(b"through").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
        drop(ours);
        assert!(receive::<Order>(&theirs).unwrap().is_none());
    }

    #[test]
    fn rubbish_is_an_error() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(&[255; 4]).unwrap();
        assert!(receive::<Order>(&theirs).is_err());
    }
}
