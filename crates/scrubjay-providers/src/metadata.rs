//! Where clouds tell a machine about itself, its keys included. Nothing of ours has any business there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Metadata services and wire servers that lie outside of the ranges below.
const V4: &[[u8; 4]] = &[
    // Alibaba
    [100, 100, 100, 200],
    // Azure's wire server
    [168, 63, 129, 16],
    // Oracle
    [192, 0, 0, 192],
    // Equinix Metal
    [192, 80, 8, 124],
];

/// Amazon, Google, and the mapping of either.
const V6: &[[u16; 8]] = &[[0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254], [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254]];

/// Names under which they are found inside of a cloud.
const NAMES: &[&str] = &[
    "metadata",
    "instance-data",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data.ec2.internal",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
    "metadata.packet.net",
];

/// Whether a metadata service or a wire server of a cloud answers at this address, however it is carried.
pub fn is_metadata_address(address: IpAddr) -> bool {
    match address {
        // All of the link-local range: clouds use more than one address of it.
        IpAddr::V4(address) => address.is_link_local() || V4.contains(&address.octets()),
        IpAddr::V6(address) => {
            let carried = || carried_v4(address).is_some_and(|inner| is_metadata_address(IpAddr::V4(inner)));
            V6.contains(&address.segments()) || carried()
        }
    }
}

/// Whether one of them is known by this name. A dot at the end and capitals change nothing.
pub fn is_metadata_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    NAMES.contains(&host.as_str())
}

/// The IPv4 address inside a mapped, compatible, translated (NAT64) or tunnelled (6to4, ISATAP) one.
pub fn carried_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let joined = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0xffff, 0] | [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, ..] => Some(joined(g, h)),
        // The loopback address and the one that means none are not meant.
        [0, 0, 0, 0, 0, 0] if g > 0 => Some(joined(g, h)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        [.., 0 | 0x0200, 0x5efe] => Some(joined(g, h)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X3
    #[test]
    fn metadata_services_are_known_in_every_spelling() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "169.254.0.23",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "192.80.8.124",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "::ffff:0:a9fe:a9fe",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::169.254.169.254",
            "2002:a9fe:a9fe::",
            "2001:470:1:2:0:5efe:169.254.169.254",
            "fe80::5efe:168.63.129.16",
        ] {
            assert!(is_metadata_address(address.parse().unwrap()), "{address}");
        }
        for address in ["127.0.0.1", "10.0.0.1", "8.8.8.8", "168.63.129.17", "::1", "::", "2606:4700::1111", "fd00::1"]
        {
            assert!(!is_metadata_address(address.parse().unwrap()), "{address}");
        }
        for name in ["metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data"] {
            assert!(is_metadata_name(name), "{name}");
        }
        assert!(!is_metadata_name("metadata.example.com") && !is_metadata_name("docs.google.com"));
    }
}
