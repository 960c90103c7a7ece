"""The report page in headless Chromium: no error, the table works, nothing crawled is executed."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipeline.report.page import report_page
from pipeline.report.reading import read_release
from tests.pipeline.report.releases import (
    HOSTILE,
    SAMPLE,
    copy_of_the_sample,
    large_release,
    with_rows,
    with_text,
)

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no Chromium on this machine (apt-get install chromium, or set CHROMIUM)",
)
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@contextmanager
def opened(browser: Any, release: Path, folder: Path, **options: Any) -> Iterator[Any]:
    """The release's page, its table ready; fails on any console message or script error."""
    file = folder / "report.html"
    file.write_text(report_page(read_release(release)), encoding="utf-8")
    context = browser.new_context(offline=True, **({"viewport": DESK} | options))
    page, troubles = context.new_page(), []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(file.as_uri())
    page.locator("#count", has_text=" of ").wait_for(timeout=20_000)
    yield page
    context.close()
    assert troubles == []


def left_out() -> int:
    """How many rows the sample's ledger holds."""
    ledger = SAMPLE / "ledger"
    return sum(pq.read_table(path).num_rows for path in ledger.glob("*.parquet"))


def count(page: Any) -> str:
    return str(page.locator("#count").text_content())


def test_why_a_row_was_removed_is_two_clicks_away(browser: Any, tmp_path: Path) -> None:
    reasons = pq.read_table(SAMPLE / "ledger" / "removed.parquet")["reason"].to_pylist()
    with opened(browser, SAMPLE, tmp_path) as page:
        page.locator(".funnel summary").first.click()
        page.locator(".chip", has_text="no_input_found").click()
        page.locator("#count", has_text=f"{reasons.count('no_input_found')} of 150").wait_for()
        page.locator("#spacer .row").first.click()
        detail = page.locator("#detail-body").inner_text()
        assert "no_input_found" in detail and "kernelset explain" in detail


def test_filters_search_and_sorting_work_together(browser: Any, tmp_path: Path) -> None:
    levels = pq.read_table(SAMPLE / "data")["level"].to_pylist()
    kept = len(levels)
    with opened(browser, SAMPLE, tmp_path) as page:
        assert count(page).startswith("150 of 150")
        page.locator("input[value=kept] + span").click()
        assert count(page).startswith(f"{kept} of 150")
        page.locator("select[data-column=level]").select_option("L4")
        assert count(page).startswith(f"{levels.count('L4')} of 150")
        page.locator("#query").fill("softmax nothing-is-called-so")
        assert count(page).startswith("0 of 150")
        page.locator("button[type=reset]").click()
        page.locator("#count", has_text="150 of 150").wait_for()
        page.locator("[data-sort=l2]").click()
        assert "ResidualBlend" in page.locator("#spacer .row").first.inner_text()


def test_the_address_of_a_row_opens_it(browser: Any, tmp_path: Path) -> None:
    with opened(browser, SAMPLE, tmp_path) as page:
        plain = page.url
        page.locator("input[value=removed] + span").click()
        page.locator("#spacer .row").nth(1).click()
        name, address = page.locator("#detail-name").inner_text(), page.url
        for other in (plain + "#row=%E0%A4%A", plain + "#row=unknown"):
            page.goto("about:blank")
            page.goto(other)
            page.locator("#count", has_text=" of ").wait_for()
            assert not page.locator("#detail").is_visible()
        page.goto("about:blank")
        page.goto(address)
        page.locator("#detail").wait_for()
        assert page.locator("#detail-name").inner_text() == name


def test_a_program_opens_and_can_be_searched_for(browser: Any, tmp_path: Path) -> None:
    with opened(browser, SAMPLE, tmp_path) as page:
        page.locator("#query").fill("torch.lerp(skip")
        assert count(page).startswith("0 of")
        page.locator("#in-code").check()
        page.locator("#count", has_text="1 of 150").wait_for()
        page.locator("#spacer .row").click()
        assert "class Model(nn.Module)" in page.locator("#detail-body pre").inner_text()
        assert page.locator("#detail-name").inner_text() == "ResidualBlend"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it_without_scrolling_sideways(
    browser: Any, tmp_path: Path, scheme: str
) -> None:
    with opened(browser, SAMPLE, tmp_path, viewport=PHONE, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_hostile_text_is_shown_and_not_executed(browser: Any, tmp_path: Path) -> None:
    release = copy_of_the_sample(tmp_path)
    for column in ("code", "class_name", "path", "licence", "rationale"):
        with_rows(release, lambda table, column=column: with_text(table, column, HOSTILE))
    with opened(browser, release, tmp_path) as page:
        page.locator("#spacer .row").first.click()
        assert HOSTILE in page.locator("#detail-body pre").inner_text()
        assert page.locator("#detail-name").inner_text() == HOSTILE
        assert page.evaluate("window.broken") is None
        assert page.locator("img").count() == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_a_release_of_few_rows_opens_without_an_error(
    browser: Any, tmp_path: Path, rows: int
) -> None:
    release = with_rows(copy_of_the_sample(tmp_path), lambda table: table.slice(0, rows))
    with opened(browser, release, tmp_path) as page:
        assert count(page).startswith(f"{left_out() + rows} of")


def test_twenty_thousand_rows_are_ready_within_two_seconds(browser: Any, tmp_path: Path) -> None:
    release = large_release(tmp_path / "large", 20_000)
    file = tmp_path / "report.html"
    file.write_text(report_page(read_release(release)), encoding="utf-8")
    fastest = min(_seconds_until_ready(browser, file) for _ in range(3))  # others use this machine
    assert fastest < 2.0


def _seconds_until_ready(browser: Any, file: Path) -> float:
    page = browser.new_page()
    started = time.perf_counter()
    page.goto(file.as_uri())
    page.locator("#count", has_text=f"of {20_000 + 100 * left_out():,} rows").wait_for(
        timeout=20_000
    )
    seconds = time.perf_counter() - started
    page.close()
    return seconds
