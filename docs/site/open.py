#!/usr/bin/env python3
"""Opens pages of a site in Chromium, and searches it: open.py FOLDER.

Without Chromium it says so; where CI is set, that is an error.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Page with its query, and what Chromium has to show there.
PAGES = {
    "index.html": ["SCTP over several network paths at once"],
    "python.html": ["ProcessPoolExecutor"],
    "policies.html": ["blest"],
    "figures.html": ["<img"],
    "program.html": ["anabranch lab run"],
    "api/anabranch/index.html": ["Multipath transport for programs"],
    # Found by the page's own script.
    "search.html?q=scheduler": ["Search finished", "add-a-path-scheduler.html"],
}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without saying so."""

    def log_message(self, *_):
        pass


def shown(chromium, address, profile):
    """The page after its scripts have run, and what they complained about."""
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"]
    command += [f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    return done.stdout, errors


def main():
    root = Path(sys.argv[1]).resolve()
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((name for name in names if shutil.which(name)), None)
    if chromium is None:
        if "CI" in os.environ:
            sys.exit("the site is to be opened in Chromium: make setup")
        print("site: not opened, because there is no Chromium (make setup)")
        return
    wrong = []
    # As readers get it: the search fetches pages, which browsers refuse between files.
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host, port = server.server_address[:2]
    with tempfile.TemporaryDirectory() as profile:
        for page, wanted in PAGES.items():
            text, errors = shown(chromium, f"http://{host}:{port}/{page}", profile)
            wrong += [f"{page}: no “{phrase}”" for phrase in wanted if phrase not in text]
            wrong += [f"{page}: {error}" for error in errors]
    if wrong:
        sys.exit("\n".join(["pages that Chromium does not show as they are:", *wrong]))
    print(f"site: {len(PAGES)} pages opened in Chromium")


if __name__ == "__main__":
    main()
