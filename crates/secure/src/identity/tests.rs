//! Known answers of key pairs and their text form.

use super::{KeyParseError, PrivateKey, PublicKey};

fn bytes(hex: &str) -> [u8; 32] {
    let byte = |index: usize| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap();
    std::array::from_fn(byte)
}

#[test]
fn public_key_is_that_of_rfc_8032_7_1() {
    let private = PrivateKey::from(bytes(
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    ));
    let public = bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    assert_eq!(private.public_key(), PublicKey::from(public));
}

#[test]
fn text_is_base64_and_read_back() {
    let key = PublicKey::from(std::array::from_fn(|index| index as u8));
    assert_eq!(key.to_string(), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    assert_eq!(key.to_string().parse(), Ok(key));
    for _ in 0..50 {
        let private = PrivateKey::generate().unwrap();
        let read: PrivateKey = private.to_base64().parse().unwrap();
        assert_eq!(read.public_key(), private.public_key());
    }
}

#[test]
fn texts_that_no_key_has_are_rejected() {
    let text = PublicKey::from([255; 32]).to_string();
    assert_eq!(text[..43].parse::<PublicKey>(), Err(KeyParseError::Length(43)));
    let mut other = text.clone();
    other.replace_range(7..8, "-");
    assert_eq!(other.parse::<PublicKey>(), Err(KeyParseError::Character(7)));
    let mut other = text.clone();
    other.replace_range(43.., "A");
    assert_eq!(other.parse::<PublicKey>(), Err(KeyParseError::Character(43)));
    // The last digit has two bits that belong to no byte.
    let mut other = text;
    other.replace_range(42..43, "9");
    assert_eq!(other.parse::<PublicKey>(), Err(KeyParseError::Character(42)));
}

#[test]
fn debug_output_does_not_contain_the_private_key() {
    let private = PrivateKey::generate().unwrap();
    assert!(!format!("{private:?}").contains(&private.to_base64()));
}
