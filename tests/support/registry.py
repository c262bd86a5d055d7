"""A real registry (Debian's docker-registry) on this machine, and pushing images into it."""

import base64
import contextlib
import http.client
import json
import pathlib
import socket
import subprocess
import time
import urllib.parse

from support import oci
from support.programs import path_of

START_SECONDS_MAX = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Registry:
    """One registry; `settings` are further lines of its configuration."""

    def __init__(self, directory, settings="", login=None):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir()
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.headers = {}
        if login:
            encoded = base64.b64encode(":".join(login).encode()).decode()
            self.headers["Authorization"] = "Basic " + encoded
        configuration = self.directory / "configuration.yml"
        configuration.write_text(
            "version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\n"
            f"storage: {{filesystem: {{rootdirectory: {self.directory}/data}}}}\n"
            f"http: {{addr: '{self.host}'}}\n{settings}")
        self.log = open(self.directory / "log", "wb")
        self.process = subprocess.Popen([path_of("docker-registry"), "serve", configuration], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=subprocess.STDOUT)
        self.wait()

    def wait(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            assert self.process.poll() is None, (self.directory / "log").read_text()
            assert time.monotonic() < deadline, "the registry does not answer"
            time.sleep(0.02)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def ask(self, method, path, body=None, **headers):
        """Status, headers and body of the answer."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, {**self.headers, **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def push_blob(self, name, digest, content):
        status, headers, body = self.ask("POST", f"/v2/{name}/blobs/uploads/")
        assert status == 202, (status, body)
        place = urllib.parse.urlsplit(headers["Location"])
        status, _, body = self.ask("PUT", f"{place.path}?{place.query}&digest={digest}", content,
                                   **{"Content-Type": "application/octet-stream"})
        assert status == 201, (status, body)

    def push_manifest(self, name, tag, document):
        status, _, body = self.ask("PUT", f"/v2/{name}/manifests/{tag}", oci.compact(document),
                                   **{"Content-Type": document["mediaType"]})
        assert status == 201, (status, body)

    def push(self, name, image, tag="latest"):
        """The reference of an image that is there now."""
        for digest, content in image.blobs.items():
            if json_type(content) != oci.MANIFEST:
                self.push_blob(name, digest, content)
        self.push_manifest(name, tag, image.manifest)
        return f"{self.host}/{name}:{tag}"

    def push_index(self, name, tag, images):
        for image in images:
            self.push(name, image, image.digest)
        self.push_manifest(name, tag, oci.index_of(images))
        return f"{self.host}/{name}:{tag}"


def json_type(content):
    """The media type that a document says it is, or None."""
    if not content.startswith(b"{"):
        return None
    return json.loads(content).get("mediaType")
