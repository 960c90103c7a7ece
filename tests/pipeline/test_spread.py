"""Work spread over processes: the same answers in the same order, and no silence at a death."""

import itertools
import os
from collections.abc import Iterator

import pytest

from pipeline.spread import WorkerDied, spread


def double(number: int) -> int:
    return 2 * number


def refuse_seven(number: int) -> int:
    if number == 7:
        raise ValueError("not seven")
    return number


def die(number: int) -> int:
    os._exit(9)


@pytest.mark.parametrize("processes", [1, 2])
def test_answers_come_in_order_and_questions_are_taken_as_needed(processes: int) -> None:
    taken = []

    def questions() -> Iterator[int]:
        for number in itertools.count():
            taken.append(number)
            yield number

    answers = spread(double, questions(), processes=processes, chunk=3)
    assert list(itertools.islice(answers, 20)) == [2 * n for n in range(20)]
    answers.close()
    assert len(taken) < 60


def test_what_the_function_raises_is_raised_here_and_a_dead_process_is_one_line() -> None:
    with pytest.raises(ValueError, match="not seven"):
        list(spread(refuse_seven, range(20), processes=2, chunk=2))
    with pytest.raises(WorkerDied, match="out of memory") as caught:
        list(spread(die, range(4), processes=2, chunk=1))
    assert "\n" not in str(caught.value)


def test_no_question_no_answer() -> None:
    assert list(spread(double, [], processes=2)) == []
