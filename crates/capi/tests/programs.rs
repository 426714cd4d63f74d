//! Programs in C with the library preloaded: do its sockets behave as RFC 6458 and the kernel's do?
#![cfg(test)]
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of unmodified programs use the rest")]
#[path = "unmodified/harness.rs"]
mod harness;

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anabranch::PrivateKey;
use harness::{has, library, supervised};
use tempfile::TempDir;

fn run(program: &mut Command) -> Output {
    program.env("LD_PRELOAD", library()).output().unwrap()
}

/// Compiles a program of the tests; `None` if the header is missing.
fn compile(program: &str, options: &[&str]) -> Option<(TempDir, PathBuf)> {
    if !has("/usr/include/netinet/sctp.h") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join(program);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{program}.c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-O2", "-D_FORTIFY_SOURCE=2", "-pthread", "-o"]);
    let compiled = compiler
        .arg(&binary)
        .arg(source)
        .args(options)
        .arg("-lsctp")
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    Some((folder, binary))
}

/// Compiles a program of the tests and runs one of its cases.
fn case(program: &str, name: &str) {
    if let Some((_folder, binary)) = compile(program, &[]) {
        let ran = run(Command::new("timeout").arg("120").arg(&binary).arg(name));
        assert!(ran.status.success(), "{ran:?}");
    }
}

/// As [`case`], linked statically and supervised.
fn supervised_case(program: &str, name: &str) {
    if let Some((_folder, binary)) = compile(program, &["-static"]) {
        let ran = supervised(&binary, [name]).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
}

#[test]
fn blocking_sockets_echo_peek_duplicate_and_shut_down() {
    case("echo", "blocking");
}

#[test]
fn poll_and_epoll_see_what_calls_would_do() {
    case("echo", "readiness");
}

#[test]
fn errors_have_the_numbers_of_the_kernel() {
    case("echo", "refused");
}

#[test]
fn ancillary_data_and_notifications_are_received() {
    case("echo", "ancillary");
}

#[test]
fn child_of_a_fork_has_sockets_of_its_own_and_delivers_at_exit() {
    case("echo", "forked");
}

#[test]
fn child_of_a_fork_serves_what_its_parent_accepted() {
    case("echo", "served");
}

#[test]
fn sockets_of_a_process_that_has_ended_fail_in_its_child() {
    case("echo", "orphaned");
}

#[test]
fn statistics_are_written_on_a_signal() {
    if let Some((folder, binary)) = compile("echo", &[]) {
        let mut program = Command::new("timeout");
        program.arg("60").arg(&binary).arg("signalled");
        program.env("ANABRANCH_STATISTICS", folder.path().join("statistics"));
        let ran = run(program.env("ANABRANCH_STATISTICS_SIGNAL", "USR2"));
        assert!(ran.status.success(), "{ran:?}");
    }
}

#[test]
fn threads_that_wait_can_be_cancelled() {
    case("echo", "cancelled");
}

#[test]
fn threads_send_and_receive_at_once() {
    case("echo", "threads");
}

#[test]
fn association_is_set_up_by_what_is_sent() {
    case("many", "implicit");
}

#[test]
fn ends_of_associations_are_told() {
    case("many", "ends");
}

#[test]
fn peeled_off_association_keeps_what_it_had_received() {
    case("many", "peeled");
}

#[test]
fn message_for_all_reaches_all_and_idle_ones_are_closed() {
    case("many", "all");
}

#[test]
fn peer_that_does_not_read_delays_only_its_messages() {
    case("many", "full");
}

#[test]
fn peer_of_a_static_program_that_does_not_read_delays_only_its_messages() {
    supervised_case("many", "full");
}

#[test]
fn child_that_waits_to_send_to_one_peer_does_not_wait_for_others() {
    case("many", "awaited");
}

#[test]
fn message_for_all_of_a_child_arrives_once() {
    case("many", "inherited");
}

#[test]
fn peer_that_lists_the_address_of_another_gets_none_of_its_messages() {
    case("many", "listed");
}

#[test]
fn scope_of_an_address_does_not_matter_to_find_its_association() {
    case("many", "scoped");
}

/// A thread that begins an association holds the lock of the phase while it awaits the driver, so the driver must not take it.
#[test]
fn association_is_set_up_anew_while_other_peers_connect() {
    case("many", "anew");
}

#[test]
fn hundred_threads_on_one_socket_lose_no_wake_up() {
    case("many", "threads");
}

#[test]
fn ten_thousand_associations_carry_a_message_each() {
    case("many", "thousands");
}

#[test]
fn one_descriptor_is_ready_for_many_associations() {
    case("many", "ready");
}

#[test]
fn options_for_associations_to_come_are_kept() {
    case("options", "kept");
}

#[test]
fn options_of_an_association_are_read_and_set() {
    case("options", "present");
}

#[test]
fn notifications_tell_what_both_ends_do() {
    case("options", "told");
}

#[test]
fn message_whose_lifetime_ends_comes_back() {
    case("options", "failed");
}

#[test]
fn information_on_the_next_message_is_received() {
    case("options", "next");
}

#[test]
fn sockets_have_several_addresses() {
    case("options", "multihomed");
}

#[test]
fn heartbeats_are_disabled_for_associations_to_come() {
    case("options", "heartbeats");
}

#[test]
fn deactivated_key_is_free_and_still_authenticates_the_peer() {
    case("options", "keys");
}

#[test]
fn address_that_one_peer_cannot_lose_stays_everywhere() {
    case("options", "unbound");
}

#[test]
fn socket_of_a_removed_address_stays_until_another_is_confirmed() {
    case("options", "departing");
}

#[test]
fn ipv6_sockets_have_peers_of_ipv4() {
    case("options", "version6");
}

#[test]
fn messages_are_sent_by_sctp_send_and_sctp_sendx() {
    case("options", "functions");
}

#[test]
fn abandoned_message_is_cut_off() {
    case("options", "cutoff");
}

#[test]
fn streams_of_an_association_are_mapped_to_paths_and_its_queue_is_told() {
    case("options", "mapped");
}

#[test]
fn policies_are_selected_by_a_socket_option() {
    case("options", "policies");
}

/// Two keys, as the programs in C expect them in their environment.
fn keys(folder: &Path) -> Vec<(String, String)> {
    let of_key = |name: &str| {
        let (key, file) = (PrivateKey::generate().unwrap(), folder.join(name));
        std::fs::write(&file, key.to_base64()).unwrap();
        let file = (format!("FILE_{name}"), file.display().to_string());
        [file, (format!("KEY_{name}"), key.public_key().to_string())]
    };
    ["A", "B"].map(of_key).concat()
}

#[test]
fn sockets_encrypt_with_the_keys_of_an_option() {
    if let Some((folder, binary)) = compile("sealed", &[]) {
        for name in ["pair", "implicit", "refused", "listed"] {
            let mut program = Command::new("timeout");
            program.arg("120").arg(&binary).arg(name);
            let ran = run(program.envs(keys(folder.path())));
            assert!(ran.status.success(), "{name}: {ran:?}");
        }
    }
}

/// A process whose sockets trust its own key.
fn with_key(command: &mut Command, folder: &Path) {
    let keys = keys(folder);
    command.env("ANABRANCH_KEY", &keys[0].1);
    command.env("ANABRANCH_TRUST", &keys[1].1);
}

#[test]
fn encrypted_sockets_behave_as_others() {
    for (program, name) in [
        ("echo", "blocking"),
        ("echo", "readiness"),
        ("echo", "ancillary"),
        ("echo", "served"),
        ("many", "implicit"),
        ("many", "peeled"),
        ("many", "full"),
        ("options", "multihomed"),
    ] {
        if let Some((folder, binary)) = compile(program, &[]) {
            let mut command = Command::new("timeout");
            command.arg("120").arg(&binary).arg(name);
            with_key(&mut command, folder.path());
            let ran = run(&mut command);
            assert!(ran.status.success(), "{program} {name}: {ran:?}");
        }
    }
}

#[test]
fn sockets_of_a_static_program_encrypt() {
    if let Some((folder, binary)) = compile("supervised", &["-static"]) {
        let mut command = supervised(&binary, ["blocking"]);
        with_key(&mut command, folder.path());
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
}

#[test]
fn calls_of_open5gs_and_ueransim_work_in_their_order() {
    case("packet_core", "open5gs");
    case("packet_core", "ueransim");
}

#[test]
fn calls_that_the_standard_leaves_open_are_answered_as_by_linux_or_freebsd() {
    for system in ["linux", "freebsd"] {
        if let Some((_folder, binary)) = compile("dialect", &[]) {
            let mut program = Command::new("timeout");
            program.arg("60").arg(&binary).arg(system);
            let ran = run(program.env("ANABRANCH_DIALECT", system));
            assert!(ran.status.success(), "{ran:?}");
        }
    }
}

#[test]
fn message_before_an_abort_is_received_with_nxtinfo() {
    case("ends", "aborted");
}

#[test]
fn peeking_leaves_the_error_of_an_association() {
    case("ends", "peeked");
}

#[test]
fn bound_socket_keeps_its_port_when_a_handshake_fails() {
    case("ends", "refused");
}

#[test]
fn association_that_receives_is_not_closed_as_idle() {
    case("ends", "receiving");
}

#[test]
fn thread_that_receives_learns_of_a_close() {
    case("ends", "closed");
}

#[test]
fn thread_that_connects_learns_of_a_close() {
    case("ends", "connecting");
}

#[test]
fn thread_of_a_static_program_that_connects_learns_of_a_close() {
    supervised_case("ends", "connecting");
}

#[test]
fn notifications_that_are_not_read_are_bounded() {
    case("ends", "unread");
}

#[test]
fn hostile_options_get_an_error() {
    case("hostile", "options");
}

#[test]
fn hostile_arguments_get_an_error() {
    case("hostile", "arguments");
}

#[test]
fn calls_beside_the_standard_work_or_fail_clearly() {
    case("hostile", "calls");
}

#[test]
fn ten_thousand_sockets_leave_nothing_behind() {
    case("hostile", "leaks");
}

#[test]
fn static_program_has_blocking_sockets() {
    supervised_case("supervised", "blocking");
}

#[test]
fn static_program_polls_and_does_not_wait() {
    supervised_case("supervised", "readiness");
}

#[test]
fn children_of_a_static_program_share_its_sockets() {
    supervised_case("supervised", "forked");
}

#[test]
fn static_program_has_ancillary_data_and_notifications() {
    supervised_case("echo", "ancillary");
}

#[test]
fn static_program_gets_the_errors_of_the_kernel() {
    supervised_case("echo", "refused");
}

#[test]
fn threads_of_a_static_program_send_and_receive_at_once() {
    supervised_case("echo", "threads");
}

#[test]
fn threads_of_a_static_program_can_be_cancelled() {
    supervised_case("echo", "cancelled");
}

#[test]
fn static_program_learns_of_the_ends_of_associations() {
    supervised_case("many", "ends");
}

#[test]
fn static_program_peels_associations_off() {
    supervised_case("many", "peeled");
}

#[test]
fn options_of_a_static_program_are_kept() {
    supervised_case("options", "kept");
}

#[test]
fn static_program_has_several_addresses() {
    supervised_case("options", "multihomed");
}

#[test]
fn calls_of_a_static_program_that_would_be_missed_fail_clearly() {
    supervised_case("supervised", "refusals");
}

/// As in a container that denies `pidfd_getfd`.
#[test]
fn program_is_not_run_if_its_descriptors_cannot_be_fetched() {
    let (Some((_one, denied)), Some((_other, program))) =
        (compile("denied", &[]), compile("supervised", &["-static"]))
    else {
        return;
    };
    let supervised = supervised(&program, ["blocking"]);
    let mut command = Command::new(denied);
    command.arg(supervised.get_program()).args(supervised.get_args());
    let ran = command.output().unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(126), "{errors}");
    assert!(errors.contains("cannot be fetched"), "{errors}");
}

/// A child that the supervisor has from the shell before it, and that lives as long as the input of the test.
#[test]
fn supervisor_ends_with_the_program_and_not_with_its_other_children() {
    let Some((_folder, binary)) = compile("supervised", &["-static"]) else {
        return;
    };
    let supervised = supervised(&binary, ["forked"]);
    let arguments: Vec<&OsStr> = supervised.get_args().collect();
    let (limits, program) = arguments.split_at(2);
    let shell = "exec 3<&0; cat <&3 >/dev/null 2>&1 & exec \"$@\"";
    let mut command = Command::new(supervised.get_program());
    command.args(limits).args(["sh", "-c", shell, "sh"]).args(program);
    let mut ran = command.stdin(Stdio::piped()).spawn().unwrap();
    let input = ran.stdin.take();
    assert!(ran.wait().unwrap().success());
    drop(input);
}

/// Without `timeout`, which sends signals to all processes. The supervisor has another child from the shell before it, which lives as long as
/// the input of the test.
#[test]
fn signal_after_the_end_of_the_first_process_reaches_the_others_of_the_program() {
    let Some((_folder, binary)) = compile("supervised", &["-static"]) else {
        return;
    };
    let supervised = supervised(&binary, ["left"]);
    let shell = "exec 3<&0; sh -c 'cat; echo kept' <&3 & exec \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", shell, "sh"])
        .args(supervised.get_args().skip(2));
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut supervisor = command.spawn().unwrap();
    let input = supervisor.stdin.take();
    let mut lines = BufReader::new(supervisor.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let id = supervisor.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    assert_eq!(lines.next().unwrap().unwrap(), "terminated");
    assert_eq!(supervisor.wait().unwrap().code(), Some(7));
    drop(input);
    assert_eq!(lines.next().unwrap().unwrap(), "kept");
}

/// Gives a program another group than ours, which it gets when it is run. Only root can; others skip the test, except in CI.
fn gains_group(binary: &Path) -> bool {
    let changed = std::os::unix::fs::chown(binary, None, Some(65_534));
    if let Err(error) = changed {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("skipped: a set-group-ID program needs root");
        return false;
    }
    std::fs::set_permissions(binary, std::fs::Permissions::from_mode(0o2755)).unwrap();
    true
}

#[test]
fn environment_does_not_command_a_set_group_id_program() {
    let folder = library().parent().unwrap().display().to_string();
    let linked = [
        format!("-L{folder}"),
        format!("-Wl,-rpath,{folder}"),
        "-lanabranch_sctp".to_owned(),
    ];
    let linked = linked.each_ref().map(String::as_str);
    let Some((folder, binary)) = compile("privileged", &linked) else {
        return;
    };
    let statistics = folder.path().join("statistics");
    let said = |variable: &str, value: &Path| {
        let mut program = Command::new("timeout");
        program.arg("60").arg(&binary);
        program.args(["/bin/echo", "echo", "was taken over"]);
        let ran = program.env(variable, value).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let nothing = Path::new("");
    assert_eq!(said("ANABRANCH_SUPERVISE", nothing), "was taken over\n");
    assert_eq!(said("ANABRANCH_STATISTICS", &statistics), "was run\n");
    assert!(std::fs::remove_file(&statistics).is_ok());
    if gains_group(&binary) {
        assert_eq!(said("ANABRANCH_SUPERVISE", nothing), "was run\n");
        assert_eq!(said("ANABRANCH_STATISTICS", &statistics), "was run\n");
        assert!(!statistics.exists());
    }
}

#[test]
fn limit_on_descriptors_of_a_static_program_is_that_of_its_sockets() {
    supervised_case("supervised", "limits");
}

#[test]
fn installed_library_is_found_under_the_name_of_lksctp() {
    if !has("/usr/include/netinet/sctp.h") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let mut install = Command::new(root.join("scripts/install-sockets"));
    let installed = install
        .arg(library())
        .env("DESTDIR", folder.path())
        .env("PREFIX", "/usr")
        .output()
        .unwrap();
    assert!(installed.status.success(), "{installed:?}");
    let usr = folder.path().join("usr");
    for file in [
        "lib/pkgconfig/anabranch-sctp.pc",
        "share/man/man7/anabranch_sctp.7",
    ] {
        assert!(usr.join(file).is_file(), "{file}");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/dlopen.c");
    let binary = folder.path().join("dlopen");
    let mut compiler = Command::new("cc");
    let compiled = compiler.arg(source).arg("-o").arg(&binary).output().unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    let mut program = Command::new("timeout");
    program.arg("60").arg(&binary).arg("opened");
    program.env("LD_LIBRARY_PATH", usr.join("lib/anabranch"));
    let ran = program
        .env("LD_PRELOAD", usr.join("lib/libanabranch_sctp.so"))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}
