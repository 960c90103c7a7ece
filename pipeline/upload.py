"""Where a new release goes besides `out/`: an object store, any fsspec URL, or a dataset on the hub.

    s3://bucket/folder           releases/<name>/… as in out/, and last the file `latest` with the name
    hf://datasets/owner/name     the release's files, all in one commit

Nobody sees half of it: on a store `latest` is written when every file is there and has its size; the hub
takes a commit whole or not at all. Keys and tokens come from the environment alone (AWS_*, HF_TOKEN).
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import KernelsetError
from pipeline.release import check_release
from pipeline.targets import HUB

MARK = "latest"


class UploadFailed(KernelsetError):
    """A release could not be uploaded; it is complete here, and the next run tries again."""


def upload(release: Path, url: str) -> bool:
    """Brings a release there, unless it is the latest there already; whether it had to.

    Raises:
        StoreError: the release is damaged: what is not right here does not go anywhere.
        UploadFailed: it is not there, or not whole; `latest` there is what it was.
    """
    names = [*check_release(release)["files"], "manifest.json"]
    with _one_line(release, url):
        if url.startswith(HUB):
            return _to_hub(release, url.removeprefix(HUB))
        return _to_store(release, names, url)


def _to_store(release: Path, names: list[str], url: str) -> bool:
    import fsspec

    files, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
    mark = f"{root}/{MARK}"
    if files.exists(mark) and files.cat_file(mark).decode().strip() == release.name:
        return False
    for name in names:
        there = f"{root}/releases/{release.name}/{name}"
        files.makedirs(there.rpartition("/")[0], exist_ok=True)
        files.put_file(str(release / name), there)
        if files.size(there) != (release / name).stat().st_size:
            raise OSError(f"{name} is not there as it was sent")
    files.pipe_file(mark, f"{release.name}\n".encode())
    return True


def _to_hub(release: Path, repository: str) -> bool:
    from huggingface_hub import HfApi

    hub = HfApi()
    hub.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
    commits = hub.list_repo_commits(repository, repo_type="dataset")
    if commits and commits[0].title == release.name:
        return False
    # Shards of the release before go in the same commit, or two releases would mix.
    hub.upload_folder(
        repo_id=repository,
        folder_path=release,
        repo_type="dataset",
        commit_message=release.name,
        delete_patterns="*",
    )
    return True


@contextlib.contextmanager
def _one_line(release: Path, url: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each client has error classes of its own
        why = (str(error).splitlines() or [""])[0]
        raise UploadFailed(
            f"{url}: {release.name} was not uploaded ({type(error).__name__}: {why}); "
            "it is complete here: run again"
        ) from error
