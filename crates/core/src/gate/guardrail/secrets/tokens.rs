use std::sync::LazyLock;

use regex::Regex;

use super::random::is_placeholder;
use crate::gate::guardrail::detector::DetectorMatch;

/// A kind of token with a known form.
pub struct SecretTokenKind {
    /// The description, with the issuer.
    pub description: &'static str,
    /// The form: a regular expression.
    pub pattern: &'static str,
    /// True if its last six characters must be the CRC-32 of the part after its prefix, in base 62.
    pub has_checksum: bool,
}

const fn token(description: &'static str, pattern: &'static str) -> SecretTokenKind {
    SecretTokenKind { description, pattern, has_checksum: false }
}

const fn checked(description: &'static str, pattern: &'static str) -> SecretTokenKind {
    SecretTokenKind { description, pattern, has_checksum: true }
}

/// The tokens, by the formats their issuers have published.
pub const TOKENS: &[SecretTokenKind] = &[
    token("an AWS access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    token("an Azure storage key", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    token("an Azure client secret", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    token("a Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    token("a Google OAuth secret", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    token("a Google access token", r"ya29\.[A-Za-z0-9_-]{20,}"),
    token("a DigitalOcean token", r"do[opr]_v1_[a-f0-9]{64}"),
    token("a Heroku key", r"HRKU-[A-Za-z0-9_-]{36,}"),
    token("a Databricks token", r"dapi[a-f0-9]{32}"),
    checked("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{36}"),
    token("a GitHub token", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    token("a GitLab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_.-]{20,}"),
    token("an Atlassian token", r"ATATT3[A-Za-z0-9_=-]{100,}"),
    checked("an npm token", r"npm_[A-Za-z0-9]{36}"),
    token("a PyPI token", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    token("a crates.io token", r"cio[A-Za-z0-9]{32}"),
    token("a RubyGems key", r"rubygems_[a-f0-9]{48}"),
    token("a Docker token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,32}"),
    token("a Slack token", r"xox[abeoprs]-[0-9A-Za-z-]{20,}"),
    token("a Slack token", r"xapp-[0-9]-[A-Z0-9]{5,20}-[0-9]{5,20}-[a-z0-9]{20,}"),
    token("a Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{40,}"),
    token("a Discord token", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"),
    token("a Discord webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,}"),
    token("a Telegram token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    token("a Stripe key", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    token("a Stripe webhook secret", r"whsec_[A-Za-z0-9+/=]{32,}"),
    token("a Square token", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}"),
    token("a Braintree token", r"access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    token("a Shopify token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    token("a SendGrid key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    token("a Mailgun key", r"key-[0-9a-f]{32}"),
    token("a Mailchimp key", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    token("a Twilio key", r"SK[0-9a-f]{32}"),
    token("an Anthropic key", r"sk-ant-[a-z]{2,10}[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    token("an OpenAI key", r"sk-[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}"),
    token("a Hugging Face token", r"hf_[A-Za-z]{34}"),
    token("a HashiCorp Vault token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    token("a Terraform token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    token("a Grafana token", r"gl(?:sa|c)_[A-Za-z0-9+/=]{32,}(?:_[a-f0-9]{8})?"),
    token("a Linear key", r"lin_api_[A-Za-z0-9]{40}"),
    token("a Notion token", r"ntn_[A-Za-z0-9]{40,}"),
    token("a New Relic key", r"NRAK-[A-Z0-9]{27}"),
    token("a Sentry token", r"sntry[su]_[A-Za-z0-9_+/=]{50,}"),
    token("an age key", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    token("a JSON web token", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
];

/// One regular expression for each: a combined one could be made to scan a text again and again.
static SHAPES: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    let shape = |token: &SecretTokenKind| Regex::new(&format!(r"(?-u:\b)(?:{})", token.pattern)).ok();
    TOKENS.iter().map(shape).collect()
});

/// Finds tokens.
pub(super) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    for (token, shape) in TOKENS.iter().zip(SHAPES.iter()) {
        for seen in shape.iter().flat_map(|shape| shape.find_iter(text)) {
            let next = text.get(seen.end()..).and_then(|rest| rest.chars().next());
            let goes_on = next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            let is_right = !token.has_checksum || has_check(seen.as_str());
            if !goes_on && is_right && !is_placeholder(seen.as_str()) {
                found.push((token.description, seen.range()));
            }
        }
    }
}

/// True if a token ends with the check value of its random part.
fn has_check(token: &str) -> bool {
    let Some((_, body)) = token.split_once('_') else {
        return false;
    };
    let Some((random, check)) = body.split_at_checked(30) else {
        return false;
    };
    base62(crc32(random.as_bytes())) == check
}

/// Returns the CRC-32 (ISO 3309).
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let low = crc & 1;
            crc >>= 1;
            if low == 1 {
                crc ^= 0xEDB8_8320;
            }
        }
    }
    !crc
}

/// Formats a number with the digits `0-9A-Za-z`, six of them.
fn base62(mut number: u32) -> String {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = *DIGITS.get((number % 62) as usize).unwrap_or(&b'0');
        number /= 62;
    }
    String::from_utf8_lossy(&digits).into_owned()
}
