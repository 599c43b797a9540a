"""A web server on this machine that gives files, and fails as web servers do."""

import contextlib
import hashlib
import http.server
import threading


class Web:
    """Files by their path, and what was asked for.

    Attributes:
        files: dict, path to bytes.
        requests: list of (path, value of the header Range or None).
        cut: dict, path to a number of bytes after which the connection breaks off.
        ranges: bool, whether parts of a file are given.
        address: of the server.
    """

    def __init__(self):
        self.files, self.requests, self.cut, self.ranges = {}, [], {}, True
        self.address = ""

    def answer(self, handler):
        path, wanted = handler.path, handler.headers.get("Range")
        self.requests.append((path, wanted))
        if path not in self.files:
            handler.send_error(404)
            return
        content = self.files[path]
        tag = f'"{hashlib.md5(content).hexdigest()}"'
        start = 0
        if wanted and self.ranges and handler.headers.get("If-Range") in (None, tag):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if start and start >= len(content):
            handler.send_error(416)
            return
        handler.send_response(206 if start else 200)
        if start:
            last = len(content) - 1
            handler.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
        handler.send_header("ETag", tag)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start : self.cut.pop(path, None)])


@contextlib.contextmanager
def serving():
    """Yields a `Web` that is served until the end."""
    web = Web()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            web.answer(self)

        def log_message(self, format, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        web.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield web
        server.shutdown()
        thread.join()
