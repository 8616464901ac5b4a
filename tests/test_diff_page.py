"""The page: self-contained, the same every time, and alive in a real browser."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from diffs import any_compiler

from asmgen import tools
from asmgen.cli import main
from asmgen.diff.charts import lines, thinned

#: Run in a copy of the page: every step says what it found in the document's title.
SCRIPT = """
<script>
addEventListener("load", () => {
  const said = [];
  const table = document.querySelector(".part:not([hidden]) table.listing");
  const lit = (side) => [...table.querySelectorAll("td.lit")].filter((cell) => !side || cell.dataset.side === side);
  const cells = [...table.querySelectorAll("td.ours[data-partners][data-line]")];
  const cell = cells.find((each) => each.textContent.includes("mul"));
  cell.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  const wanted = cell.dataset.partners.split(" ");
  const partners = lit("theirs");
  said.push("hover=" + (partners.length === wanted.length && partners.every((one) => wanted.includes(one.dataset.n))));
  const line = cell.dataset.line;
  said.push("script=" + lit().some((one) => one.classList.contains("source") && one.dataset.line === line));
  const back = lit("theirs")[0];
  back.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  said.push("back=" + lit("ours").includes(cell));
  const source = table.querySelector("td.source[data-line]");
  source.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  const own = lit("ours");
  said.push("source=" + (own.length > 0 && own.every((one) => one.dataset.line === source.dataset.line)));
  cell.click();
  said.push("pin=" + (table.querySelectorAll("td.pinned").length > 1));
  const here = () => document.activeElement;
  const key = (name) => here().dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const start = table.querySelector("td[tabindex='0']");
  start.focus();
  key("ArrowDown");
  said.push("down=" + (document.activeElement !== start && document.activeElement.cellIndex === start.cellIndex));
  key("End");
  key("Home");
  said.push("home=" + (document.activeElement.dataset.n === "1"));
  cell.tabIndex = 0;
  cell.focus();
  key("p");
  said.push("partner=" + (here().dataset.side === "theirs" && wanted.includes(here().dataset.n)));
  key("Escape");
  said.push("escape=" + (table.querySelectorAll("td.pinned, td.lit").length === 0));
  const cause = document.querySelector(".part:not([hidden]) [data-cause]");
  cause.click();
  said.push("cause=" + (table.querySelectorAll("td.pinned").length > 0));
  const before = getComputedStyle(document.body).backgroundColor;
  document.getElementById("theme").click();
  said.push("theme=" + (getComputedStyle(document.body).backgroundColor !== before));
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const other = tabs.find((tab) => tab.getAttribute("aria-selected") === "false");
  if (other) other.click();
  said.push("tabs=" + (!other || !document.getElementById(other.getAttribute("aria-controls")).hidden));
  said.push("wide=" + (document.documentElement.scrollWidth <= innerWidth));
  document.title = said.join(" ");
});
</script>
"""
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=1500,1200 --force-prefers-reduced-motion"
)


def browser() -> str:
    found = tools.find(("chromium", "chromium-browser", "google-chrome"))
    if found is None:
        pytest.skip("no Chromium here (Debian's chromium)")
    return found


def chromium(directory: Path, *arguments: str) -> str:
    """What a headless Chromium prints."""
    command = [browser(), *FLAGS.split(), f"--user-data-dir={directory / 'profile'}", *arguments]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return made.stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    any_compiler()
    path = tmp_path_factory.mktemp("page") / "mul.html"
    arguments = ["diff", "curve25519_5x51.mul", "--target", "amd64", "--vectors", "64", "--html", str(path)]
    found = CliRunner().invoke(main, [*arguments, "--flags", "-O2", "--flags", "-O1"])
    assert found.exit_code == 0, found.output
    return path


def test_it_needs_nothing_else(page: Path) -> None:
    text = page.read_text()
    places = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert places <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, "names of formats, not addresses"
    assert not re.search(r"<(link|img|iframe|object)\b|\b(src|href)=|@import|url\(", text.replace("xlink:href", ""))
    assert "default-src 'none'" in text


def test_it_is_the_same_every_time(page: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.html"
    arguments = ["diff", "curve25519_5x51.mul", "--target", "amd64", "--vectors", "64", "--html", str(again)]
    assert CliRunner().invoke(main, [*arguments, "--flags", "-O2", "--flags", "-O1"]).exit_code == 0
    assert again.read_text() == page.read_text()


def test_counterparts_point_at_each_other(page: Path) -> None:
    for part in re.findall(r'<table class="listing">.*?</table>', page.read_text(), re.S):
        sides: dict[str, dict[int, list[int]]] = {"ours": {}, "theirs": {}}
        for side, number, partners in re.findall(
            r'data-side="(\w+)" data-n="(\d+)"\s*(?:data-partners="([\d ]+)")?', part
        ):
            sides[side][int(number)] = [int(each) for each in partners.split()]
        for side, numbers in sides.items():
            other = sides["theirs" if side == "ours" else "ours"]
            assert sorted(numbers) == list(range(1, len(numbers) + 1))
            assert all(each in other for partners in numbers.values() for each in partners)
        assert sum(map(bool, sides["ours"].values())) > 80


def test_it_is_alive_in_a_browser(page: Path, tmp_path: Path) -> None:
    browser()
    copy = tmp_path / "copy.html"
    copy.write_text(page.read_text().replace("</body>", SCRIPT + "</body>"))
    document = chromium(tmp_path, "--dump-dom", copy.as_uri())
    said = dict(each.split("=") for each in re.search(r"<title>(.*?)</title>", document)[1].split())  # type: ignore[index]
    assert len(said) == 13 and all(value == "true" for value in said.values()), said


@pytest.mark.parametrize("dark", [False, True])
def test_it_can_be_seen_in_light_and_dark(page: Path, tmp_path: Path, dark: bool) -> None:
    browser()
    shot = tmp_path / "shot.png"
    scheme = [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    chromium(tmp_path, *scheme, f"--screenshot={shot}", page.as_uri())
    assert shot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and shot.stat().st_size > 50_000


def test_it_can_be_printed(page: Path, tmp_path: Path) -> None:
    browser()
    paper = tmp_path / "page.pdf"
    chromium(tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={paper}", page.as_uri())
    assert paper.read_bytes()[:5] == b"%PDF-" and paper.stat().st_size > 30_000


def test_charts_hold_no_date_and_few_points() -> None:
    assert len(thinned(range(100_000))) <= 400 and thinned([3, 1, 2]) == [(0, 3), (1, 1), (2, 2)]
    drawn = lines("x", "Title", "unit", [("one", [1, 2, 3]), ("two", [3, 2])])
    assert drawn == lines("x", "Title", "unit", [("one", [1, 2, 3]), ("two", [3, 2])])
    assert "<!--" not in drawn and "20" not in re.findall(r"\b20\d\d-\d\d", drawn) and "#chart-x" in drawn
