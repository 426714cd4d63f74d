//! Privileges of this process. Has the system given it more than the user has who started it?

/// Whether it is set-user-ID or set-group-ID, or has capabilities of its file (`AT_SECURE`). Then the environment is somebody else's, who
/// may not choose what this process runs, reads or writes.
pub(crate) fn exceed_those_of_the_starter() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
