"""Attempts to reach what may not be reached, through a server with ALLOW."""

import dataclasses

LISTED = ("api.example.org", "many.example.org", "*.sub.example.org", "private.example.org", "mixed.example.org",
          "loop.example.org", "meta.example.org", "own.example.org", "second-own.example.org", "lan.example.org", "rebind.example.org",
          "shared.example.org")
ALLOW = ("--allow-host", ",".join(LISTED))
NO_NAME, NO_ROUTE, REFUSED = "EAI_NONAME", "EHOSTUNREACH", "ECONNREFUSED"
NO_NETWORK = "ENETUNREACH"


@dataclasses.dataclass(frozen=True)
class Attempt:
    name: str
    probe: tuple
    outcome: str
    arrives: tuple = ()  # what the servers would see
    twin: tuple = ()  # options with which it gets through; (): there are none
    twin_outcome: str = "ok"
    walls: tuple = ()  # of WALLS: without all of these it gets through, too


# Walls of the broker, as changes of its source: (file, what stands there once, what stands there instead).
WALLS = {
    "names": (("sandbox/network/policy.c", "    if (rule == NULL && policy->mode != NETWORK_ON)\n", "    if (false)\n"),
              ("sandbox/network/policy.c", "(rule == NULL && (policy->mode != NETWORK_ON || port == PORT_SMTP))", "(false)")),
    "addresses": (("sandbox/network/policy.c", "    switch (address_kind(address)) {\n",
                   "    return admitted(NULL);\n    switch (address_kind(address)) {\n"),),
    "own addresses": (("sandbox/network/reach.c", "!reach.verdict.by_address && leads_here(", "false && leads_here("),),
    "first bytes": (("sandbox/network/broker/gate.c", "if (!is_gated_port(port))\n        return false;", "if (!is_gated_port(port) || true)\n        return false;"),),
}
NAMES, ADDRESSES, OWN, FIRST_BYTES = (("names",), ("addresses",), ("addresses", "own addresses"), ("first bytes",))


def tcp(address, port):
    return ("tcp", address, str(port))


def get(host, target="/"):
    return f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"


EVIL = tcp("93.184.6.6", 80)
ON = ("--network", "on")

ATTEMPTS = (
    # Names
    Attempt("a host that is not listed", ("connect", "evil.example.com", 80), NO_NAME, EVIL, ON, walls=NAMES),
    Attempt("a listed name as the beginning of another", ("connect", "api.example.org.evil.com", 80), NO_NAME,
            tcp("93.184.6.8", 80), ON, walls=NAMES),
    Attempt("a listed name as the end of a label", ("connect", "evillisted.org", 80), NO_NAME, tcp("93.184.6.7", 80), ON, walls=NAMES),
    Attempt("the apex of a wildcard", ("connect", "example.org", 80), NO_NAME, tcp("93.184.1.9", 80),
            ("--allow-host", "example.org"), walls=NAMES),
    Attempt("a NUL inside a label", ("ask", "8.8.8.8", "", 1, ("evil\0", "api", "example", "org")), "1 0"),
    Attempt("a dot inside a label", ("ask", "8.8.8.8", "", 1, ("evil.com", "api", "example", "org")), "1 0"),
    Attempt("a percent sign inside a label", ("ask", "8.8.8.8", "", 1, ("evil%00", "api", "example", "org")), "1 0"),
    Attempt("a number as a name", ("ask", "8.8.8.8", "0x7f.1", 1), "3 0"),
    Attempt("an address as a name", ("ask", "8.8.8.8", "10.0.0.1", 1), "3 0"),
    Attempt("records of text of a name that is not listed", ("ask", "8.8.8.8", "evil.example.com", 16), "3 0",
            ("dns", "evil.example.com", "16"), ON, "0 1", walls=NAMES),
    Attempt("a tunnel by names below one that is not listed", ("ask", "8.8.8.8", "c2VjcmV0.evil.example.com", 1), "3 0",
            ("dns", "c2vjcmv0.evil.example.com", "1"), ON, "3 0", walls=NAMES),
    Attempt("records of a name that is not listed, by TCP", ("ask_by_tcp", "8.8.8.8", ("evil.example.com", 16)), "3 0",
            ("dns", "evil.example.com", "16"), ON, "0 1", walls=NAMES),
    Attempt("a server of DNS by TCP", ("strange_dns", "8.8.8.8", "0000"), "", tcp("8.8.8.8", 53)),
    Attempt("a long message by TCP", ("strange_dns", "8.8.8.8", "ffff" + "00" * 2000), "ECONNRESET", tcp("8.8.8.8", 53)),
    Attempt("an answer by TCP", ("strange_dns", "8.8.8.8", "000c" + "123481000000000000000000"), "", tcp("8.8.8.8", 53)),
    Attempt("a question with a NUL by TCP", ("strange_dns", "8.8.8.8", "0017" + "12340100" + "0001000000000000" + "056576696c00" + "0000010001"),
            "0017" + "12348181" + "0001000000000000" + "056576696c00" + "0000010001"),
    Attempt("many clients by TCP", ("many_dns", "8.8.8.8", "api.example.org", 40), "16"),
    # Addresses
    Attempt("an address that DNS has not given", ("connect", "93.184.6.6", 80), NO_ROUTE, EVIL, ("--allow-host", "93.184.6.6"), walls=ADDRESSES),
    Attempt("10.0.0.0/8", ("connect", "10.0.0.5", 80), NO_ROUTE, tcp("10.0.0.5", 80), ("--allow-host", "10.0.0.0/8"), walls=ADDRESSES),
    Attempt("172.16.0.0/12", ("connect", "172.16.3.3", 80), NO_ROUTE, tcp("172.16.3.3", 80), ("--allow-host", "172.16.0.0/12"), walls=ADDRESSES),
    Attempt("192.168.0.0/16", ("connect", "192.168.1.5", 80), NO_ROUTE, tcp("192.168.1.5", 80), ("--allow-host", "192.168.1.5"), walls=ADDRESSES),
    Attempt("100.64.0.0/10", ("connect", "100.64.7.7", 80), NO_ROUTE, tcp("100.64.7.7", 80), ("--allow-host", "100.64.0.0/10"), walls=ADDRESSES),
    Attempt("metadata of a cloud", ("connect", "169.254.169.254", 80), NO_ROUTE, tcp("169.254.169.254", 80),
            ("--allow-host", "169.254.169.254"), walls=ADDRESSES),
    Attempt("metadata of another", ("connect", "100.100.100.200", 80), NO_ROUTE, tcp("100.100.100.200", 80),
            ("--allow-host", "100.100.100.200"), walls=ADDRESSES),
    Attempt("metadata of a third", ("connect", "168.63.129.16", 80), NO_ROUTE, tcp("168.63.129.16", 80),
            ("--allow-host", "168.63.129.16"), walls=ADDRESSES),
    Attempt("an address in another spelling", ("connect", "167772165", 80), NO_ROUTE, tcp("10.0.0.5", 80),
            ("--allow-host", "10.0.0.5"), walls=ADDRESSES),
    Attempt("a mapped address", ("connect_6", "::ffff:10.0.0.5", 80), NO_ROUTE, tcp("10.0.0.5", 80),
            ("--allow-host", "10.0.0.5"), walls=ADDRESSES),
    Attempt("IPv6", ("connect_6", "2001:4860:4860::8888", 80), NO_NETWORK),
    Attempt("the loopback address of the machine", ("connect", "127.0.0.1", 6000), REFUSED, ("host", "127.0.0.1", "6000")),
    Attempt("the loopback address of IPv6", ("connect_6", "::1", 6000), REFUSED, ("host", "127.0.0.1", "6000")),
    Attempt("0.0.0.0", ("connect", "0.0.0.0", 6000), REFUSED, ("host", "127.0.0.1", "6000")),
    Attempt("the public address of the machine", ("connect", "151.101.7.7", 80), NO_ROUTE, ("host", "151.101.7.7", "80"),
            ("--allow-host", "151.101.7.7"), walls=OWN),
    Attempt("the second public address of the machine", ("connect", "151.101.7.6", 80), NO_ROUTE, ("host", "151.101.7.6", "80"),
            ("--allow-host", "151.101.7.6"), walls=OWN),
    Attempt("the private address of the machine", ("connect", "192.168.77.2", 80), NO_ROUTE, ("host", "192.168.77.2", "80"),
            ("--allow-host", "192.168.77.2"), walls=OWN),
    Attempt("a synthetic address that was not given", ("connect", "198.18.0.77", 80), NO_ROUTE),
    Attempt("a multicast address", ("connect", "224.0.0.251", 80), NO_NETWORK),
    # What a listed name leads to
    Attempt("a listed name of a private address", ("connect", "private.example.org", 80), NO_NAME, tcp("10.0.0.5", 80),
            ("--allow-host", "10.0.0.0/8"), walls=ADDRESSES),
    Attempt("a listed name of the loopback address", ("connect", "loop.example.org", 80), NO_NAME, ("host", "127.0.0.1", "80"),
            ("--map-host", "loop.example.org:80=127.0.0.1:80")),
    Attempt("a listed name of metadata", ("connect", "meta.example.org", 80), NO_NAME, tcp("169.254.169.254", 80),
            ("--allow-host", "169.254.169.254"), walls=ADDRESSES),
    Attempt("a listed name of the machine", ("connect", "own.example.org", 80), NO_ROUTE, ("host", "151.101.7.7", "80"),
            ("--allow-host", "151.101.7.7"), walls=OWN),
    Attempt("a listed name of the machine's second address", ("connect", "second-own.example.org", 80), NO_ROUTE, ("host", "151.101.7.6", "80"),
            ("--allow-host", "151.101.7.6"), walls=OWN),
    Attempt("a listed name of the machine's network", ("connect", "lan.example.org", 80), NO_NAME,
            ("host", "192.168.77.2", "80"), ("--allow-host", "192.168.77.2"), walls=OWN),
    # Ports
    Attempt("a port that is not listed", ("connect", "api.example.org", 22), NO_ROUTE, tcp("93.184.1.1", 22),
            ("--allow-host", "api.example.org:22"), walls=NAMES),
    Attempt("mail", ("connect", "api.example.org", 25), NO_ROUTE, tcp("93.184.1.1", 25), ("--allow-host", "api.example.org:*"), walls=NAMES),
    # Names over a connection
    Attempt("the Host of another", ("exchange", "api.example.org", 80, get("evil.example.com")), "ECONNRESET", (),
            ("--allow-host", "evil.example.com"), "hello from evil.example.com", walls=FIRST_BYTES),
    Attempt("the Host of another, in pieces", ("slowly", "api.example.org", 80, "GET / HTT", "P/1.1\r\nHo",
            "st: evil.example.com\r\n\r\n"), "ECONNRESET", (), ("--allow-host", "evil.example.com"), "hello from evil.example.com", walls=FIRST_BYTES),
    Attempt("the target of another", ("exchange", "api.example.org", 80, get("api.example.org", "http://evil.example.com/")),
            "ECONNRESET"),
    Attempt("two Hosts", ("exchange", "api.example.org", 80, "GET / HTTP/1.1\r\nHost: api.example.org\r\nHost: evil.example.com"
            "\r\n\r\n"), "ECONNRESET"),
    Attempt("the server name of another", ("exchange", "api.example.org", 443,
            bytes.fromhex("16030100" + "44" + "010000" + "40" + "0303" + "00" * 32 + "00" + "0002" + "1301" + "0100" + "0015"
                          + "0000" + "0011" + "000f" + "00" + "000c").decode("latin-1") + "evil.example"), "ECONNRESET",
            (), ("--allow-host", "evil.example"), "\x16\x03\x01", walls=FIRST_BYTES),
    Attempt("a tunnel through a listed server", ("exchange", "api.example.org", 80, "CONNECT evil.example.com:80 HTTP/1.1\r\n"
            "Host: api.example.org\r\n\r\n"), "ECONNRESET"),
    # Other ways
    Attempt("data with the first packet", ("fast_open", "93.184.6.6", 443), NO_ROUTE, tcp("93.184.6.6", 443), ("--allow-host", "93.184.6.6"),
            walls=ADDRESSES),
    Attempt("a route given by the source", ("option", 0, 4, "830704" + "5db80101" + "00"), "EPERM", EVIL),
    Attempt("several paths at once", ("open_socket", 2, 1, 262), "EPERM"),
    Attempt("SCTP", ("open_socket", 2, 1, 132), "EPERM"),
    Attempt("sockets of the hypervisor", ("open_socket", 40, 1, 0), "EPERM"),
    Attempt("UDP", ("datagram", "93.184.1.1", 4433), REFUSED),
    Attempt("QUIC to a listed host", ("datagram", "93.184.1.1", 443), REFUSED),
    Attempt("the mark of the broker", ("option", 1, 36, "01000000"), "EPERM", EVIL),
    Attempt("a transparent socket", ("option", 0, 19, "01000000"), "EPERM", EVIL),
    Attempt("repair of a connection", ("option", 6, 19, "01000000"), "EPERM", EVIL),
    Attempt("a raw socket", ("open_socket", 2, 3, 6), "EPERM"),
    Attempt("a socket of packets", ("open_socket", 17, 3, 768), "EPERM"),
    Attempt("a socket for routes", ("open_socket", 16, 3, 0), "EPERM"),
    Attempt("ping of a host that is not listed", ("ping", "93.184.6.6"), NO_ROUTE, (), ("--allow-host", "93.184.6.6"), walls=ADDRESSES),
    Attempt("ping of a private address", ("ping", "10.0.0.5"), NO_ROUTE, (), ("--allow-host", "10.0.0.5"), walls=ADDRESSES),
    Attempt("ping of the machine", ("ping", "151.101.7.7"), NO_ROUTE, (), ("--allow-host", "151.101.7.7"), walls=OWN),
    Attempt("ping of a listed name of a private address", ("ping", "private.example.org"), NO_NAME, (), ("--allow-host", "10.0.0.0/8"), walls=ADDRESSES),
    Attempt("a raw socket of ICMP", ("open_socket", 2, 3, 1), "EPERM"),
    Attempt("a setting of its network", ("write", "/proc/sys/net/ipv4/ip_forward", "1"), "EROFS"),
    Attempt("another source address", ("bound", "93.184.9.9", "93.184.6.6", 80), "EINVAL", EVIL),
)

# What the C library may say otherwise.
ALSO = {"EPERM": ("EPERM", "ENOSYS", "EACCES", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ENOPROTOOPT"), "EROFS": ("EROFS", "EACCES"),
        NO_NETWORK: (NO_NETWORK, NO_ROUTE, "EADDRNOTAVAIL"), NO_ROUTE: (NO_ROUTE,),
        "ECONNRESET": ("ECONNRESET", "EPIPE")}


def is_denied(attempt, outcome):
    return outcome in ALSO.get(attempt.outcome, (attempt.outcome,))
