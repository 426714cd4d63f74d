//! What went wrong once? Finds of the adversary, made small and named after the fault.
