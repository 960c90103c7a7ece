"""One process at a time on a GPU."""

import os
import time
from pathlib import Path

from stages.measure.gate import Gate


def gate(path: Path, told: list[str] | None = None) -> Gate:
    return Gate(str(path), (told if told is not None else []).append, lambda: None)


def test_two_processes_are_never_both_inside(tmp_path: Path) -> None:
    log = tmp_path / "log"
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            mine = gate(tmp_path / "lock")
            for _ in range(5):
                mine.take()
                with log.open("a") as file:
                    file.write("in\n")
                    file.flush()
                    time.sleep(0.002)
                    file.write("out\n")
                mine.pass_on()
            os._exit(0)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    assert log.read_text().split() == ["in", "out"] * 20


def test_a_process_that_dies_inside_does_not_keep_the_others_out(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        gate(tmp_path / "lock").take()
        os._exit(9)
    os.waitpid(pid, 0)
    gate(tmp_path / "lock").take()


def test_who_holds_the_gate_for_a_while_gives_it_back_only_if_it_had_to_be_taken(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    mine = gate(tmp_path / "lock", told)
    with mine.held():
        pass
    assert told == ["wait", "hold", "compute"]
    mine.take()
    with mine.held():
        pass
    assert told == ["wait", "hold", "compute", "wait", "hold"]
