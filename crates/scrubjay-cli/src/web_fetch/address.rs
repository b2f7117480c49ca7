//! Which addresses on a network may be fetched: public ones, decided on the number that is really connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address lies on the public internet. Private networks, this machine, neighbours and the metadata services of
/// clouds do not.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
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
        [192, 0, 0, _] => true,
        [198, 18 | 19, ..] => true,
        _ => false,
    };
    !special && !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = carried_v4(address) {
        return is_public_v4(inner);
    }
    // Only this eighth of the space is handed out; loopback, unique-local, link-local and multicast lie outside it.
    let [first, second, ..] = address.segments();
    let global = first & 0xe000 == 0x2000;
    let teredo_or_special = first == 0x2001 && second < 0x0200;
    let documentation = (first == 0x2001 && second == 0x0db8) || first == 0x3fff;
    global && !teredo_or_special && !documentation
}

/// The IPv4 address inside a mapped, translated (NAT64) or tunnelled (6to4) one.
fn carried_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let joined = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(joined(g, h)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
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
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }
}
