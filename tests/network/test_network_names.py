"""Names that lead elsewhere, and names that are denied but asked for or named in another way."""

import pytest
from attempts import ALLOW, NO_NAME, NO_ROUTE, ON, get

from support.mcp_client import RECORD

DNS = "8.8.8.8"
A, CNAME, PTR, MX, TXT, AAAA, SRV = 1, 5, 12, 15, 16, 28, 33
DENY = (*ON, "--deny-host", "denied.example.com,*.below.example.com,half.example.com:80")


def hello(name):
    """A ClientHello with that server name; "" for none."""
    name = name.encode("latin-1")
    server_name = b"\0\0" + (len(name) + 5).to_bytes(2, "big") + (len(name) + 3).to_bytes(2, "big") + b"\0" + len(name).to_bytes(2, "big") + name
    extensions = server_name if name else b"\0\x17\0\0"
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0" + len(extensions).to_bytes(2, "big") + extensions
    message = b"\1" + len(body).to_bytes(3, "big") + body
    return (b"\x16\3\1" + len(message).to_bytes(2, "big") + message).decode("latin-1")


def refusals(result):
    return {(one["host"], one["reason"]) for one in result["_meta"][RECORD]["network"]["refused"]}


CLAIMS = (
    ("the denied Host", 80, get("denied.example.com"), False),
    ("it in capitals and with a dot", 80, get("DENIED.Example.COM."), False),
    ("it with a port", 80, get("denied.example.com:80"), False),
    ("it as the target", 80, get("93.184.6.1", "http://denied.example.com/"), False),
    ("a name below a denied one", 80, get("a.b.below.example.com"), False),
    ("an address that is not reached, as a Host", 80, get("10.0.0.5"), False),
    ("an address as a number", 80, get("1572865537"), False),
    ("a name in other letters", 80, get("d\xc3\xa9nied.example.com"), False),
    ("the denied server name", 443, hello("denied.example.com"), False),
    ("it in capitals", 443, hello("Denied.EXAMPLE.com"), False),
    ("another Host", 80, get("other.example.com"), True),
    ("the name above the denied ones", 80, get("below.example.com"), True),
    ("the address as the Host", 80, get("93.184.6.1"), True),
    ("another server name", 443, hello("other.example.com"), True),
    ("no server name", 443, hello(""), True),
)


@pytest.fixture(scope="module")
def claimed(probe):
    return probe([["exchange", "93.184.6.1", port, text] for _what, port, text, _may in CLAIMS], *DENY)


@pytest.mark.parametrize("row", range(len(CLAIMS)), ids=[what for what, *_ in CLAIMS])
def test_denied_name_is_refused_over_a_connection_to_an_address(claimed, row):
    outcomes, _result = claimed
    _what, port, _text, may = CLAIMS[row]
    if may:
        assert outcomes[row].startswith("HTTP/1.1 200" if port == 80 else "\x16\3\1")
    else:
        assert outcomes[row] in ("ECONNRESET", "EPIPE")


def test_refused_claim_is_in_the_record(claimed):
    assert {("denied.example.com", "name_mismatch"), ("a.b.below.example.com", "name_mismatch")} <= refusals(claimed[1])


def test_listed_address_serves_all_names_but_denied_ones(probe):
    allow = ("--allow-host", "93.184.6.1")
    probes = [["exchange", "93.184.6.1", 80, get(name)] for name in ("denied.example.com", "other.example.com")]
    outcomes, _result = probe(probes, *allow, "--deny-host", "denied.example.com")
    assert outcomes[0] in ("ECONNRESET", "EPIPE") and outcomes[1].startswith("HTTP/1.1 200")
    outcomes, _result = probe(probes, *allow)
    assert all(outcome.startswith("HTTP/1.1 200") for outcome in outcomes)


def test_alias_of_a_denied_name_is_denied(probe, internet):
    before = len(internet.seen())
    outcomes, result = probe([["connect", "alias.example.com", 80], ["connect", "twice.example.com", 80], ["connect", "good.example.com", 80],
                              ["ask", DNS, "alias.example.com", TXT], ["ask", DNS, "alias.example.com", CNAME], ["ask", DNS, "good.example.com", TXT],
                              ["connect", "half-alias.example.com", 80], ["connect", "half-alias.example.com", 443], ["connect", "93.184.6.2", 80]], *DENY)
    assert outcomes == [NO_NAME, NO_NAME, "ok", "3 0", "0 1", "0 2", NO_ROUTE, "ok", NO_ROUTE]
    assert ("alias.example.com", "denied") in refusals(result)
    assert ("tcp", "93.184.6.1", "80") not in internet.seen()[before:]


def test_names_that_lead_in_a_circle_or_too_far_are_failures(probe):
    outcomes, _result = probe([["ask", DNS, "round.example.com", A], ["ask", DNS, "round.example.com", TXT], ["ask", DNS, "long0.example.com", A],
                               ["ask", DNS, "long0.example.com", TXT], ["connect", "strange.example.com", 80], ["connect", "www.example.org", 80]], *ON)
    assert [outcome.split()[0] for outcome in outcomes[:4]] == ["0", "2", "0", "2"]
    assert [outcome.split()[-1] for outcome in outcomes[:4]] == ["0"] * 4
    assert outcomes[4] in (NO_NAME, "EAI_AGAIN", "EAI_NODATA") and outcomes[5] == "ok"


def test_reverse_names_tell_of_no_address_that_is_not_reached(probe, internet):
    before = len(internet.seen())
    outcomes, _result = probe([["ask", DNS, name, PTR] for name in (
        "5.0.0.10.in-addr.arpa", "1.1.184.93.in-addr.arpa", "0.10.in-addr.arpa", "10.in-addr.arpa", "1.0.0.127.in-addr.arpa",
        "254.169.254.169.in-addr.arpa", "5.0.0.10.IN-ADDR.ARPA", "05.0.0.10.in-addr.arpa", "0.5.0.0.10.in-addr.arpa",
        "1." + "0." * 23 + "0.0.0.0.0.c.f.ip6.arpa", "printer.home.arpa")], *ON)
    assert outcomes == ["3 0", "0 1"] + ["3 0"] * 9
    assert [line[1] for line in internet.seen()[before:] if line[0] == "dns"] == ["1.1.184.93.in-addr.arpa"]


def test_alias_of_a_reverse_name_tells_no_more_than_the_name(probe):
    outcomes, result = probe([["ask", DNS, name, PTR] for name in ("reverse.example.com", "public-reverse.example.com")], *ON)
    assert outcomes == ["3 0", "0 2"]
    assert ("reverse.example.com", "private") in refusals(result)


def test_answers_hold_no_addresses_behind_their_records(probe):
    outcomes, _result = probe([["answer_of", DNS, "_ldap._tcp.example.com", SRV], ["answer_of", DNS, "example.com", MX],
                               ["ask", DNS, "numeric.example.com", SRV], ["ask", DNS, "_ldap._tcp.example.com", 255]], *ON)
    service, mail = map(bytes.fromhex, outcomes[:2])
    assert service[6:12] == b"\0\1\0\0\0\0" and b"\2dc\4corp\7example\0" in service and b"\x0a\0\0\5" not in service
    assert mail[6:12] == b"\0\1\0\0\0\0" and mail.endswith(b"\0\0\4mail\7example\3com\0")
    assert outcomes[2:] == ["2 0", "0 0"]


def test_failure_of_a_server_remains_one(probe):
    outcomes, _result = probe([["ask", DNS, "broken.example.org", A], ["ask", DNS, "half-broken.example.org", A], ["ask", DNS, "broken.example.org", TXT]],
                              *ON)
    assert outcomes == ["2 0"] * 3


def test_failure_of_a_server_is_told_to_programs_that_ask_for_both_kinds_of_addresses(probe):
    outcomes, _result = probe([["ask", DNS, "broken.example.org", AAAA], ["ask", DNS, "www.example.org", AAAA], ["ask", DNS, "nowhere.example.com", AAAA],
                               ["resolve_any", "broken.example.org"], ["resolve_any", "nowhere.example.com"], ["resolve_any", "six.example.org"]], *ON)
    assert outcomes == ["2 0", "0 0", "3 0", "EAI_AGAIN", NO_NAME, "1"]


def test_domains_that_the_host_searches_are_added_to_no_name(probe, internet):
    before = len(internet.seen())
    outcomes, _result = probe([["ask", DNS, "unknown.example.org", A], ["ask", DNS, "intranet", A], ["ask", DNS, "intranet", TXT]],
                              *ALLOW, "--allow-host", "unknown.example.org,intranet")
    assert outcomes == ["3 0"] * 3
    assert not [line for line in internet.seen()[before:] if "corp" in line[1]]


def test_ipv6_addresses_of_a_name_are_judged_by_what_they_embed(probe, internet):
    before = len(internet.seen())
    names = ("mapped", "nat64", "6to4", "compatible", "unique", "local", "loop6", "mapped-loop", "mapped-public")
    outcomes, result = probe([["connect", f"{name}.example.org", 80] for name in names], *ON)
    assert outcomes == [NO_NAME] * 8 + ["ok"]
    assert {("mapped.example.org", "private"), ("nat64.example.org", "private"), ("mapped-loop.example.org", "host_itself")} <= refusals(result)
    assert {line[1] for line in internet.seen()[before:] if line[0] != "dns"} == {"93.184.1.1"}


def test_own_addresses_are_not_reached_by_way_of_ipv6(probe):
    names = ("own-nat64.example.org", "own-6to4.example.org", "own-network.example.org", "own-network-near.example.org")
    outcomes, result = probe([["connect", name, 80] for name in names], *ON)
    assert outcomes == ["EHOSTUNREACH"] * 4
    assert {(name, "host_itself") for name in names} <= refusals(result)


def test_questions_of_many_names_at_once_are_all_answered(probe):
    assert probe([["resolve_at_once", "www.example.org", 60]], *ON)[0] == ["60"]


def test_names_of_the_internet_in_other_spellings_are_the_same(probe):
    """Capitals, a dot at the end, and letters that only look the same."""
    outcomes, result = probe([["connect", name, 80] for name in (
        "DENIED.example.com", "denied.example.com.", "Denied.Example.Com.", "x.BELOW.example.com", "x.below.example.com.", "www.example.org.",
        "WWW.example.ORG")], *DENY)
    assert outcomes == [NO_NAME] * 5 + ["ok"] * 2
    assert refusals(result) == {("denied.example.com", "denied"), ("x.below.example.com", "denied")}
