//! A word that two users share. Do both ends of an association know it? By SPAKE2, which tells those who guess nothing else.
//!
//! docs/transfer-protocol.md specifies the exchange.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Serialize, Serializer};
use sha2::Sha256;
use spake2::{Ed25519Group, Identity, Password, Spake2};

use super::octets::Octets;

/// Digits and letters that are not mistaken for each other (Crockford's base 32).
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Digits of a word that this program makes: 40 bits.
const MADE: usize = 8;

/// The fewest characters of a word that a user makes up.
const SHORTEST: usize = 6;

const LONGEST: usize = 100;

/// Exchanges that may fail before a word is worth nothing any more.
pub(crate) const MAX_FAILURES: u32 = 10;

/// Exchanges that may be open at a time.
const MAX_OPEN: u32 = 50;

/// Bytes of a message of SPAKE2 with Ed25519: the side, and a point.
const MESSAGE: usize = 33;

/// Bytes of a proof.
const PROOF: usize = 32;

/// What users tell each other on another way. Its debug text does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Word {
    shown: String,
    /// What both ends prove: in lower case, without blanks and hyphens, and digits in place of the letters o, i and l.
    proven: String,
}

impl Word {
    /// A new one.
    pub(crate) fn generate() -> Result<Self, getrandom::Error> {
        let mut random = [0; MADE];
        getrandom::fill(&mut random)?;
        let digits = random.map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
        let (front, back) = digits.split_at(MADE / 2);
        let text = |half: &[char]| half.iter().collect::<String>();
        Ok(Self::of(format!("{}-{}", text(front), text(back))))
    }

    fn of(shown: String) -> Self {
        let lower = shown.to_lowercase();
        let proven = lower.chars().filter(|one| *one != '-' && !one.is_whitespace());
        let proven = proven.map(|one| match one {
            'o' => '0',
            'i' | 'l' => '1',
            other => other,
        });
        Self {
            proven: proven.collect(),
            shown,
        }
    }
}

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = Self::of(text.trim().to_owned());
        match word.proven.chars().count() {
            0..SHORTEST => Err(format!("a word has at least {SHORTEST} characters")),
            SHORTEST..=LONGEST => Ok(word),
            _ => Err(format!("a word has at most {LONGEST} characters")),
        }
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Word")
    }
}

/// A message of SPAKE2.
pub(crate) type Blinded = Octets<MESSAGE>;

/// That an end has the key of the exchange.
pub(crate) type Proof = Octets<PROOF>;

/// The two ends of an exchange.
#[derive(Clone, Copy, Debug)]
enum End {
    Sender,
    Receiver,
}

/// The sender's part of an exchange: it has sent its message.
pub(crate) struct Claim {
    exchange: Exchange,
}

impl Claim {
    /// `session` is the secret of the session that the exchange is to belong to.
    pub(crate) fn new(word: &Word, session: [u8; 32]) -> (Self, Blinded) {
        let (exchange, blinded) = Exchange::start(End::Sender, word, session);
        (Self { exchange }, blinded)
    }

    /// Our proof, if the receiver's is right: it knows the word, and its session is ours.
    pub(crate) fn check(self, blinded: Blinded, proof: Proof) -> Option<Proof> {
        let keys = self.exchange.finish(blinded)?;
        keys.accepts(End::Receiver, proof)
            .then(|| keys.proof(End::Sender))
    }
}

/// The receiver's part of an exchange: it has answered, and waits for the sender's proof.
pub(crate) struct Challenge {
    keys: Keys,
}

impl Challenge {
    /// The answer to the sender's message; `None` if that is not valid.
    pub(crate) fn new(word: &Word, session: [u8; 32], sender: Blinded) -> Option<(Self, Blinded, Proof)> {
        let (exchange, blinded) = Exchange::start(End::Receiver, word, session);
        let keys = exchange.finish(sender)?;
        let proof = keys.proof(End::Receiver);
        Some((Self { keys }, blinded, proof))
    }

    /// Whether the sender knows the word.
    pub(crate) fn is_met_by(&self, proof: Proof) -> bool {
        self.keys.accepts(End::Sender, proof)
    }
}

struct Exchange {
    spake: Spake2<Ed25519Group>,
    session: [u8; 32],
}

impl Exchange {
    fn start(end: End, word: &Word, session: [u8; 32]) -> (Self, Blinded) {
        let password = Password::new(word.proven.as_bytes());
        let sender = Identity::new(b"anabranch sender");
        let receiver = Identity::new(b"anabranch receiver");
        let (spake, message) = match end {
            End::Sender => Spake2::<Ed25519Group>::start_a(&password, &sender, &receiver),
            End::Receiver => Spake2::<Ed25519Group>::start_b(&password, &sender, &receiver),
        };
        let message = message
            .try_into()
            .expect("invariant: messages of SPAKE2 with Ed25519 have 33 bytes");
        (Self { spake, session }, Octets(message))
    }

    fn finish(self, peer: Blinded) -> Option<Keys> {
        let key = self.spake.finish(&peer.0).ok()?;
        Some(Keys {
            key,
            session: self.session,
        })
    }
}

struct Keys {
    key: Vec<u8>,
    session: [u8; 32],
}

impl Keys {
    fn mac(&self, end: End) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("invariant: HMAC takes keys of any length");
        mac.update(match end {
            End::Sender => b"anabranch word, sender  ",
            End::Receiver => b"anabranch word, receiver",
        });
        // Someone between the two ends has a session with each of them, and neither proof fits the other one.
        mac.update(&self.session);
        mac
    }

    fn proof(&self, end: End) -> Proof {
        Octets(self.mac(end).finalize().into_bytes().into())
    }

    /// In constant time.
    fn accepts(&self, end: End, proof: Proof) -> bool {
        self.mac(end).verify_slice(&proof.0).is_ok()
    }
}

/// A receiver's word, and how often somebody did not know it.
#[derive(Debug)]
pub(crate) struct GuardedWord {
    word: Word,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    open: u32,
    failed: u32,
}

/// An exchange of a receiver. It has failed if it is dropped before [`succeeded`](Self::succeeded) is called.
#[derive(Debug)]
pub(crate) struct Attempt<'w> {
    guarded: &'w GuardedWord,
    has_succeeded: bool,
}

impl GuardedWord {
    pub(crate) fn new(word: Word) -> Self {
        Self {
            word,
            counts: Mutex::default(),
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an exchange; `None` if the word is worth nothing any more, or too many exchanges are open.
    pub(crate) fn begin(&self) -> Option<Attempt<'_>> {
        let mut counts = self.counts();
        if counts.failed >= MAX_FAILURES || counts.open >= MAX_OPEN {
            return None;
        }
        counts.open += 1;
        Some(Attempt {
            guarded: self,
            has_succeeded: false,
        })
    }

    /// Whether so many exchanges have failed that the word is worth nothing any more.
    pub(crate) fn is_spent(&self) -> bool {
        self.counts().failed >= MAX_FAILURES
    }
}

impl Attempt<'_> {
    pub(crate) const fn word(&self) -> &Word {
        &self.guarded.word
    }

    pub(crate) fn succeeded(mut self) {
        self.has_succeeded = true;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut counts = self.guarded.counts();
        counts.open -= 1;
        if !self.has_succeeded {
            counts.failed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: [u8; 32] = [7; 32];

    fn word(text: &str) -> Word {
        text.parse().unwrap()
    }

    /// Whether the sender and the receiver accept each other.
    fn exchange(words: [&str; 2], sessions: [[u8; 32]; 2]) -> (bool, bool) {
        let (claim, sent) = Claim::new(&word(words[0]), sessions[0]);
        let (challenge, answer, proof) = Challenge::new(&word(words[1]), sessions[1], sent).unwrap();
        let own = claim.check(answer, proof);
        let met = own.is_some_and(|proof| challenge.is_met_by(proof));
        (own.is_some(), met)
    }

    #[test]
    fn ends_with_one_word_and_one_session_accept_each_other() {
        for heard in ["k7fq-2dm0", " K7FQ 2DMO ", "k7fq2dmo"] {
            assert_eq!(
                exchange(["k7fq-2dm0", heard], [SESSION; 2]),
                (true, true),
                "{heard}"
            );
        }
        assert_eq!(exchange(["blue hill", "B1UE-HI11"], [SESSION; 2]), (true, true));
    }

    #[test]
    fn another_word_or_session_is_refused() {
        assert_eq!(exchange(["k7fq-2dmx", "k7fq-2dmy"], [SESSION; 2]), (false, false));
        assert_eq!(exchange(["k7fq-2dmx"; 2], [SESSION, [8; 32]]), (false, false));
    }

    #[test]
    fn proof_of_the_receiver_is_no_proof_of_the_sender() {
        let word = word("k7fq-2dmx");
        let (_, sent) = Claim::new(&word, SESSION);
        let (challenge, _, proof) = Challenge::new(&word, SESSION, sent).unwrap();
        assert!(!challenge.is_met_by(proof));
    }

    #[test]
    fn messages_that_are_no_points_are_refused() {
        let word = word("k7fq-2dmx");
        for bytes in [[0; MESSAGE], [0xFF; MESSAGE], [b'A'; MESSAGE], [b'B'; MESSAGE]] {
            let (claim, _) = Claim::new(&word, SESSION);
            let accepted = claim.check(Octets(bytes), Octets([0; PROOF]));
            assert_eq!(accepted, None);
        }
        assert!(Challenge::new(&word, SESSION, Octets([0xFF; MESSAGE])).is_none());
        // Its own message, reflected.
        let (claim, sent) = Claim::new(&word, SESSION);
        assert_eq!(claim.check(sent, Octets([0; PROOF])), None);
    }

    #[test]
    fn words_that_are_made_differ_and_are_read_as_written() {
        let (one, other) = (Word::generate().unwrap(), Word::generate().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_eq!(format!("{other:?}"), "Word");
    }

    #[test]
    fn short_and_long_words_are_errors() {
        for text in ["", "12345", "1-2-3-4-5", "  12345  ", &"x".repeat(101)] {
            assert!(text.parse::<Word>().is_err(), "{text}");
        }
        assert!("wörter".parse::<Word>().is_ok());
    }

    #[test]
    fn word_is_spent_after_ten_failures_and_success_costs_none() {
        let guarded = GuardedWord::new(word("k7fq-2dmx"));
        for _ in 0..100 {
            guarded.begin().unwrap().succeeded();
        }
        for _ in 0..MAX_FAILURES {
            assert!(!guarded.is_spent());
            drop(guarded.begin().unwrap());
        }
        assert!(guarded.is_spent() && guarded.begin().is_none());
    }

    #[test]
    fn open_exchanges_are_limited() {
        let guarded = GuardedWord::new(word("k7fq-2dmx"));
        let open: Vec<_> = (0..MAX_OPEN).map(|_| guarded.begin().unwrap()).collect();
        assert!(guarded.begin().is_none() && !guarded.is_spent());
        open.into_iter().for_each(Attempt::succeeded);
        assert!(guarded.begin().is_some());
    }
}
