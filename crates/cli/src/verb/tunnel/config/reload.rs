//! A file that is read again. What of it holds in the program that runs, and what needs a restart?

use super::Config;

impl Config {
    /// What holds from now on if the program that runs with this configuration reads `new`, and the keys whose changes need a restart. Those
    /// stay as they were.
    pub(crate) fn replaced_by(&self, new: Self) -> (Self, Vec<String>) {
        let (mut next, mut restart) = (new, Vec::new());
        let mut needs_restart = |key: &str, is_other: bool| {
            if is_other {
                restart.push(key.to_owned());
            }
            is_other
        };
        // A private key is not compared itself.
        if needs_restart("PrivateKey", next.key.public_key() != self.key.public_key()) {
            next.key = self.key.clone();
        }
        if needs_restart("Listen", next.listen != self.listen) {
            next.listen.clone_from(&self.listen);
        }
        if needs_restart("Path", next.paths != self.paths) {
            next.paths.clone_from(&self.paths);
            next.preferences.clone_from(&self.preferences);
        }
        for key in self.changed_keys_of_tun(&next) {
            needs_restart(key, true);
        }
        next.tun.clone_from(&self.tun);
        for peer in &mut next.peers {
            let known = self.peers.iter().find(|known| known.key == peer.key);
            let Some(known) = known else { continue };
            let key = format!("Endpoint of {}", peer.name);
            if needs_restart(&key, known.endpoints != peer.endpoints) {
                peer.endpoints.clone_from(&known.endpoints);
            }
        }
        (next, restart)
    }

    /// The keys of the device that say something else in `new`.
    fn changed_keys_of_tun(&self, new: &Self) -> Vec<&'static str> {
        let (before, after) = match (&self.tun, &new.tun) {
            (Some(before), Some(after)) => (before, after),
            (None, None) => return Vec::new(),
            (Some(_), None) | (None, Some(_)) => return vec!["Tun"],
        };
        let changes = [
            ("Tun", before.name != after.name || before.peer != after.peer),
            ("Address", before.addresses != after.addresses),
            ("MTU", before.mtu != after.mtu),
            ("Route", before.routes != after.routes),
            ("DNS", before.dns != after.dns),
            ("KillSwitch", before.has_kill_switch != after.has_kill_switch),
        ];
        changes
            .into_iter()
            .filter_map(|(key, is_other)| is_other.then_some(key))
            .collect()
    }
}
