//! How do chunks become messages? To be written.
