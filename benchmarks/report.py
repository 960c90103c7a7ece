"""How long the report of a large release takes to make and to open: `python -m benchmarks.report`.

The release is the sample multiplied, each row with an identity and a program of its own. Opening is
from navigation until the table shows its count, in headless Chromium, three times.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from pipeline.report.page import write_report
from pipeline.report.reading import read_release
from tests.pipeline.report.releases import large_release

ROWS = 20_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        release = large_release(Path(folder) / "release", ROWS)
        page = Path(folder) / "report.html"
        started = time.perf_counter()
        write_report(read_release(release), page)
        made = time.perf_counter() - started
        say(f"{ROWS:,} rows: made in {made:.1f} s, {page.stat().st_size / 1e6:.1f} MB")
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        if chromium is None:
            say("not opened: no Chromium on this machine (apt-get install chromium)")
            return
        times = ", ".join(f"{seconds:.2f}" for seconds in opening_times(page, chromium))
        say(f"ready in {times} s")


def opening_times(page: Path, chromium: str, runs: int = 3) -> list[float]:
    """Seconds until the table is ready, a fresh tab each."""
    from playwright.sync_api import sync_playwright

    times = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(runs):
            tab = browser.new_page()
            started = time.perf_counter()
            tab.goto(page.as_uri())
            tab.locator("#count", has_text="rows").wait_for(timeout=60_000)
            times.append(time.perf_counter() - started)
            tab.close()
        browser.close()
    return times


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
