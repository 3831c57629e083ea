//! Claims about which addresses are within reach.

mod names;

use super::*;

fn reach(rules: &[&str]) -> Reach {
    Reach::public(rules.iter().map(|rule| rule.parse::<Rule>().unwrap()))
}

fn admits(reach: &Reach, url: &str) -> bool {
    reach.check_url(&Url::parse(url).unwrap()).is_ok()
}

#[test]
fn every_spelling_of_this_machine_is_out_of_reach() {
    let public = reach(&[]);
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "127%2e0%2e0%2e1",
        "127.0.0.1.",
        "user@127.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
        "LOCALHOST.",
        "ｌｏｃａｌｈｏｓｔ",
        "loc\u{ad}alhost",
        "api.localhost",
    ] {
        assert!(!admits(&public, &format!("http://{host}/")), "{host}");
    }
}

#[test]
fn what_is_not_public_is_out_of_reach() {
    let public = reach(&[]);
    for host in [
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "[64:ff9b:1::1]",
        "[64:ff9b::a00:1]",
        "[100::1]",
        "[2001::1]",
        "[2001:db8::1]",
        "[2002:c0a8:1::]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[::ffff:10.0.0.1]",
    ] {
        assert!(!admits(&public, &format!("http://{host}/")), "{host}");
    }
}

#[test]
fn what_is_public_is_within_reach() {
    let public = reach(&[]);
    for host in [
        "8.8.8.8",
        "1.1.1.1",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "[2606:4700::1111]",
        "[::ffff:8.8.8.8]",
        "[64:ff9b::808:808]",
        "example.com",
        "localhost.example.com",
    ] {
        assert!(admits(&public, &format!("http://{host}/")), "{host}");
    }
}

#[test]
fn ranges_that_are_not_public_end_exactly_where_they_should() {
    let public = reach(&[]);
    for (first, last, beside) in [
        ("0.0.0.0", "0.255.255.255", vec!["1.0.0.0"]),
        ("10.0.0.0", "10.255.255.255", vec!["9.255.255.255", "11.0.0.0"]),
        ("100.64.0.0", "100.127.255.255", vec!["100.63.255.255", "100.128.0.0"]),
        ("127.0.0.0", "127.255.255.255", vec!["126.255.255.255", "128.0.0.0"]),
        ("169.254.0.0", "169.254.255.255", vec!["169.253.255.255", "169.255.0.0"]),
        ("172.16.0.0", "172.31.255.255", vec!["172.15.255.255", "172.32.0.0"]),
        ("192.0.0.0", "192.0.0.255", vec!["191.255.255.255", "192.0.1.0"]),
        ("192.0.2.0", "192.0.2.255", vec!["192.0.1.255", "192.0.3.0"]),
        ("192.88.99.0", "192.88.99.255", vec!["192.88.98.255", "192.88.100.0"]),
        ("192.168.0.0", "192.168.255.255", vec!["192.167.255.255", "192.169.0.0"]),
        ("198.18.0.0", "198.19.255.255", vec!["198.17.255.255", "198.20.0.0"]),
        ("198.51.100.0", "198.51.100.255", vec!["198.51.99.255", "198.51.101.0"]),
        ("203.0.113.0", "203.0.113.255", vec!["203.0.112.255", "203.0.114.0"]),
        ("224.0.0.0", "255.255.255.255", vec!["223.255.255.255"]),
        // What lies beside these was never given to anyone, so it is not asked about.
        ("::", "::ffff:ffff", vec![]),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", vec![]),
        ("100::", "100::ffff:ffff:ffff:ffff", vec![]),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", vec!["2001:200::"]),
        (
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            vec!["2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
        ),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", vec![]),
        ("fe80::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", vec![]),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", vec![]),
    ] {
        let check = |text: &str| public.check("host", text.parse().unwrap(), 80);
        assert!(check(first).is_err() && check(last).is_err(), "{first} to {last}");
        for address in beside {
            assert!(check(address).is_ok(), "{address} beside {first} to {last}");
        }
    }
}

#[test]
fn an_operator_may_allow_hosts_and_networks() {
    let some = reach(&["10.0.0.0/8", "192.168.7.9", "Billing.Internal.", "fd12::/16"]);
    assert!(admits(&some, "http://10.200.0.1/") && admits(&some, "http://[::ffff:10.0.0.1]/"));
    assert!(admits(&some, "http://192.168.7.9/") && !admits(&some, "http://192.168.7.8/"));
    assert!(admits(&some, "http://[fd12::1]/") && !admits(&some, "http://[fd13::1]/"));
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    assert!(some.check("billing.internal", loopback, 80).is_ok());
    assert!(some.check("BILLING.internal.", loopback, 80).is_ok());
    for other in ["evil-billing.internal", "billing.internal.evil.example", "x.billing.internal"] {
        assert!(some.check(other, loopback, 80).is_err(), "{other}");
    }
    assert!(admits(&reach(&["localhost"]), "http://localhost:8080/"));
}

#[test]
fn an_address_is_allowed_in_each_of_its_spellings() {
    for spelling in ["10.1.2.3", "::ffff:10.1.2.3", "[::ffff:10.1.2.3]", "64:ff9b::a01:203"] {
        let allowed = reach(&[spelling]);
        assert!(admits(&allowed, "http://10.1.2.3/"), "{spelling}");
        assert!(admits(&allowed, "http://[::ffff:10.1.2.3]/"), "{spelling}");
        assert!(!admits(&allowed, "http://10.1.2.4/"), "{spelling}");
    }
}

#[test]
fn credentials_of_the_cloud_are_given_out_only_by_name() {
    let metadata = "http://169.254.169.254/latest/meta-data";
    assert!(!admits(&reach(&["169.254.0.0/16", "0.0.0.0/0"]), metadata));
    assert!(!admits(&reach(&["0.0.0.0/0"]), "http://[::ffff:169.254.169.254]/"));
    let address = Ipv4Addr::new(169, 254, 169, 254).into();
    assert!(
        reach(&["metadata.google.internal"])
            .check("metadata.google.internal", address, 80)
            .is_err()
    );
    assert!(admits(&reach(&["169.254.169.254"]), metadata));
    let name = "http://Metadata.Google.Internal./computeMetadata/v1/";
    assert!(!admits(&reach(&["0.0.0.0/0", "metadata.google.internal"]), name));
    assert!(admits(&reach(&["169.254.169.254"]), name));
    assert!(!admits(&reach(&["::/0"]), "http://[fd00:ec2::254]/"));
    assert!(admits(&Reach::everything(), metadata), "a program knows what it does");
}

#[test]
fn no_network_is_wide_enough_to_hold_a_metadata_service() {
    let everywhere = ["0.0.0.0/0", "::/0"];
    for (address, network) in [
        ("169.254.169.254", "169.254.169.254/31"),
        ("169.254.170.2", "169.254.0.0/16"),
        ("100.100.100.200", "100.64.0.0/10"),
        ("192.0.0.192", "192.0.0.0/24"),
        ("fd00:ec2::254", "fd00:ec2::/32"),
    ] {
        let ip: IpAddr = address.parse().unwrap();
        let host = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
        let url = format!("http://{host}/latest/meta-data");
        for rules in [&everywhere[..], &[network], &["credentials.internal"]] {
            let some = reach(rules);
            assert!(!admits(&some, &url), "{address} within {rules:?}");
            let by_name = some.check("credentials.internal", ip, 80);
            assert!(by_name.is_err(), "{address} by a name within {rules:?}");
        }
        let listed = reach(&[address]);
        assert!(admits(&listed, &url), "{address} itself");
        assert!(listed.check("credentials.internal", ip, 80).is_ok(), "{address} by a name");
    }
    for name in
        ["metadata.google.internal", "METADATA.google.internal.", "ｍetadata.google.internal"]
    {
        let url = format!("http://{name}/computeMetadata/v1/");
        assert!(!admits(&reach(&everywhere), &url), "{name}");
        assert!(admits(&reach(&["169.254.169.254"]), &url), "{name}");
    }
}

#[test]
fn what_is_no_rule_is_refused_with_what_would_be_one() {
    for text in ["", "10.0.0.0/33", "http://x", "a b", "x/y", "300.1.1.1"] {
        let refused = text.parse::<Rule>().unwrap_err();
        assert!(refused.contains("billing.internal"), "{text:?}: {refused}");
    }
    assert_eq!("[::1]".parse(), Ok(Rule::Net("::1/128".parse().unwrap())));
}

#[test]
fn a_rule_is_written_as_it_is_read() {
    for (given, written) in [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("[::1]", "::1"),
        ("127.0.0.1/32", "127.0.0.1"),
        ("Billing.Internal.", "billing.internal"),
    ] {
        let rule: Rule = given.parse().unwrap();
        assert_eq!(rule.to_string(), written);
        assert_eq!(written.parse(), Ok(rule));
    }
}

fn denying(rules: &[&str], denied: &[&str]) -> Reach {
    reach(rules).without(denied.iter().map(|denied| denied.parse().unwrap()))
}

#[test]
fn what_is_denied_is_out_of_reach_whoever_allows_it() {
    let some = denying(
        &["127.0.0.0/8", "::1", "db.internal", "10.0.0.0/8"],
        &[
            "127.0.0.1:5432",
            "[::1]:5432",
            "db.internal:5432",
            "10.9.0.0/16",
            ":25",
            "chronos.example",
        ],
    );
    for url in [
        "http://127.0.0.1:5432/",
        "http://0177.1:5432/",
        "http://[::ffff:127.0.0.1]:5432/",
        "http://[::1]:5432/",
        "http://DB.internal.:5432/",
        "http://10.9.1.1/",
        "http://example.com:25/",
        "https://chronos.example/jobs",
        "https://Chronos.Example.:8443/jobs",
    ] {
        let refused = some.check_url(&Url::parse(url).unwrap()).unwrap_err();
        assert!(refused.denied, "{url}");
        assert!(refused.to_string().ends_with("are denied here"), "{refused}");
    }
    for url in [
        "http://127.0.0.1:5433/",
        "http://db.internal/",
        "http://10.8.1.1/",
        "http://example.com:2525/",
        "https://other.chronos.example/",
    ] {
        assert!(admits(&some, url), "{url}");
    }
    let found = Ipv4Addr::LOCALHOST.into();
    assert!(some.check("innocent.example", found, 5_432).unwrap_err().denied, "by its address");
    assert!(!some.check("innocent.example", found, 5_433).is_err_and(|refused| refused.denied));
    let program = Reach::everything().without([":25".parse().unwrap()]);
    assert!(!admits(&program, "http://127.0.0.1:25/") && admits(&program, "http://127.0.0.1/"));
}

#[test]
fn what_listens_here_is_out_of_reach_at_its_port_alone() {
    for (listener, reached, others) in [
        (
            "127.0.0.1:8080",
            vec!["127.0.0.1", "0.0.0.0", "[::ffff:7f00:1]", "[::]"],
            vec!["127.0.0.2"],
        ),
        ("10.0.0.5:8080", vec!["10.0.0.5"], vec!["10.0.0.6", "127.0.0.1"]),
        (
            "0.0.0.0:8080",
            vec!["127.0.0.1", "127.9.9.9", "0.0.0.0", "[::1]", "[::]"],
            vec!["10.0.0.5"],
        ),
        ("[::]:8080", vec!["127.0.0.1", "[::1]", "[::]"], vec!["10.0.0.5"]),
    ] {
        let listener = listener.parse().unwrap();
        let all = Reach::everything().without(Denied::listener(listener));
        for host in reached {
            assert!(!admits(&all, &format!("http://{host}:8080/")), "{listener} at {host}");
            assert!(admits(&all, &format!("http://{host}:8081/")), "{listener} beside {host}");
        }
        for host in others {
            assert!(admits(&all, &format!("http://{host}:8080/")), "{listener} not at {host}");
        }
    }
}

#[test]
fn what_is_denied_is_written_as_it_is_read() {
    for (given, written) in [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("10.1.2.3/8:80", "10.0.0.0/8:80"),
        ("[::1]:5432", "[::1]:5432"),
        ("::1", "::1"),
        ("Db.Internal.:5432", "db.internal:5432"),
        (":25", ":25"),
    ] {
        let denied: Denied = given.parse().unwrap();
        assert_eq!(denied.to_string(), written);
        assert_eq!(written.parse(), Ok(denied));
    }
    for text in ["", ":", ":0", ":65536", "a b", "x:y", "http://x", "db.internal:0"] {
        let refused = text.parse::<Denied>().unwrap_err();
        assert!(refused.contains("billing.internal:5432"), "{text:?}: {refused}");
    }
}
