"""The site: `make site` passes, its first page asks who you are, its search knows the pages, and broken links are found."""
import sys
import tempfile
import unittest
from pathlib import Path

from control_plane import ROOT, run

sys.path.insert(0, str(ROOT / "tools"))
import site_pages  # noqa: E402


class Site(unittest.TestCase):
    def test_the_site_is_made_and_all_links_hold(self):
        said = run("make", "--silent", "site")
        self.assertIn("links lead to a page and its section", said)
        book = ROOT / "target/site/book"
        first = (book / "docs/index.html").read_text()
        self.assertIn("Who are you?", first)
        for page in ("install", "tutorial", "ci"):
            self.assertIn(f'href="{page}.html', first)
        self.assertIn("docs/index.html", (book / "index.html").read_text())
        [index] = book.glob("searchindex*.js")
        self.assertIn("steady-nodes", index.read_text())
        pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"README"}
        self.assertGreater(len(list((book / "docs/runbooks").glob("Bayplan*.html"))), 5)
        self.assertLessEqual(pages, {path.stem for path in (book / "docs").glob("*.html")})

    def test_broken_links_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            book = Path(folder)
            (book / "a.html").write_text('<a href="b.html#here"></a><a href="b.html#gone"></a><a href="c.html"></a>')
            (book / "b.html").write_text('<h1 id="here">b</h1><a href="https://example.com/">out</a>')
            found, count = site_pages.broken(book)
        self.assertEqual((found, count), (["a.html: b.html#gone", "a.html: c.html"], 3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
