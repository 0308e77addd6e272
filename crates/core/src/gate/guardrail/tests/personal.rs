use crate::gate::guardrail::{COUNTRIES, find};

fn found(detector: &str, text: &str) -> Vec<String> {
    let findings = find(&[detector.to_owned()], text).into_iter();
    findings.map(|finding| text[finding.range].to_owned()).collect()
}

#[test]
fn addresses_of_people() {
    for (text, address) in [
        ("Write to ada@lovelace.io.", "ada@lovelace.io"),
        ("<ada.l+x@mail.lovelace.co.uk>", "ada.l+x@mail.lovelace.co.uk"),
        ("mailto:o'neil@bücher.de", "o'neil@bücher.de"),
        ("(x_y@a-b.org)", "x_y@a-b.org"),
        ("é.ü@xn--bcher-kva.xn--p1ai", "é.ü@xn--bcher-kva.xn--p1ai"),
    ] {
        assert_eq!(found("email", text), [address]);
    }
    assert_eq!(found("email", "a@b.cc,d@e.ff;g@h.ii").len(), 3);
    for text in [
        "@ada",
        "ada@",
        "ada@localhost",
        "ada@host",
        "someone@example.com",
        "x@y.test",
        "git@github.com:owner/repository.git",
        "https://ada@host.com/",
        "https://a:b@host.com/",
        "icon@2x.png",
        "react@18.2.0",
        "user@1.2.3.4",
        "a..b@c.de",
        "@app.route",
        "getty@tty1.service",
        "a@-b.de",
        "a@b-.de",
    ] {
        assert_eq!(found("email", text), [""; 0], "{text}");
    }
}

#[test]
fn numbers_of_cards() {
    // Numbers that the brands publish for tests.
    for number in [
        "4111111111111111",
        "4222222222222",
        "5555555555554444",
        "2223003122003222",
        "378282246310005",
        "6011111111111117",
        "3530111333300000",
        "30569309025904",
        "6200000000000005",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "3782 822463 10005",
    ] {
        assert_eq!(found("card", &format!("card: {number}.")), [number]);
        assert_eq!(found("card", &format!("x{number}")), [""; 0]);
        assert_eq!(found("card", &format!("0.{number}")), [""; 0]);
        let last = number.chars().next_back().unwrap().to_digit(10).unwrap();
        let wrong = format!("{}{}", &number[..number.len() - 1], (last + 1) % 10);
        assert_eq!(found("card", &wrong), [""; 0], "{wrong}");
    }
    let with_more = "4111 1111 1111 1111 123 and 5555 5555 5555 4444";
    assert_eq!(found("card", with_more).len(), 2);
    assert_eq!(found("card", "2024 4111 1111 1111 1111").len(), 1);
    for text in [
        "1111111111111117",
        "0000000000000000",
        "1700000000000",
        "41111111 11111111",
        "4111-1111 1111-1111",
        "123e4567-e89b-12d3-a456-426614174000",
        "4111111111111111.5",
    ] {
        assert_eq!(found("card", text), [""; 0], "{text}");
    }
}

#[test]
fn numbers_of_accounts() {
    // Numbers of the registry of ISO 13616.
    for number in [
        "DE89370400440532013000",
        "GB29NWBK60161331926819",
        "FR1420041010050500013M02606",
        "NO9386011117947",
        "CH9300762011623852957",
        "MT84MALT011000012345MTLCAST001S",
        "DE89 3704 0044 0532 0130 00",
        "GB29 NWBK 6016 1331 9268 19",
    ] {
        assert_eq!(found("iban", &format!("to {number}, today")), [number]);
        assert_eq!(found("iban", &format!("x{number}")), [""; 0]);
        assert_eq!(found("iban", &format!("{number}1")), [""; 0]);
    }
    for text in [
        "DE88370400440532013000",
        "DE8937040044053201300",
        "XX89370400440532013000",
        "DE8 9370400440532013000",
        "DE89-3704-0044-0532-0130-00",
    ] {
        assert_eq!(found("iban", text), [""; 0], "{text}");
    }
    assert!(COUNTRIES.is_sorted() && COUNTRIES.iter().all(|(_, long)| (15..=34).contains(long)));
}
