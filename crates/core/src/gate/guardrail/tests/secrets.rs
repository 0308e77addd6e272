use crate::gate::guardrail::{TOKENS, find};

fn found(text: &str) -> Vec<(&'static str, String)> {
    let findings = find(&["secrets".to_owned()], text).into_iter();
    findings.map(|finding| (finding.kind, text[finding.range].to_owned())).collect()
}

/// Returns a random text, the same every time.
fn random(alphabet: &str, long: usize) -> String {
    let signs: Vec<char> = alphabet.chars().collect();
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % signs.len() as u64).unwrap()
    };
    (0..long).map(|_| signs[next()]).collect()
}

fn letters(long: usize) -> String {
    random("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", long)
}

fn hex(long: usize) -> String {
    random("0123456789abcdef", long)
}

#[test]
fn tokens_are_known_by_their_format() {
    let upper = random("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 60);
    let key = |long: usize| upper[..long].to_owned();
    let small = random("abcdefghijklmnopqrstuvwxyz", 34);
    for (what, token) in [
        ("an AWS access key", format!("AKIA{}", key(16))),
        ("an Azure storage key", format!("AccountKey={}==", letters(86))),
        ("a Google API key", format!("AIza{}", letters(35))),
        ("a Google OAuth secret", format!("GOCSPX-{}", letters(28))),
        ("a DigitalOcean token", format!("dop_v1_{}", hex(64))),
        ("a GitHub token", format!("github_pat_{}_{}", letters(22), letters(59))),
        ("a GitLab token", format!("glpat-{}", letters(20))),
        ("a PyPI token", format!("pypi-AgE{}", letters(60))),
        ("a Slack token", format!("xoxb-{}", letters(40))),
        ("a Slack webhook", format!("hooks.slack.com/services/T{}/B{}/{}", key(8), key(8), letters(24))),
        ("a Telegram token", format!("8123406579:AA{}", letters(33))),
        ("a Stripe key", format!("sk_live_{}", letters(24))),
        ("a Shopify token", format!("shpat_{}", hex(32))),
        ("a SendGrid key", format!("SG.{}.{}", letters(22), letters(43))),
        ("a Twilio key", format!("SK{}", hex(32))),
        ("an Anthropic key", format!("sk-ant-api03-{}", letters(93))),
        ("an OpenAI key", format!("sk-proj-{}T3BlbkFJ{}", letters(40), letters(40))),
        ("a Hugging Face token", format!("hf_{small}")),
        ("a HashiCorp Vault token", format!("hvs.{}", letters(30))),
        ("a JSON web token", format!("eyJ{}.eyJ{}.{}", letters(20), letters(40), letters(43))),
    ] {
        let text = format!("It is {token}, they say");
        assert_eq!(found(&text), [(what, token.clone())]);
        if !token.contains('=') {
            assert_eq!(found(&format!("x{token}")), [], "{what} inside of a word");
            let shorter = &token[..token.len() / 2];
            assert_eq!(found(shorter), [], "{what} that is too short");
        }
    }
    assert_eq!(found(&format!("AKIA{}", key(17))), []);
    assert_eq!(found("AKIAIOSFODNN7EXAMPLE"), []);
    assert_eq!(found(&format!("sk_live_{}", "x".repeat(24))), []);
}

#[test]
fn check_values_must_be_right() {
    // Published in the description of the format; it opens nothing.
    let (random, check) = ("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17");
    for prefix in ["gh", "np"] {
        let prefix = if prefix == "gh" { "ghp_" } else { "npm_" };
        assert_eq!(found(&format!("{prefix}{random}{check}")).len(), 1);
        assert_eq!(found(&format!("{prefix}{random}0mLq18")), []);
        assert_eq!(found(&format!("{prefix}A{}{check}", &random[1..])), []);
    }
}

#[test]
fn every_shape_is_a_regular_expression() {
    for token in TOKENS {
        assert!(regex::Regex::new(token.pattern).is_ok(), "{}", token.description);
    }
    for marker in crate::gate::guardrail::MARKERS {
        assert!(regex::Regex::new(marker.pattern).is_ok(), "{}", marker.pattern);
    }
}

#[test]
fn private_keys_are_found_whole() {
    let body = format!("{}\n{}\n", letters(64), letters(40));
    for label in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let dashes = "-".repeat(5);
        let key =
            format!("{dashes}BEGIN {label}PRIVATE KEY{dashes}\n{body}{dashes}END {label}PRIVATE KEY{dashes}");
        assert_eq!(found(&format!("a\n{key}\nb")), [("a private key", key.clone())]);
        let escaped = key.replace('\n', "\\n");
        assert_eq!(found(&format!("\"{escaped}\"")).len(), 1, "{label}");
        assert_eq!(found(&key.replace("PRIVATE", "PUBLIC")), []);
        assert_eq!(found(&format!("A file begins with {dashes}BEGIN {label}PRIVATE KEY{dashes}.")), []);
    }
    let dashes = "-".repeat(5);
    let old = format!(
        "{dashes}BEGIN RSA PRIVATE KEY{dashes}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{body}"
    );
    assert_eq!(found(&old), [("a private key", old.clone())]);
}

#[test]
fn random_values_that_are_assigned_to_telling_names() {
    let value = letters(24);
    for text in [
        format!("API_KEY={value}"),
        format!("password: \"{value}\""),
        format!("'client-secret' => '{value}'"),
        format!("export DB_PASSWORD_PROD='{value}'"),
        format!("{{\"access_token\": \"{value}\"}}"),
        format!("let auth_token := `{value}`"),
        format!("Authorization: Bearer {value}"),
        format!("\\\"secret\\\": \\\"{value}\\\""),
    ] {
        assert_eq!(found(&text), [("an assigned secret", value.clone())], "{text}");
    }
    assert_eq!(found(&format!("token = {}", hex(40))).len(), 1);
    for text in [
        format!("name = {value}"),
        format!("the token {value}"),
        "password = correct_horse_battery_staple".into(),
        "token: ${{ secrets.DEPLOY_TOKEN_2 }}".into(),
        "token = self.tokenizer.next_token_or_2(text)".into(),
        "secretName: projects/app-12/secrets/db-3/versions/latest".into(),
        "api_key: your-api-key-1a2b3c4d5e6f7a8b".into(),
        "access_key = accessKeyThatExpiresIn24Hours".into(),
        "token: sha256-q8R2mL0pZ5t7vK1xY3wB6nC9dF4gH2jJ".into(),
        format!("token: {}", "1234567890".repeat(3)),
    ] {
        assert_eq!(found(&text), [], "{text}");
    }
}

#[test]
fn passwords_in_addresses() {
    let text = "postgres://ada:s3cr3t-Qx7@db.internal:5432/app";
    assert_eq!(found(text), [("a password in an address", "s3cr3t-Qx7".into())]);
    for text in [
        "https://user:password@host/",
        "https://ada@host/",
        "https://host:8080/@x",
        "redis://:${REDIS_PASSWORD}@host",
        "amqp://guest:guest@localhost",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn the_address_of_a_contract_is_no_secret() {
    let digits = "7a250d5630b4cf539739df2c5dacb4c659f2488d";
    for name in ["token", "TOKEN_ADDRESS", "access_key"] {
        assert_eq!(found(&format!("{name} = \"0x{digits}\"")), [], "{name}");
    }
    let key = format!("0x{digits}{}", &digits[..24]);
    assert_eq!(found(&format!("private_key = \"{key}\"")).len(), 1);
}
