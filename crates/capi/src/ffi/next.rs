//! Functions of the C library behind ours: found once each, by `dlsym(RTLD_NEXT)`.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the C library, by name.
pub(super) struct Next {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Next {
    pub(super) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The address of the function, if there is one.
    pub(super) fn find(&self) -> Option<*mut c_void> {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return Some(known);
        }
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Ordering::Relaxed);
        Some(found).filter(|found| !found.is_null())
    }

    /// The address of the function. The process ends if there is none, because nothing could be returned.
    pub(super) fn address(&self) -> *mut c_void {
        self.find().unwrap_or_else(|| std::process::abort())
    }
}

/// The function of this name.
macro_rules! named {
    ($name:ident) => {{
        const NAME: &std::ffi::CStr =
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
        $crate::ffi::next::Next::new(NAME)
    }};
}
pub(super) use named;

/// Returns what lksctp's library returns for a descriptor that is not ours, if the program has loaded it.
macro_rules! unless_ours {
    ($name:ident ( $fd:ident : $fd_kind:ty, $($value:ident : $kind:ty),* ) -> $result:ty) => {
        static NEXT: $crate::ffi::next::Next = $crate::ffi::next::named!($name);
        if !$crate::table::contains($fd)
            && let Some(address) = NEXT.find()
        {
            let function: unsafe extern "C-unwind" fn($fd_kind, $($kind),*) -> $result =
                // SAFETY: lksctp's library declares the function with these types.
                unsafe { std::mem::transmute(address) };
            // SAFETY: the arguments are those of our caller.
            return unsafe { function($fd, $($value),*) };
        }
    };
}
pub(super) use unless_ours;

/// Calls the next function of this name: `next!(close(fd: c_int) -> c_int)`.
macro_rules! next {
    ($name:ident ( $($value:ident : $kind:ty),* ) -> $result:ty) => {{
        static NEXT: $crate::ffi::next::Next = $crate::ffi::next::named!($name);
        // SAFETY: the C library declares the function with these types; a variadic one gets its only argument in a register.
        let function: unsafe extern "C-unwind" fn($($kind),*) -> $result = unsafe { std::mem::transmute(NEXT.address()) };
        // SAFETY: the arguments are those of our caller.
        unsafe { function($($value),*) }
    }};
}
pub(super) use next;
