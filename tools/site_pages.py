#!/usr/bin/env python3
"""Makes a site of the pages, with search, by mdbook: target/site/book. Every link of it must lead to a page and its section.

    tools/site_pages.py [--pages FOLDER]     with --pages, writes the sources of mdbook there and does not run it

The pages stay as they are, for reading as files: they are copied at their places, so that links between them hold, and the
table of contents is made of the list below. Called by `make site`.
"""
import argparse
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What pages link to.
COPIED = ["docs", "examples", "policies", "policies-cel", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"]
# Pages of `docs` by part; a page that is in none of them is an error.
CONTENTS = {
    "Run it": ["install", "ways", "doctor", "rights", "cluster-policies", "behaviour", "running", "metrics", "page", "changes", "snapshot", "versions",
               "feature-gates", "performance", "release"],
    "Write policies": ["tutorial", "language", "documents", "tests", "ci"],
    "Look it up": ["statements", "fields", "functions", "codes", "cel", "cel-differences", "cel-conformance", "exit-status",
                   "json", "batch"],
}
# Folders below `docs`, each with a README and pages that it lists: folder and part.
FOLDERS = {"runbooks": "Run it"}
BOOK = """[book]
title = "Bayplan"
description = "A Kubernetes scheduler whose rules you write, test, preview and explain"
language = "en"
src = "."

[build]
build-dir = "book"
create-missing = false

[output.html]
no-section-label = true

[output.html.search]
limit-results = 20
"""


def title(page):
    """The heading of a page."""
    return re.search(r"^# (.*)$", page.read_text(), re.M).group(1).replace("`", "")


def contents():
    """The table of contents, as mdbook reads it."""
    pages = {path.stem: path for path in (ROOT / "docs").glob("*.md")}
    listed = [name for names in CONTENTS.values() for name in names]
    missing = sorted((set(pages) - set(listed) - {"README"}) | set(listed) - set(pages))
    if missing:
        sys.exit(f"site: the contents in tools/site_pages.py and the pages of docs differ: {', '.join(missing)}")
    folders = sorted({path.relative_to(ROOT / "docs").parts[0] for path in (ROOT / "docs").glob("*/**/*.md")})
    unknown = sorted(set(folders) - set(FOLDERS))
    if unknown:
        sys.exit(f"site: docs has folders with pages that tools/site_pages.py does not know: {', '.join(unknown)}")
    lines = ["# Summary", "", "[Bayplan](docs/README.md)"]
    for part, names in CONTENTS.items():
        lines += ["", f"# {part}", ""]
        lines += [f"- [{title(pages[name])}](docs/{name}.md)" for name in names]
        for folder in folders:
            if FOLDERS[folder] == part:
                lines += tree(ROOT / "docs" / folder)
    lines += ["", "# Examples", ""]
    for readme in sorted((ROOT / "examples").glob("*/README.md")):
        lines.append(f"- [{title(readme)}]({readme.relative_to(ROOT)})")
    lines += ["", "# Policies", ""]
    lines += tree(ROOT / "policies")
    lines += ["- [The policies as documents](policies-cel/README.md)", "", "# How it is built", ""]
    lines += [f"- [{title(ROOT / name)}]({name})" for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return "\n".join(lines) + "\n"


def tree(folder):
    """The page of a folder, with the pages below it."""
    lines = [f"- [{title(folder / 'README.md')}]({(folder / 'README.md').relative_to(ROOT)})"]
    for page in sorted(folder.rglob("*.md")):
        if page != folder / "README.md":
            lines.append(f"  - [{title(page)}]({page.relative_to(ROOT)})")
    return lines


def write_pages(folder):
    """The sources of mdbook."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for name in COPIED:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / name)
    (folder / "book.toml").write_text(BOOK)
    # A folder that is linked becomes a page with its files.
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text()
        for link in set(re.findall(r"\]\(([^)#\s:]+)\)", text)):
            target = page.parent / link
            if target.is_dir():
                readme = target / "README.md"
                if not readme.exists():
                    files = sorted(path.relative_to(target) for path in target.rglob("*") if path.is_file())
                    lines = [f"# The files of `{target.resolve().relative_to(folder.resolve())}`", ""]
                    readme.write_text("\n".join(lines + [f"- [{file}]({file})" for file in files]) + "\n")
                text = text.replace(f"]({link})", f"]({link.rstrip('/')}/README.md)")
        page.write_text(text)
    listed = contents()
    for readme in sorted(folder.rglob("README.md")):
        if str(readme.relative_to(folder)) not in listed:
            listed += f"- [{title(readme)}]({readme.relative_to(folder)})\n"
    (folder / "SUMMARY.md").write_text(listed)
    # mdbook makes index.html of a README, and leaves the links to it as they are.
    for page in sorted(folder.rglob("*.md")):
        page.write_text(re.sub(r"(\]\([^)\s:]*\b)README\.md", r"\1index.md", page.read_text()))
        if page.name == "README.md":
            page.rename(page.with_name("index.md"))


class Links(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        link = attributes.get("href" if tag in ("a", "link") else "src")
        if link:
            self.links.append(link)


def broken(book):
    """Links that lead nowhere."""
    pages = {path: Links(path.read_text()) for path in book.rglob("*.html")}
    found, count = [], 0
    for path, page in sorted(pages.items()):
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or link.startswith("//") or path.name in ("404.html", "print.html", "toc.html"):
                continue
            count += 1
            target = pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(parts.path))) if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists() or target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{path.relative_to(book)}: {link}")
    return found, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=pathlib.Path)
    args = parser.parse_args()
    folder = args.pages or ROOT / "target/site"
    write_pages(folder)
    if args.pages:
        return
    subprocess.run([ROOT / "tools/mdbook.sh", "build", folder], check=True)
    book = folder / "book"
    # The address of the site leads to the first page.
    (book / "index.html").write_text('<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">Bayplan</a>\n')
    found, count = broken(book)
    print("\n".join(found))
    if found:
        sys.exit(f"site: {len(found)} of {count} links lead nowhere")
    print(f"{book}: {count} links lead to a page and its section")


if __name__ == "__main__":
    main()
