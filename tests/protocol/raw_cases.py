"""Lines that clients send, wrong ones most of them, and what each version owes them: data.

A case is its name, the bytes of a line (META stands for what a request of the version has to have in
its params), and the answers owed: a list of ids with "result" or the code of an error; or a dictionary
of such lists by version, "handshake" and "stateless" naming several. NONE is the id of an error about
what has no readable id. An array of answers is a tuple. More answers than one come in any order.
"""

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
VERSIONS = (*HANDSHAKES, STATELESS)

NONE = "no id"
RESULT = "result"
PARSE, INVALID, UNKNOWN, PARAMS, NOT_FOUND, VERSION = -32700, -32600, -32601, -32602, -32002, -32022
BAD_JSON = [(NONE, PARSE)]
NO_REQUEST = [(NONE, INVALID)]
SILENCE = []


def request(body, request_id=b"1"):
    return b'{"jsonrpc":"2.0","id":%s,%s}' % (request_id, body)


def listing(params=b"", request_id=b"1"):
    """tools/list, which every version has."""
    return request(b'"method":"tools/list","params":{META%s}' % params, request_id)


def calling(body):
    return request(b'"method":"tools/call","params":{META,%s}' % body)


def with_arguments(arguments):
    return calling(b'"name":"run_python_code","arguments":%s' % arguments)


NOT_JSON = [
    ("an opening brace", b"{"), ("a word", b"nonsense"), ("an array without end", b"[1,"),
    ("a brace too many", b'{"a":1}}'), ("a byte order mark", b"\xef\xbb\xbf{}"),
    ("a NUL", b"\0"), ("a NUL behind", b"{}\0"), ("two messages in a line", listing() * 2),
    ("two with a comma", listing() + b"," + listing()), ("a comma behind", b'{"a":1,}'),
    ("a comma in an array", b"[1,]"), ("no colon", b'{"a" 1}'), ("no quotes", b"{a:1}"),
    ("single quotes", b"{'a':1}"), ("a comment", b"{}//"), ("another comment", b"{/**/}"),
    ("NaN", b'{"a":NaN}'), ("Infinity", b'{"a":-Infinity}'), ("a plus", b'{"a":+1}'),
    ("a leading zero", b'{"a":01}'), ("a bare point", b'{"a":.5}'), ("a point behind", b'{"a":1.}'),
    ("an exponent without digits", b'{"a":1e}'), ("hexadecimal", b'{"a":0x1}'),
    ("a minus alone", b'{"a":-}'), ("True", b'{"a":True}'), ("half a word", b'{"a":tru}'),
    ("a control character", b'{"a":"\x01"}'), ("a tab in a string", b'{"a":"\t"}'),
    ("a vertical tab", b'\x0b{"a":1}'), ("a form feed", b'{"a":1}\x0c'),
    ("an unknown escape", b'{"a":"\\x41"}'), ("half an escape", b'{"a":"\\u12"}'),
    ("a bad escape", b'{"a":"\\u12g4"}'), ("a string without end", b'{"a":"b'),
    ("a backslash at the end", b'{"a":"\\'), ("a byte that is not UTF-8", b'{"a":"\xff"}'),
    ("half a character", b'{"a":"\xc3"}'), ("an overlong NUL", b'{"a":"\xc0\x80"}'),
    ("an overlong slash", b'{"a":"\xe0\x80\xaf"}'), ("a surrogate in UTF-8", b'{"a":"\xed\xa0\x80"}'),
    ("CESU-8", b'{"a":"\xed\xa0\xbd\xed\xb8\x80"}'), ("past Unicode", b'{"a":"\xf4\x90\x80\x80"}'),
    ("five bytes", b'{"a":"\xf8\x88\x80\x80\x80"}'), ("UTF-16", '{"a":1}'.encode("utf-16")),
    ("a key that is a number", b"{1:2}"), ("a colon alone", b":"), ("a string and more", b'"a"b'),
    ("brackets of two kinds", b"[}"), ("a hundred thousand brackets", b"[" * 100_000),
    ("a hundred thousand braces", b'{"a":' * 100_000), ("a million values", b"[" + b"1," * 10 ** 6 + b"1]"),
    ("129 levels", b"[" * 129 + b"]" * 129), ("a header of HTTP", b"Content-Length: 20"),
]

NO_REQUESTS = [
    ("a number", b"1"), ("a string", b'"text"'), ("null", b"null"), ("true", b"true"),
    ("an empty object", b"{}"), ("only a version", b'{"jsonrpc":"2.0"}'),
    ("a method that is a number", b'{"jsonrpc":"2.0","method":1}'),
    ("a method that is null", b'{"jsonrpc":"2.0","method":null}'),
    ("an id null", request(b'"method":"tools/list"', b"null")),
    ("an id true", request(b'"method":"tools/list"', b"true")),
    ("an id array", request(b'"method":"tools/list"', b"[1]")),
    ("an id object", request(b'"method":"tools/list"', b"{}")),
    ("an id with a fraction", request(b'"method":"tools/list"', b"1.5")),
    ("an id with a zero fraction", request(b'"method":"tools/list"', b"1.0")),
    ("an id with an exponent", request(b'"method":"tools/list"', b"1e3")),
    ("an id past every number", request(b'"method":"tools/list"', b"1e400")),
    ("an id of two kilobytes", request(b'"method":"tools/list"', b'"' + b"x" * 2000 + b'"')),
    ("an id of two thousand digits", request(b'"method":"tools/list"', b"1" * 2000)),
    ("an id null of the wrong version", b'{"jsonrpc":"1.0","id":null,"method":"ping"}'),
]

WITH_ID = [
    ("JSON-RPC 1.0", b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}'),
    ("no jsonrpc", b'{"id":1,"method":"tools/list"}'),
    ("jsonrpc as a number", b'{"jsonrpc":2.0,"id":1,"method":"tools/list"}'),
    ("jsonrpc with a NUL", b'{"jsonrpc":"2.0\\u0000","id":1,"method":"tools/list"}'),
    ("no method", b'{"jsonrpc":"2.0","id":1}'), ("method null", request(b'"method":null')),
    ("method an object", request(b'"method":{}')), ("method an array", request(b'"method":["x"]')),
    ("an answer of a wrong version", b'{"jsonrpc":"1.0","id":1,"method":"x","result":1}'),
]

# Of what JSON-RPC allows, and MCP does.
IDS = [b"0", b"-1", b"-0", b"9007199254740993", b"9223372036854775808", b"18446744073709551616",
       b"-170141183460469231731687303715884105728", b"1" * 500, b'""', b'"1"', b'"a\\u0000b"',
       b'"\\n"', '"é\u2028😀"'.encode(), b'"\\ud83d\\ude00"', b'"\\/"', b'"\\ufeff"', b'"null"']

NOTIFICATIONS = [
    ("of no known method", b'{"jsonrpc":"2.0","method":"no/such"}'),
    ("of a request's method", b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":1}}'),
    ("without jsonrpc", b'{"method":"x"}'),
    ("with params of a wrong type", b'{"jsonrpc":"2.0","method":"x","params":[]}'),
    ("initialized, once more", b'{"jsonrpc":"2.0","method":"notifications/initialized"}'),
    ("cancelled without params", b'{"jsonrpc":"2.0","method":"notifications/cancelled"}'),
    ("cancelled without id", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}'),
    ("cancelled null",
     b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}'),
    ("cancelled what is unknown",
     b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"?"}}'),
    ("cancelled what is answered",
     b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'),
    ("cancelled 1e400",
     b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1e400}}'),
    ("a result of nothing", b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    ("an error of nothing", b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}'),
    ("a result without id", b'{"jsonrpc":"2.0","result":{}}'),
    ("an error with id null", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}'),
    ("an empty line", b""), ("blanks", b" \t \r"), ("carriage returns", b"\r\r\r"),
]

METHODS = {  # what each era knows, and with what it is answered when nothing is in its params
    "initialize": {"handshake": PARAMS, "stateless": UNKNOWN},
    "ping": {"handshake": RESULT, "stateless": UNKNOWN},
    "server/discover": {"handshake": UNKNOWN, "stateless": RESULT},
    "subscriptions/listen": {"handshake": UNKNOWN, "stateless": PARAMS},
    "tools/list": {"handshake": RESULT, "stateless": RESULT},
    "tools/call": {"handshake": PARAMS, "stateless": PARAMS},
    "resources/list": {"handshake": RESULT, "stateless": RESULT},
    "resources/templates/list": {"handshake": RESULT, "stateless": RESULT},
    "resources/read": {"handshake": PARAMS, "stateless": PARAMS},
    **{name: {"handshake": UNKNOWN, "stateless": UNKNOWN} for name in (
        "prompts/list", "prompts/get", "logging/setLevel", "completion/complete", "tasks/list",
        "tasks/get", "resources/subscribe", "resources/unsubscribe", "roots/list",
        "sampling/createMessage", "elicitation/create", "notifications/initialized",
        "notifications/cancelled", "", "tools", "Tools/list", "tools/list ", "tools/list\\u0000",
        "\\ud800", "__proto__", "x" * 10_000)},
}

LISTS = [
    ("a cursor", listing(b',"cursor":"x"'), PARAMS), ("no cursor", listing(b',"cursor":null'), RESULT),
    ("a cursor number", listing(b',"cursor":1'), PARAMS), ("unknown params", listing(b',"x":[1]'), RESULT),
    ("1e400 somewhere", listing(b',"x":1e400'), RESULT), ("-0.0e-0", listing(b',"x":-0.0e-0'), RESULT),
    ("a number of a megabyte", listing(b',"x":' + b"1" * 10 ** 6), RESULT),
    ("a lone surrogate", listing(b',"x":"\\ud800"'), RESULT),
    ("a low surrogate", listing(b',"\\udc00":"\\udc00\\ud800"'), RESULT),
    ("NULs", listing(b',"\\u0000":"\\u0000"'), RESULT),
    ("a key twice", listing(b',"cursor":"x","cursor":null'), RESULT),
    ("a key twice, otherwise", listing(b',"cursor":null,"cursor":"x"'), PARAMS),
    ("200 000 keys", listing(b"".join(b',"%d":0' % n for n in range(200_000))), RESULT),
    ("the same key 200 000 times", listing(b',"a":0' * 200_000), RESULT),
    ("300 000 keys", listing(b',"a":0' * 300_000), None),
    ("126 levels below", listing(b',"x":' + b"[" * 126 + b"]" * 126), RESULT),
    ("127 levels below", listing(b',"x":' + b"[" * 127 + b"]" * 127), None),
    ("white space", listing(b' \t, "x" : \r 1 '), RESULT),
    ("a string of 15 megabytes", listing(b',"x":"%s"' % (b"x" * (15 << 20))), RESULT),
    ("a tool's argument", listing(b',"name":"x"'), RESULT),
]

CALLS = [
    ("no name", calling(b'"arguments":{}'), PARAMS), ("name null", calling(b'"name":null'), PARAMS),
    ("name a number", calling(b'"name":5'), PARAMS), ("an unknown name", calling(b'"name":"x"'), PARAMS),
    ("an empty name", calling(b'"name":""'), PARAMS),
    ("a name with a NUL", calling(b'"name":"run_python_code\\u0000","arguments":{"code":""}'), PARAMS),
    ("a name in capitals", calling(b'"name":"RUN_PYTHON_CODE","arguments":{}'), PARAMS),
    ("a name of a megabyte", calling(b'"name":"%s"' % (b"x" * 10 ** 6)), PARAMS),
    ("arguments null", with_arguments(b"null"), PARAMS), ("arguments []", with_arguments(b"[]"), PARAMS),
    ("arguments a string", with_arguments(b'"{}"'), PARAMS), ("no arguments", with_arguments(b"{}"), RESULT),
    ("arguments left out", calling(b'"name":"run_python_code"'), RESULT),
    ("code null", with_arguments(b'{"code":null}'), RESULT),
    ("code a number", with_arguments(b'{"code":1}'), RESULT),
    ("code an array", with_arguments(b'{"code":["print(1)"]}'), RESULT),
    ("code twice, a number last", with_arguments(b'{"code":"print(1)","code":1}'), RESULT),
    ("another argument", with_arguments(b'{"code":"","x":1}'), RESULT),
    ("an argument with a NUL", with_arguments(b'{"code\\u0000":""}'), RESULT),
    ("an argument without name", with_arguments(b'{"":""}'), RESULT),
    ("an argument of a surrogate", with_arguments(b'{"\\ud800":""}'), RESULT),
    ("a time below zero", with_arguments(b'{"code":"","timeout_seconds":-1}'), RESULT),
    ("a time of 1e400", with_arguments(b'{"code":"","timeout_seconds":1e400}'), RESULT),
    ("a time of 1e-400", with_arguments(b'{"code":"","timeout_seconds":1e-400}'), RESULT),
    ("a time of words", with_arguments(b'{"code":"","timeout_seconds":"five"}'), RESULT),
    ("code of 13 megabytes", with_arguments(b'{"code":"%s"}' % (b"x" * (13 << 20))), RESULT),
]

READS = [
    ("no uri", b"", PARAMS), ("uri null", b',"uri":null', PARAMS), ("uri []", b',"uri":[]', PARAMS),
    ("a uri that is not there", b',"uri":"x:y"', NOT_FOUND), ("an empty uri", b',"uri":""', NOT_FOUND),
    ("a uri with a NUL", b',"uri":"sandbox://environments\\u0000"', NOT_FOUND),
    ("a file", b',"uri":"file:///etc/passwd"', NOT_FOUND),
    ("a path out of it", b',"uri":"sandbox://environments/../x"', NOT_FOUND),
    ("a uri of a megabyte", b',"uri":"%s"' % (b"x" * 10 ** 6), NOT_FOUND),
    ("a surrogate", b',"uri":"\\ud800"', NOT_FOUND),
    ("the one there is", b',"uri":"sandbox://environments"', RESULT),
]

PARAM_TYPES = [("[]", b"[]"), ("a string", b'"x"'), ("a number", b"1"), ("true", b"true")]

ONE = [("a", RESULT)]
TWO = ([("a", UNKNOWN), ("b", UNKNOWN)],)
BATCHES = [  # an array is one mistake but in the one version that has them
    ("an empty array", b"[]", NO_REQUEST), ("an array of a number", b"[1]", (NO_REQUEST,)),
    ("an array of arrays", b"[[]]", (NO_REQUEST,)),
    ("an array of a request", b'[{"jsonrpc":"2.0","id":"a","method":"ping"}]', (ONE,)),
    ("an array of notifications", b'[{"jsonrpc":"2.0","method":"x"}]', SILENCE),
    ("an array of answers", b'[{"jsonrpc":"2.0","id":1,"result":{}}]', SILENCE),
    ("an array of two requests", b'[{"jsonrpc":"2.0","id":"a","method":"x"},'
                                 b'{"jsonrpc":"2.0","id":"b","method":"y"}]', TWO),
    ("an array of everything", b'[{"jsonrpc":"2.0","id":"a","method":"ping"},'
                               b'{"jsonrpc":"2.0","method":"x"},{}]', ([("a", RESULT), (NONE, INVALID)],)),
    ("an array of 257", b"[" + b",".join([b'{"jsonrpc":"2.0","method":"x"}'] * 257) + b"]", NO_REQUEST),
]


def meta_request(meta):
    return request(b'"method":"tools/list","params":{"_meta":%s}' % meta)


KEY, CAN = b'"io.modelcontextprotocol/protocolVersion"', b'"io.modelcontextprotocol/clientCapabilities"'
METAS = [  # the same in every connection: what a request says of itself counts
    ("another version", b'{%s:"2027-01-01",%s:{}}' % (KEY, CAN), VERSION),
    ("a version of the handshake", b'{%s:"2025-11-25",%s:{}}' % (KEY, CAN), VERSION),
    ("a version with a NUL", b'{%s:"2026-07-28\\u0000",%s:{}}' % (KEY, CAN), VERSION),
    ("a version that is a number", b"{%s:2026,%s:{}}" % (KEY, CAN), PARAMS),
    ("no capabilities", b'{%s:"2026-07-28"}' % KEY, PARAMS),
    ("capabilities null", b'{%s:"2026-07-28",%s:null}' % (KEY, CAN), PARAMS),
    ("only capabilities", b"{%s:{}}" % CAN, PARAMS),
    ("the version twice", b'{%s:"x",%s:"2026-07-28",%s:{}}' % (KEY, KEY, CAN), RESULT),
    ("unknown keys", b'{%s:"2026-07-28",%s:{"x":[]},"a/b":1,"":{}}' % (KEY, CAN), RESULT),
    ("odd keys of its own", b'{%s:"2026-07-28",%s:{},"progressToken":1.5,'
     b'"io.modelcontextprotocol/clientInfo":1}' % (KEY, CAN), RESULT),
    ("an unknown level of the log", b'{%s:"2026-07-28",%s:{},"io.modelcontextprotocol/logLevel":[]}' % (KEY, CAN), PARAMS),
]


def all_cases():
    """Triples of name, line, and answers."""
    yield from ((name, line, BAD_JSON) for name, line in NOT_JSON)
    yield from ((name, line, NO_REQUEST) for name, line in NO_REQUESTS)
    yield from ((name, line, [(1, INVALID)]) for name, line in WITH_ID)
    yield from ((f"id {text.decode()[:20]}", listing(b"", text), [(text, RESULT)]) for text in IDS)
    yield from ((f"notification {name}", line, SILENCE) for name, line in NOTIFICATIONS)
    for name, known in METHODS.items():
        yield (f"method {name[:20]}", request(b'"method":"%s","params":{META}' % name.encode()),
               {era: [(1, code)] for era, code in known.items()})
    for name, line, code in [*LISTS, *CALLS]:
        yield name, line, BAD_JSON if code is None else [(1, code)]
    for name, params, code in READS:
        line = request(b'"method":"resources/read","params":{META%s}' % params)
        yield name, line, {"handshake": [(1, code)],
                           "stateless": [(1, PARAMS if code == NOT_FOUND else code)]}
    for name, params in PARAM_TYPES:
        yield f"params {name}", request(b'"method":"tools/list","params":%s' % params), [(1, PARAMS)]
    for name, line, answers in BATCHES:
        yield name, line, {"2025-03-26": answers, "handshake": NO_REQUEST, "stateless": NO_REQUEST}
    for name, meta, code in METAS:
        yield f"_meta with {name}", meta_request(meta), [(1, code)]
    yield "a key twice, the last counts", \
        b'{"jsonrpc":"1.0","id":7,"id":1,"method":"x","jsonrpc":"2.0","method":"no/such"}', [(1, UNKNOWN)]
    yield "a line of 17 megabytes", b'{"a":"' + b"x" * (17 << 20) + b'"}', NO_REQUEST
    yield "17 megabytes of blanks", b" " * (17 << 20), NO_REQUEST
    yield "17 megabytes of brackets", b"[" * (17 << 20), NO_REQUEST


def expected(answers, version):
    """What that version is owed."""
    if not isinstance(answers, dict):
        return answers
    era = "stateless" if version == STATELESS else "handshake"
    return answers.get(version, answers.get(era))
