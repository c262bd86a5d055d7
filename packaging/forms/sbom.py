"""The bill of materials of the static programs, from the pins of what was linked. SPDX 2.3."""

import time
import uuid

from forms.npm import as_json
from forms.release import COMMAND, EPOCH, NAMES, VERSION
from static import sources

NAMESPACE = uuid.UUID("6f1d6fd2-0f6a-5d0e-9c0c-0d3cbb6e2a57")  # of these documents


def package(identifier, name, version, licence, **more):
    return {"SPDXID": f"SPDXRef-{identifier}", "name": name, "versionInfo": version, "licenseDeclared": licence,
            "licenseConcluded": licence, "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, **more}


def library(name, pin):
    """With the source package, and in its comment the digest of each file of it."""
    files = "\n".join(f"{digest}  {file}" for file, digest in pin["files"].items())
    origin = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
              "referenceLocator": f"pkg:deb/debian/{pin['source']}@{pin['version'].replace('+', '%2B')}?arch=source"}
    return package(f"library-{name}", pin["source"], sources.upstream_version(pin), pin["license"], externalRefs=[origin],
                   comment=f"Source files and their SHA-256:\n{files}")


def compiler():
    pin = sources.PINS["toolchain"]
    return package("toolchain", pin["name"], pin["version"], pin["license"],
                   comment="Its C library, musl, and its compiler runtime are linked into the programs.")


def programs(tree):
    for path in sorted(path for path in tree.rglob("*") if path.is_file() and path.stat().st_mode & 0o100):
        yield {"SPDXID": f"SPDXRef-file-{path.name}", "fileName": f"./{path.relative_to(tree).as_posix()}",
               "checksums": [{"algorithm": "SHA256", "checksumValue": sources.digest_of(path)}],
               "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}


def related(element, relation, other):
    return {"spdxElementId": element, "relationshipType": relation, "relatedSpdxElement": other}


def text_of(architecture, tree):
    name = f"{COMMAND}-{VERSION}-linux-{architecture}"
    files = list(programs(tree))
    libraries = [library(*entry) for entry in sorted(sources.PINS["libraries"].items())]
    itself = "SPDXRef-bundle"
    relations = [related("SPDXRef-DOCUMENT", "DESCRIBES", itself)]
    relations += [related(itself, "CONTAINS", file["SPDXID"]) for file in files]
    relations += [related(itself, "STATIC_LINK", entry["SPDXID"]) for entry in libraries]
    relations.append(related("SPDXRef-toolchain", "BUILD_TOOL_OF", itself))
    return as_json({
        "spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "dataLicense": "CC0-1.0", "name": name,
        "documentNamespace": uuid.uuid5(NAMESPACE, name).urn,
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH)),
                         "creators": [f"Organization: {NAMES['author']}"]},
        "packages": [package("bundle", COMMAND, VERSION, NAMES["license"]), *libraries, compiler()],
        "files": files, "relationships": relations})
