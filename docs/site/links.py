#!/usr/bin/env python3
"""Checks that every relative link of a site leads to a file of it, and every anchor to an element: links.py FOLDER.

The API documentation is checked by rustdoc, so its pages are not read here; links to it are.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])
        for name in ("id", "name"):
            if attributes.get(name):
                self.anchors.add(attributes[name])


def main():
    root = Path(sys.argv[1]).resolve()
    pages = {}

    def page(file):
        if file not in pages:
            pages[file] = Page(file.read_text())
        return pages[file]

    dead, count = set(), 0
    for file in sorted(root.rglob("*.html")):
        if file.relative_to(root).parts[0] == "api":
            continue
        for link in page(file).links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            count += 1
            target = (file.parent / unquote(address.path)).resolve() if address.path else file
            name = f"{file.relative_to(root)}: {link}"
            if not target.exists():
                dead.add(name)
            elif address.fragment and target.suffix == ".html" and not target.is_relative_to(root / "api"):
                if unquote(address.fragment) not in page(target).anchors:
                    dead.add(f"{name} (no such anchor)")
    if dead:
        sys.exit("\n".join(["dead links:", *sorted(dead)]))
    if count < 1000:
        sys.exit(f"only {count} links found")
    print(f"site: {count} links checked")


if __name__ == "__main__":
    main()
