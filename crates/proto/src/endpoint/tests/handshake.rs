//! Do handshakes end well that take unusual turns?

use super::*;

#[test]
fn an_answer_to_a_heartbeat_does_not_outlive_its_path() {
    let mut endpoint = endpoint();
    let (id, tag) = calls(&mut endpoint);
    let both = [peer(2).ip(), peer(3).ip()];
    hears(&mut endpoint, START, peer(2), tag, &init_ack(5, &both));
    let heartbeat = Heartbeat { info: b"there?" };
    hears(&mut endpoint, START, peer(3), tag, &heartbeat);
    // The peer's own call crosses ours, and it has lost an address meanwhile.
    calls_back(&mut endpoint, tag, 6);
    let association = endpoint.association(id).expect("it lives");
    assert!(association.is_connected());
    assert_eq!(association.path_facts().len(), 1);
}
