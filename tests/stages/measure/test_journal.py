"""Results on disk: whole lines, chained, in files that are small enough to carry."""

from pathlib import Path

import pytest

from stages.measure import journal
from stages.measure.journal import DamagedJournal, Journal


def test_a_torn_last_line_is_dropped_and_the_journal_goes_on(tmp_path: Path) -> None:
    Journal(tmp_path, "results").append({"n": 1})
    with (tmp_path / "results-00.jsonl").open("a") as file:
        file.write('{"chain": "12')
    Journal(tmp_path, "results").append({"n": 2})
    assert journal.read(tmp_path, "results") == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("harm", ["change", "drop", "swap"])
def test_a_journal_that_was_changed_is_refused(tmp_path: Path, harm: str) -> None:
    book = Journal(tmp_path, "results")
    for n in range(3):
        book.append({"n": n})
    path = tmp_path / "results-00.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    changed = {
        "change": [lines[0].replace('"n": 0', '"n": 7'), *lines[1:]],
        "drop": [lines[0], lines[2]],
        "swap": [lines[1], lines[0], lines[2]],
    }[harm]
    path.write_text("".join(changed))
    with pytest.raises(DamagedJournal):
        journal.read(tmp_path, "results")


def test_files_stay_small_enough_to_carry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_BYTES", 1000)
    book = Journal(tmp_path, "results")
    for n in range(100):
        book.append({"n": n, "text": "x" * 50})
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) > 5
    assert max(sizes) <= 1000
    assert [line["n"] for line in journal.read(tmp_path, "results")] == list(range(100))


def test_generated_code_comes_back_as_it_was() -> None:
    code = "def call(args):\n    return 'é'\n" * 50
    line = journal.packed(code)
    assert journal.unpacked(line) == code
    assert len(line["zlib_b64"]) < len(code) / 5
