#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collect text for bench/text from packages of the distribution, nothing twice.

Usage: make-text.py DIR

Writes DIR/english.txt, DIR/chinese.txt (lines with Han characters, each once), the same as JSON Lines in
documents of 40 lines, and DIR/sources; what is there is kept. Packages are fetched with apt-get and unpacked,
not installed; those that can't be had are left out.
"""
import gzip
import html.parser
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

ENGLISH = ("linux-doc-6.1", "perl-doc", "python3.11-doc", "postgresql-doc-15", "git-doc", "manpages", "manpages-dev",
           "bible-kjv-text", "debian-handbook")
CHINESE = ("manpages-zh", "debian-handbook", "libreoffice-help-zh-cn", "fortunes-zh", "debian-reference-zh-cn",
           "debian-reference-zh-tw", "debian-faq-zh-cn", "maint-guide-zh-cn", "gimp-help-zh-cn",
           "debian-edu-doc-zh-cn", "lilypond-doc-html-zh")
TEXTS = re.compile(r"\.(rst|txt|yaml|html?|xhp|pod|[1-9][a-z]*|fortunes|raw)$|^[^.]+$")
MOST = 60_000_000          # bytes of each
HAN = re.compile("[\u3400-\u9fff]")


class Words(html.parser.HTMLParser):
    """The text of a page, blocks on lines of their own."""

    def __init__(self):
        super().__init__()
        self.parts, self.hidden = [], 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style")
        if tag in ("p", "div", "li", "h1", "h2", "h3", "h4", "td", "br", "tr", "dt", "dd", "pre"):
            self.parts.append("\n")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


def text_of(path):
    """The text of a file, or "" if it is none."""
    name = os.path.basename(path).removesuffix(".gz")
    if not TEXTS.search(name) or os.path.islink(path):
        return ""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
            text = f.read().decode()
    except (OSError, EOFError, UnicodeDecodeError):
        return ""
    if "\0" in text:
        return ""
    if name.endswith((".html", ".htm", ".xhp")):
        page = Words()
        page.feed(text)
        text = "".join(page.parts)
    return text


def files_of(package, folder):
    """Unpack PACKAGE into FOLDER and yield the texts of its files."""
    try:
        subprocess.run(["apt-get", "download", "-q", package], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        deb = next(f for f in os.listdir(folder) if f.endswith(".deb"))
        subprocess.run(["dpkg-deb", "-x", deb, "files"], cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError, StopIteration):
        return
    for path, _, names in sorted(os.walk(os.path.join(folder, "files"))):
        for name in sorted(names):
            yield text_of(os.path.join(path, name))


def collect(path, packages, chinese, sources):
    """Lines of PACKAGES into the file PATH.  English keeps its blank lines, indentation and short lines."""
    seen, total = set(), 0
    with open(path + ".tmp", "w", encoding="utf-8") as out:
        for package in packages:
            if total >= MOST:
                break
            size = 0
            with tempfile.TemporaryDirectory() as folder:
                for text in files_of(package, folder):
                    for line in text.split("\n"):
                        if bool(HAN.search(line)) != chinese and (chinese or len(line) > 1):
                            continue
                        if len(line) > 20 or chinese:
                            if line in seen:
                                continue
                            seen.add(line)
                        size += out.write(line + "\n") and len(line.encode()) + 1
                    if total + size >= MOST:
                        break
            if size:
                sources.append(f"{os.path.basename(path)}: {package} {size}")
            total += size
    os.rename(path + ".tmp", path)
    return total


def write_lines(path):
    """The text of PATH as JSON Lines beside it."""
    with open(path, encoding="utf-8") as text, open(path[:-3] + "jsonl", "w", encoding="utf-8") as out:
        while document := "".join(itertools.islice(text, 40)):
            out.write(json.dumps({"text": document}, ensure_ascii=False) + "\n")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, packages in (("english", ENGLISH), ("chinese", CHINESE)):
        path, sources = os.path.join(folder, name + ".txt"), []
        if os.path.exists(path):
            continue
        collect(path, packages, name == "chinese", sources)
        write_lines(path)
        with open(os.path.join(folder, "sources"), "a", encoding="utf-8") as f:
            f.write("".join(line + "\n" for line in sources))


if __name__ == "__main__":
    main()
