//! Captured packets are opened by the secrets that TLS has logged.

use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use rustls::{ClientConfig, SupportedCipherSuite};

use super::{CLIENT, Pair, SERVER, SERVER_KEY, SIZE, client_config, path, provider, roots, server_config};
use crate::KeyLog;

/// A key log in memory.
#[derive(Default)]
struct Log(Mutex<String>);

impl rustls::KeyLog for Log {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut text = self.0.lock().unwrap();
        writeln!(text, "{label} {} {}", hex(client_random), hex(secret)).unwrap();
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

/// A connection with this cipher suite and a key update after each second packet, and what its client has logged.
fn connected(suite: SupportedCipherSuite) -> (Pair, String) {
    let log = Arc::new(Log::default());
    let provider = CryptoProvider {
        cipher_suites: vec![suite],
        ..CryptoProvider::clone(&provider())
    };
    let mut tls = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots(&SERVER_KEY))
        .with_no_client_auth();
    tls.key_log = Arc::<Log>::clone(&log);
    let mut config = client_config();
    config.key_update_after = 2;
    let mut pair = Pair::new(1, config, server_config());
    pair.connect_with(&tls, &[path(0)], SIZE);
    pair.run(Pair::is_connected);
    pair.settle();
    let text = log.0.lock().unwrap().clone();
    (pair, text)
}

#[test]
fn packets_are_opened_across_key_updates_with_every_cipher_suite() {
    for suite in [
        TLS13_AES_128_GCM_SHA256,
        TLS13_AES_256_GCM_SHA384,
        TLS13_CHACHA20_POLY1305_SHA256,
    ] {
        let (mut pair, text) = connected(suite);
        let mut log = KeyLog::parse(&text).unwrap();
        for round in 0..24_u8 {
            for (end, space) in [(CLIENT, 0), (SERVER, 0), (CLIENT, 3)] {
                let packet = pair.sealed(end, space, &[round, space]);
                assert_eq!(log.open(&packet), Some(vec![round, space]), "{suite:?}");
                let mut forged = packet;
                forged[20] ^= 1;
                assert_eq!(log.open(&forged), None);
            }
            pair.send(CLIENT, 0, b"x");
            pair.send(SERVER, 0, b"x");
            pair.wait(std::time::Duration::from_secs(4));
        }
        let phase = pair.ends[CLIENT].key_phase(pair.connected[CLIENT].unwrap());
        assert!(phase.unwrap() > 4, "{phase:?}");
        // A capture that begins late.
        let mut late = KeyLog::parse(&text).unwrap();
        let packet = pair.sealed(CLIENT, 0, b"late");
        assert_eq!(late.open(&packet), Some(b"late".to_vec()));
    }
}

#[test]
fn packets_of_other_connections_and_protocols_are_not_opened() {
    let (mut pair, _) = connected(TLS13_AES_128_GCM_SHA256);
    let (_, text) = connected(TLS13_AES_128_GCM_SHA256);
    let mut log = KeyLog::parse(&text).unwrap();
    for _ in 0..20 {
        let packet = pair.sealed(CLIENT, 0, b"secret");
        assert_eq!(log.open(&packet), None);
    }
    for sent in &pair.log {
        assert_eq!(log.open(&sent.datagram), None);
    }
    assert_eq!(log.open(&[]), None);
    assert_eq!(log.open(&[0; 28]), None);
}
