//! The only interface of a separate network namespace.

use std::io;

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};

/// `NLMSG` and `RTM` numbers of the kernel's link interface, which no crate in use defines.
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const IFF_UP: u32 = 1;
/// The loopback interface is always the first one.
const LOOPBACK: i32 = 1;

/// Lets programs inside a separate network namespace talk to each other.
pub(super) fn up() -> io::Result<()> {
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let sent = rustix::net::send(&socket, &request(), SendFlags::empty())?;
    if sent == 32 { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// `struct nlmsghdr` and `struct ifinfomsg`.
fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32);
    bytes.extend(32_u32.to_ne_bytes());
    bytes.extend(RTM_NEWLINK.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes
}
