//! Receivers that prove their name by a certificate.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use crate::harness::{Receiver, anabranch, file, run};

/// A file with the certificate of a new authority, and one with a certificate of it for `name`, and that one's private key.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut authority = CertificateParams::new([]).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = authority.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(authority, authority_key);
        let leaf = CertificateParams::new([name.to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &issuer).unwrap();
        let files = Self { folder };
        std::fs::write(files.path("ca.pem"), root.pem()).unwrap();
        std::fs::write(files.path("leaf.pem"), leaf.pem()).unwrap();
        std::fs::write(files.path("leaf.key"), key.serialize_pem()).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn receiver(&self) -> Receiver {
        let [leaf, key] = ["leaf.pem", "leaf.key"].map(|name| self.path(name));
        let options = [
            "--certificate",
            leaf.to_str().unwrap(),
            "--key",
            key.to_str().unwrap(),
        ];
        Receiver::start("127.0.0.1", &options)
    }
}

/// Sends a file to the receiver under the name `localhost`; returns the exit code and the error output.
fn send(receiver: &Receiver, path: &Path, authorities: &Path) -> (Option<i32>, String) {
    let (_, port) = receiver.to.rsplit_once(':').unwrap();
    let mut command = anabranch();
    command.args([
        "send",
        "--to",
        &format!("localhost:{port}"),
        "--from",
        "127.0.0.2",
    ]);
    let sent = command.arg("--ca").arg(authorities).arg(path).output().unwrap();
    (sent.status.code(), String::from_utf8(sent.stderr).unwrap())
}

#[test]
fn file_arrives_at_a_receiver_with_a_certificate_for_its_name() {
    let files = Files::new("localhost");
    let receiver = files.receiver();
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "a", 300_000);
    let (code, error) = send(&receiver, &path, &files.path("ca.pem"));
    assert_eq!(code, Some(0), "{error}");
    let stored = std::fs::read(receiver.folder.path().join("a")).unwrap();
    assert_eq!(stored, std::fs::read(&path).unwrap());
}

/// With a certificate, there is no key to print, but the word is.
#[test]
fn word_beside_a_certificate_is_printed() {
    let files = Files::new("localhost");
    let [leaf, key] = ["leaf.pem", "leaf.key"].map(|name| files.path(name));
    let mut command = anabranch();
    command.args([
        "recv",
        "--listen",
        "127.0.0.1:0",
        "--word=k7fq-2dmx",
        "--certificate",
    ]);
    command.arg(leaf).arg("--key").arg(key).arg(files.folder.path());
    let mut receiver = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
    let hint = lines
        .map_while(Result::ok)
        .find(|line| line.contains("send with"));
    receiver.kill().unwrap();
    receiver.wait().unwrap();
    assert!(hint.unwrap().ends_with("--word k7fq-2dmx"));
}

#[test]
fn authorities_of_the_system_are_asked() {
    let files = Files::new("localhost");
    let receiver = files.receiver();
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "a", 10);
    let (_, port) = receiver.to.rsplit_once(':').unwrap();
    let to = format!("localhost:{port}");
    let send = |authorities: &Path| {
        let mut command = anabranch();
        // In place of the list of this host.
        command.env("SSL_CERT_FILE", authorities);
        command.args(["send", "--to", &to, "--from", "127.0.0.2", "--ca", "system"]);
        command.arg(&path).output().unwrap()
    };
    let other = Files::new("localhost");
    assert_eq!(send(&other.path("ca.pem")).status.code(), Some(1));
    assert_eq!(receiver.names(), [""; 0]);
    let sent = send(&files.path("ca.pem"));
    assert_eq!(
        sent.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&sent.stderr)
    );
}

#[test]
fn certificates_for_other_names_and_of_other_authorities_are_refused() {
    let (files, other) = (Files::new("localhost"), Files::new("another.example"));
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "a", 10);
    for (receiver, authorities) in [
        (files.receiver(), other.path("ca.pem")),
        (other.receiver(), other.path("ca.pem")),
    ] {
        let (code, error) = send(&receiver, &path, &authorities);
        assert_eq!((code, error.lines().count()), (Some(1), 1), "{error}");
        assert!(error.contains("certificate"), "{error}");
        assert_eq!(receiver.names(), [""; 0]);
    }
}

#[test]
fn files_without_what_is_needed_are_named() {
    let files = Files::new("localhost");
    let [leaf, key] = ["leaf.pem", "leaf.key"].map(|name| files.path(name).display().to_string());
    let [leaf, key] = [&*leaf, &*key];
    for (arguments, expected) in [
        (&["recv", ".", "--certificate", leaf][..], "--key"),
        (&["recv", ".", "--certificate", key, "--key", key], "leaf.key"),
        (&["recv", ".", "--certificate", leaf, "--key", leaf], "leaf.pem"),
        (&["send", leaf, "--to", "localhost", "--ca", key], "leaf.key"),
        (
            &["send", leaf, "--to", "localhost", "--ca", "/nowhere.pem"],
            "/nowhere.pem",
        ),
        (&["send", leaf, "--to", "a b", "--ca", leaf], "a b"),
    ] {
        let refused = run(arguments);
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}
