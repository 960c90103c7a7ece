"""A release goes to s3 and to the hub whole, or its mark is not moved; both are stand-ins here."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.cli import _upload
from pipeline.errors import RecipeError, StoreError
from pipeline.files import file_digest_tree
from pipeline.progress import Watch
from pipeline.recipe import EngineSettings, _checked
from pipeline.run import Plan
from pipeline.store import Store
from pipeline.upload import UploadFailed, upload
from tests.pipeline import toy
from tests.pipeline.hub_stand_in import Hub, hub_stand_in

BUCKET = "s3://kernels/sets"


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return toy.run_and_publish(tmp_path / "out", [12, 13])


@pytest.fixture(scope="module")
def s3() -> Iterator[object]:
    """A local server that speaks s3, with a bucket; where it is stands in the environment."""
    s3fs = pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        files = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
        files.mkdir("kernels")
        yield files
    server.stop()


def test_s3_gets_every_file_and_the_mark_last(s3, first: Path, tmp_path: Path) -> None:
    assert upload(first, BUCKET)
    s3.get(f"kernels/sets/releases/{first.name}/", str(tmp_path / "back"), recursive=True)
    assert file_digest_tree(tmp_path / "back") == file_digest_tree(first)
    assert s3.cat_file("kernels/sets/latest").decode() == f"{first.name}\n"
    assert not upload(first, BUCKET), "it is there already"


def test_s3_that_fails_on_the_way_keeps_its_mark_and_the_next_try_gets_there(
    s3, first: Path, tmp_path: Path, monkeypatch
) -> None:
    upload(first, BUCKET)
    second = toy.run_and_publish(tmp_path / "out", [12, 13, 14])
    honest, sent = type(s3)._call_s3, []

    async def fails(self, method: str, *more: object, **named: object) -> object:
        if method == "put_object":
            sent.append(method)
            if len(sent) == 3:
                raise ConnectionResetError("the line is cut")
        return await honest(self, method, *more, **named)

    monkeypatch.setattr(type(s3), "_call_s3", fails)
    with pytest.raises(UploadFailed, match=r"was not uploaded \(ConnectionResetError: the line"):
        upload(second, BUCKET)
    assert s3.cat_file("kernels/sets/latest").decode() == f"{first.name}\n"
    monkeypatch.undo()
    assert upload(second, BUCKET)
    assert s3.cat_file("kernels/sets/latest").decode() == f"{second.name}\n"


@pytest.fixture
def hub(monkeypatch) -> Iterator[Hub]:
    from huggingface_hub import constants

    with hub_stand_in() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)  # it reads HF_ENDPOINT when imported
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        yield hub


def test_the_hub_gets_a_release_in_one_commit_without_what_was_before(
    hub: Hub, first: Path, tmp_path: Path
) -> None:
    hub.files["data/train-00000-of-00009.parquet"] = b"of a release before"
    assert upload(first, "hf://datasets/o/n")
    assert hub.commits == [first.name]
    for name, content in hub.files.items():
        assert (first / name).read_bytes() == content
    assert set(hub.files) == set(file_digest_tree(first))
    assert hub.tokens == {"Bearer hf_secret"}
    assert not upload(first, "hf://datasets/o/n"), "it is there already"


def test_a_hub_that_refuses_is_one_line_and_has_what_it_had(hub: Hub, first: Path) -> None:
    hub.files["README.md"], hub.refuse_commits = b"before", True
    with pytest.raises(UploadFailed, match=r"hf://datasets/o/n: .* was not uploaded") as failed:
        upload(first, "hf://datasets/o/n")
    assert "\n" not in str(failed.value) and "hf_secret" not in str(failed.value)
    assert hub.files == {"README.md": b"before"}


def test_a_run_brings_its_release_where_the_recipe_says(first: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    engine = EngineSettings(upload=(f"file://{there}",))
    recipe = replace(toy.recipe([12, 13]), engine=engine)
    plan = Plan(toy.STAGES, recipe, Store(tmp_path / "out"), tmp_path, Watch(Console(quiet=True)))
    _upload(plan, first)
    assert file_digest_tree(there / "releases" / first.name) == file_digest_tree(first)
    assert (there / "latest").read_text() == f"{first.name}\n"


def test_a_damaged_release_goes_nowhere(first: Path, tmp_path: Path) -> None:
    shard = first / "data" / "train-00000-of-00001.parquet"
    shard.write_bytes(shard.read_bytes()[:-9])
    with pytest.raises(StoreError, match="damaged"):
        upload(first, f"file://{tmp_path}/there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    "url", ["s3://key:secret@bucket/x", "bucket", "hf://datasets/n", "s3://b/x?secret=1"]
)
def test_a_recipe_with_a_key_or_nonsense_in_a_target_is_refused(url: str) -> None:
    with pytest.raises(RecipeError, match=r"engine\.upload"):
        _checked(Path("r.toml"), "engine", EngineSettings, {"upload": [url]})
