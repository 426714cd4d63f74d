//! Configuration of the association of a tunnel.

use anabranch::{AssociationConfig, BufferSize, PolicyRecipe};

use crate::datagram::DATAGRAM_STREAMS;
use crate::frame::{ADAPTATION_LAYER, LONGEST_DATA};
use crate::relay::STREAMS;

/// Send and receive buffer: the largest window of a connection (`LARGEST_WINDOW`).
const BUFFER: u64 = 16 << 20;

/// The configuration that both ends of a tunnel have, with `policies` apart from the choices below: streams share by the weights of their
/// [classes](crate::Class), and no message waits for the end of another.
///
/// # Panics
///
/// Never: the names of the choices are those of the catalog, which a test checks.
#[must_use]
pub fn association_config(mut policies: PolicyRecipe) -> AssociationConfig {
    for (key, choice) in [("stream-scheduler", "wfq"), ("interleaving", "on")] {
        policies
            .set(key, choice)
            .expect("invariant: the catalog has these choices");
    }
    AssociationConfig {
        policies,
        send_buffer: BufferSize::Fixed(BUFFER),
        receive_buffer: BufferSize::Fixed(BUFFER),
        max_message: LONGEST_DATA,
        outbound_streams: STREAMS + DATAGRAM_STREAMS,
        max_inbound_streams: STREAMS + DATAGRAM_STREAMS,
        adaptation_layer: Some(ADAPTATION_LAYER),
        obeys_path_preferences: true,
        ..AssociationConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_policies_have_a_configuration() {
        let config = association_config(PolicyRecipe::default());
        assert_eq!(config.adaptation_layer, Some(ADAPTATION_LAYER));
        assert_ne!(config.policies, PolicyRecipe::default());
    }
}
