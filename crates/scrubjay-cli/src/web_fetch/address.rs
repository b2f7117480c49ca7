//! Which addresses on a network may be fetched: public ones, decided on the number that is really connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address lies on the public internet. Private networks, this machine, neighbours and the metadata services of
/// clouds do not.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        _ if is_metadata(address) => false,
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Whether a cloud tells a machine its own keys and settings at this address: refused also where private ones are allowed.
pub(super) fn is_metadata(address: IpAddr) -> bool {
    scrubjay_providers::is_metadata_address(address)
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation();
    let reserved = match address.octets() {
        [0, ..] | [240..=255, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        [192, 0, 0, _] | [192, 88, 99, _] => true,
        [198, 18 | 19, ..] => true,
        _ => false,
    };
    !special && !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = scrubjay_providers::carried_v4(address) {
        return is_public(IpAddr::V4(inner));
    }
    // Only this eighth of the space is handed out; loopback, unique-local, link-local and multicast lie outside it.
    let [first, second, ..] = address.segments();
    let global = first & 0xe000 == 0x2000;
    let teredo_or_special = first == 0x2001 && second < 0x0200;
    let documentation = (first == 0x2001 && second == 0x0db8) || first == 0x3fff;
    global && !teredo_or_special && !documentation
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X3
    #[test]
    fn only_public_addresses_are_public() {
        for (address, public) in [
            ("93.184.216.34", true),
            ("8.8.8.8", true),
            ("127.0.0.1", false),
            ("127.8.8.8", false),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.128.0.1", true),
            ("198.18.0.1", false),
            ("192.0.0.8", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:2800:220:1::1", true),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("fd00:ec2::254", false),
            ("ff02::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::a00:1", false),
            ("64:ff9b::808:808", true),
            ("2002:7f00:1::", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("168.63.129.16", false),
            ("100.100.100.200", false),
            ("192.0.0.192", false),
            ("192.88.99.1", false),
            ("fd20:ce::254", false),
            ("::ffff:168.63.129.16", false),
            ("::ffff:a83f:8110", false),
            ("::a9fe:a9fe", false),
            ("64:ff9b::a83f:8110", false),
            ("64:ff9b:1::a9fe:a9fe", false),
            ("2002:a9fe:a9fe::1", false),
            ("2002:a83f:8110::1", false),
            ("2606:2800:220:1::5efe:a9fe:a9fe", false),
            ("2606:2800:220:1:0:5efe:808:808", true),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }
}
