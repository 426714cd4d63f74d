//! Filter for system calls, as instructions of Berkeley Packet Filter: which calls of a program does the supervisor see?
//!
//! Descriptors of our sockets have high numbers, so that calls on other descriptors do not stop the program. Calls that create a socket
//! of SCTP, and those that have other descriptors too, are seen always.

use crate::ffi::seccomp::Instruction;

/// Descriptors of our sockets have this number or a higher one.
pub(super) const FIRST: i32 = 512;

/// `AUDIT_ARCH_…`
const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else {
    0xc000_00b7
};

/// Calls whose first argument is a descriptor.
const ON_DESCRIPTORS: [i64; 24] = [
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_sendfile,
];

#[cfg(target_arch = "x86_64")]
pub(super) const DUP2: i64 = libc::SYS_dup2;
/// There is no such call.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const DUP2: i64 = -1;

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const IS: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

/// Places in `struct seccomp_data`: the low half of an argument comes first.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const THIRD_ARGUMENT: u32 = 32;

/// The filter.
pub(super) fn program() -> Vec<Instruction> {
    let allow = (RETURN, 0, 0, libc::SECCOMP_RET_ALLOW);
    let notify = (RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF);
    let mut all = vec![
        (LOAD, 0, 0, ARCH),
        (IS, 1, 0, ARCHITECTURE),
        allow,
        (LOAD, 0, 0, NUMBER),
        (IS, 0, 4, libc::SYS_socket as u32),
        (LOAD, 0, 0, THIRD_ARGUMENT),
        (IS, 1, 0, libc::IPPROTO_SCTP as u32),
        allow,
        notify,
        (IS, 2, 0, libc::SYS_sendmsg as u32),
        (IS, 1, 0, libc::SYS_sendmmsg as u32),
        (IS, 0, 1, libc::SYS_splice as u32),
        notify,
    ];
    let calls: Vec<i64> = ON_DESCRIPTORS
        .into_iter()
        .chain([DUP2].into_iter().filter(|call| *call >= 0))
        .collect();
    // To the comparison of the descriptor, behind the remaining calls and `allow`.
    for (at, call) in calls.iter().enumerate() {
        let rest = u8::try_from(calls.len() - at).unwrap_or(u8::MAX);
        all.push((IS, rest, 0, *call as u32));
    }
    all.extend([
        allow,
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (AT_LEAST, 0, 2, FIRST.cast_unsigned()),
        // Negative ones.
        (AT_LEAST, 1, 0, i32::MIN.cast_unsigned()),
        notify,
        allow,
    ]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the filter returns for a call, or nothing if it leaves its instructions.
    fn decide(arch: u32, number: i64, arguments: [u32; 3]) -> Option<u32> {
        let all = program();
        let (mut at, mut value) = (0_usize, 0_u32);
        loop {
            let (code, yes, no, k) = *all.get(at)?;
            at += 1;
            let jump = |holds: bool| usize::from(if holds { yes } else { no });
            match code {
                LOAD => {
                    value = match k {
                        NUMBER => number as u32,
                        ARCH => arch,
                        _ => arguments[(k as usize - 16) / 8],
                    }
                }
                IS => at += jump(value == k),
                AT_LEAST => at += jump(value >= k),
                _ => return Some(k),
            }
        }
    }

    #[test]
    fn only_calls_on_our_descriptors_are_seen() {
        let seen =
            |number, arguments| decide(ARCHITECTURE, number, arguments) == Some(libc::SECCOMP_RET_USER_NOTIF);
        assert!(seen(libc::SYS_socket, [2, 1, 132]));
        assert!(!seen(libc::SYS_socket, [2, 1, 6]));
        for call in [libc::SYS_sendmsg, libc::SYS_sendmmsg, libc::SYS_splice] {
            assert!(seen(call, [3, 0, 0]), "{call}");
        }
        for call in ON_DESCRIPTORS {
            assert!(seen(call, [512, 0, 0]), "{call}");
            assert!(!seen(call, [511, 0, 132]), "{call}");
            assert!(!seen(call, [u32::MAX, 0, 132]), "{call}");
        }
        assert!(!seen(libc::SYS_mmap, [512, 0, 132]));
        assert_eq!(
            decide(0, libc::SYS_socket, [2, 1, 132]),
            Some(libc::SECCOMP_RET_ALLOW)
        );
    }
}
