use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::key::BadKey;
use crate::key::{hex, unhex};
use wf_base::digest::Sha256Digest;

/// The beginning of its text form.
const PREFIX: &str = "passkey:";

/// The DER form of a public key on the curve P-256, before its point.
const DER_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The first byte of a point not compressed, and its length.
const POINT_HEAD: u8 = 4;
const POINT_SIZE: usize = 65;

/// The length of the fixed part of what an authenticator signs, the place of its flags, and two of these: a person was
/// there, and the device recognised that person.
const FIXED_SIZE: usize = 37;
const FLAGS_AT: usize = 32;
const PRESENT_AND_VERIFIED: u8 = 0x01 | 0x04;

/// The public key of a passkey (Web Authentication, level 2, ES256): a device signs with its private key after it
/// recognised its user, and for pages of one host alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    host: String,
    point: [u8; POINT_SIZE],
}

/// The texts a device signs in place of the bytes themselves: each has a digest of the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasskeyAssertion {
    /// The digest of the host, flags and a counter, in base64.
    #[serde(rename = "authenticatorData")]
    pub authenticator_data: String,
    /// The challenge and the page that asked, as JSON, in base64.
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
}

/// The part of the text of a browser that counts; it may have others.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    is_cross_origin: bool,
}

impl Passkey {
    /// True if a text claims to be a passkey.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Reads `passkey:HOST:DIGITS`, with the 65 bytes of the point as digits.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let (host, digits) =
            text.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once(':')).ok_or(BadKey::Passkey)?;
        let is_host = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host) {
            return Err(BadKey::Passkey);
        }
        let point = unhex(digits).and_then(|bytes| <[u8; POINT_SIZE]>::try_from(bytes).ok());
        let point = point.filter(|point| point.first() == Some(&POINT_HEAD)).ok_or(BadKey::Passkey)?;
        Ok(Self { host: host.to_owned(), point })
    }

    /// Returns its text form.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}:{}", self.host, hex(&self.point))
    }

    /// Returns the SHA-256 of its DER form.
    pub fn id(&self) -> Sha256Digest {
        Sha256Digest::of_bytes(&[&DER_HEAD[..], &self.point].concat())
    }

    /// True if its device signed these bytes: for a page of its host, with its user there and recognised.
    pub fn has_signed(&self, bytes: &[u8], signature: &[u8], assertion: &PasskeyAssertion) -> bool {
        let decoded = |text: &String| Base64::decode_vec(text).ok();
        let (Some(authenticator), Some(client)) =
            (decoded(&assertion.authenticator_data), decoded(&assertion.client_data))
        else {
            return false;
        };
        if !self.is_asked_for(&client, bytes) || !self.is_recognised(&authenticator) {
            return false;
        }
        let signed = [authenticator.as_slice(), Sha256Digest::of_bytes(&client).bytes().as_slice()].concat();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, self.point).verify(&signed, signature).is_ok()
    }

    /// True if a page of the host asked for a signature of these bytes.
    fn is_asked_for(&self, client: &[u8], bytes: &[u8]) -> bool {
        let challenge = Base64UrlUnpadded::encode_string(Sha256Digest::of_bytes(bytes).bytes());
        serde_json::from_slice::<ClientData>(client).is_ok_and(|client| {
            client.kind == "webauthn.get"
                && client.challenge == challenge
                && !client.is_cross_origin
                && self.is_own_origin(&client.origin)
        })
    }

    /// True if an origin is the host, or one below it.
    fn is_own_origin(&self, origin: &str) -> bool {
        let place = origin.split_once("://").map_or("", |(_, place)| place);
        let name = place.split_once(':').map_or(place, |(name, _)| name);
        let below = name.strip_suffix(self.host.as_str());
        below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
    }

    /// True if the device signs for the host and recognised its user.
    fn is_recognised(&self, authenticator: &[u8]) -> bool {
        let host = Sha256Digest::of_bytes(self.host.as_bytes());
        let flags = authenticator.get(FLAGS_AT).copied().unwrap_or_default();
        authenticator.len() >= FIXED_SIZE
            && authenticator.starts_with(host.bytes())
            && flags & PRESENT_AND_VERIFIED == PRESENT_AND_VERIFIED
    }
}

#[cfg(test)]
mod tests {
    use super::{Passkey, PasskeyAssertion};
    use crate::{ApproverKey, DsseEnvelope, EnvelopeSignature, Signer};
    use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
    };
    use wf_base::digest::Sha256Digest;

    /// A device with a passkey for `localhost`, as software.
    struct Device(EcdsaKeyPair);

    /// The parts of what it signs that a test changes.
    #[derive(Clone)]
    struct Claim {
        host: &'static str,
        flags: u8,
        kind: &'static str,
        origin: &'static str,
        challenge: Vec<u8>,
        more: &'static str,
    }

    impl Device {
        fn new() -> Self {
            let random = SystemRandom::new();
            let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
            let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random);
            Self(key.unwrap())
        }

        fn passkey(&self, host: &str) -> Passkey {
            let point = crate::hex(self.0.public_key().as_ref());
            Passkey::parse(&format!("passkey:{host}:{point}")).unwrap()
        }

        fn sign(&self, claim: &Claim) -> (Vec<u8>, PasskeyAssertion) {
            let challenge =
                Base64UrlUnpadded::encode_string(Sha256Digest::of_bytes(&claim.challenge).bytes());
            let client = format!(
                r#"{{"type":"{}","challenge":"{challenge}","origin":"{}"{}}}"#,
                claim.kind, claim.origin, claim.more
            );
            let host = Sha256Digest::of_bytes(claim.host.as_bytes());
            let authenticator = [host.bytes().as_slice(), &[claim.flags, 0, 0, 0, 7]].concat();
            let digest = Sha256Digest::of_bytes(client.as_bytes());
            let signed = [authenticator.as_slice(), digest.bytes()].concat();
            let signature = self.0.sign(&SystemRandom::new(), &signed).unwrap();
            let assertion = PasskeyAssertion {
                authenticator_data: Base64::encode_string(&authenticator),
                client_data: Base64::encode_string(client.as_bytes()),
            };
            (signature.as_ref().to_vec(), assertion)
        }
    }

    fn claim() -> Claim {
        Claim {
            host: "localhost",
            flags: 0x05,
            kind: "webauthn.get",
            origin: "http://localhost:8420",
            challenge: b"statement".to_vec(),
            more: r#","crossOrigin":false,"other":{}"#,
        }
    }

    #[test]
    fn a_device_signs_for_its_host_with_its_user_recognised() {
        let device = Device::new();
        let passkey = device.passkey("localhost");
        let holds = |claim: &Claim| {
            let (signature, assertion) = device.sign(claim);
            passkey.has_signed(b"statement", &signature, &assertion)
        };
        assert!(holds(&claim()));
        assert!(holds(&Claim { origin: "https://wf.localhost", ..claim() }));
        for (wrong, because) in [
            (Claim { host: "example.org", ..claim() }, "the device signed for another host"),
            (Claim { flags: 0x01, ..claim() }, "it did not recognise its user"),
            (Claim { flags: 0x04, ..claim() }, "nobody was there"),
            (Claim { kind: "webauthn.create", ..claim() }, "a key was made"),
            (Claim { origin: "http://evillocalhost", ..claim() }, "the page is of another host"),
            (Claim { origin: "localhost", ..claim() }, "the page has no scheme"),
            (Claim { challenge: b"other".to_vec(), ..claim() }, "something else was signed"),
            (Claim { more: r#","crossOrigin":true"#, ..claim() }, "the page was inside another one"),
            (Claim { more: "x", ..claim() }, "the text is no JSON"),
        ] {
            assert!(!holds(&wrong), "{because}");
        }
    }

    #[test]
    fn a_changed_byte_does_not_hold() {
        let device = Device::new();
        let (passkey, other) = (device.passkey("localhost"), Device::new().passkey("localhost"));
        let (signature, assertion) = device.sign(&claim());
        assert!(!other.has_signed(b"statement", &signature, &assertion));
        for at in 0..signature.len() {
            let mut changed = signature.clone();
            changed[at] ^= 1;
            assert!(!passkey.has_signed(b"statement", &changed, &assertion), "{at}");
        }
        let mut counter = Base64::decode_vec(&assertion.authenticator_data).unwrap();
        counter[36] ^= 1;
        let changed =
            PasskeyAssertion { authenticator_data: Base64::encode_string(&counter), ..assertion.clone() };
        assert!(!passkey.has_signed(b"statement", &signature, &changed));
        let short = PasskeyAssertion { authenticator_data: String::new(), ..assertion };
        assert!(!passkey.has_signed(b"statement", &signature, &short));
    }

    #[test]
    fn a_key_makes_signatures_of_its_own_kind_alone() {
        let (device, signer) = (Device::new(), Signer::from_bytes(&[1; 32]));
        let envelope = DsseEnvelope::seal("type", b"text", &signer);
        let signed = envelope.signed().unwrap();
        let (sig, assertion) = device.sign(&Claim { challenge: signed.clone(), ..claim() });
        let passkey = ApproverKey::parse(&device.passkey("localhost").text()).unwrap();
        let by_device = EnvelopeSignature {
            keyid: passkey.id().to_string(),
            sig: Base64::encode_string(&sig),
            passkey: Some(assertion.clone()),
        };
        assert!(passkey.is_passkey() && passkey.has_made(&by_device, &signed));
        let own = ApproverKey::from(signer.public());
        assert!(own.has_made(&envelope.signatures[0], &signed) && !own.is_passkey());
        assert!(!own.has_made(&by_device, &signed) && !passkey.has_made(&envelope.signatures[0], &signed));
        let mixed = EnvelopeSignature { passkey: Some(assertion), ..envelope.signatures[0].clone() };
        assert!(!own.has_made(&mixed, &signed));
        let bare = EnvelopeSignature { passkey: None, ..by_device };
        assert!(!passkey.has_made(&bare, &signed));
    }

    #[test]
    fn its_text_has_one_form() {
        let text = Device::new().passkey("wf.example.org").text();
        assert_eq!(Passkey::parse(&text).unwrap().text(), text);
        let digits = "04".to_owned() + &"0".repeat(128);
        for wrong in ["passkey:", "passkey:localhost", "passkey::04", "passkey:A:04", "localhost:04"] {
            assert!(Passkey::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Passkey::parse(&format!("passkey:a b:{digits}")).is_err());
        assert!(Passkey::parse(&format!("passkey:a:{}", digits.replacen("04", "02", 1))).is_err());
        assert!(Passkey::parse(&format!("passkey:a:{digits}")).is_ok());
    }
}
