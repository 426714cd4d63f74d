#!/usr/bin/env python3
"""Prepares the folder that Sphinx reads: the repository's pages, with their links, and pages that the program generates.

    assemble.py OUTPUT PROGRAM

Pages keep their place: docs/x.md becomes x.md, ARCHITECTURE.md becomes architecture.md. A link to a file that is not a page leads to the
repository. A link to a file that does not exist is an error.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/anabranch/anabranch/blob/main/"

# Pages outside docs/, and their names on the site.
ELSEWHERE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "GLOSSARY.md": "glossary.md",
    "experiments/README.md": "experiments.md",
}

# A Markdown link or image, whose target is a file: not a scheme, not only an anchor.
LINK = re.compile(r"(\]\()((?![a-z]+:|#)[^)\s#]+)(#[^)\s]*)?(\))")


def pages():
    """Source file and name on the site of each page."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs")
        if name.parts[0] != "site":
            yield page, PurePosixPath(name)
    for page in sorted((ROOT / "docs/site").glob("*.md")):
        yield page, PurePosixPath(page.name)
    for source, name in ELSEWHERE.items():
        yield ROOT / source, PurePosixPath(name)


def relink(source, name, text, places, dead):
    """The text with links that are right on the site."""

    def target(match):
        before, path, anchor, after = match.groups(default="")
        file = (source.parent / path).resolve()
        if file in places:
            path = relative(places[file], name.parent)
        elif file.exists() and file.is_relative_to(ROOT):
            path = REPOSITORY + file.relative_to(ROOT).as_posix()
        elif (ROOT / "docs/site") == source.parent and is_generated(path):
            pass
        else:
            dead.append(f"{source.relative_to(ROOT)}: {path} does not exist")
        return before + path + anchor + after

    return LINK.sub(target, text)


def is_generated(path):
    """Whether a link of the site's own pages leads to what the build adds."""
    return PurePosixPath(path).parts[0] in ("program.md", "report", "api")


def relative(to, start):
    """The path from one folder of the site to a page of it."""
    up = [".."] * len(start.parts)
    return PurePosixPath(*up, to).as_posix()


def program_reference(program):
    """A page with the help of each verb, as the program prints it."""

    def help_of(*verb):
        printed = subprocess.run([program, *verb, "--help"], check=True, capture_output=True, text=True)
        return printed.stdout

    def verbs(text):
        listed = text.partition("\nCommands:\n")[2].partition("\n\n")[0]
        names = re.findall(r"^  ([a-z][a-z-]*)", listed, re.MULTILINE)
        return [name for name in names if name != "help"]

    def sections(path):
        text = help_of(*path)
        title = " ".join(["anabranch", *path])
        yield f"{'#' * (len(path) + 1)} {title}\n\n```text\n{text.rstrip()}\n```\n"
        for verb in verbs(text):
            yield from sections([*path, verb])

    return "\n".join(sections([])).replace("# anabranch\n", "# The program\n", 1)


def main():
    output, program = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    places = {source.resolve(): name for source, name in pages()}
    pictures = [picture.resolve() for picture in (ROOT / "docs").glob("*.png")]
    places |= {picture: PurePosixPath(picture.name) for picture in pictures}
    dead = []
    for source, name in pages():
        file = output / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(relink(source, name, source.read_text(), places, dead))
    for picture in pictures:
        shutil.copy(picture, output / places[picture])
    if dead:
        sys.exit("\n".join(["links to files that do not exist:", *dead]))
    (output / "program.md").write_text(program_reference(program))
    shutil.copy(ROOT / "docs/site/conf.py", output)


if __name__ == "__main__":
    main()
