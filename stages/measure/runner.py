"""Measures the jobs of a bundle on this machine.

    python3 run.py [--out FOLDER] [--budget-s S] [--workers N] [--device cuda] [--selftest]

Killed and started again with the same --out, it goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import selftest
from .journal import DamagedJournal, Journal, packed
from .pool import LIMITS_S, Answer, Job, Pool, PoolBroken, place_of


class BundleError(Exception):
    """The bundle is not what its manifest says, or the results are of another."""


def main(bundle: Path, arguments: list[str]) -> int:
    """The command line of run.py."""
    options = _parse(bundle, arguments)
    try:
        pool = Pool(
            packages=bundle,
            place=place_of(options.device, tell),
            workers=options.workers,
            start=options.start,
            limits_s=LIMITS_S | {"compile": options.compile_s, "measure": options.measure_s},
            tell=tell,
        )
        if options.selftest:
            return selftest.run(pool, tell)
        return Run(bundle, options, pool).run()
    except (BundleError, PoolBroken, DamagedJournal) as error:
        tell(str(error))
        return 1


class Run:
    """One run over a bundle's jobs."""

    def __init__(self, bundle: Path, options: argparse.Namespace, pool: Pool) -> None:
        self._options = options
        self._pool = pool
        manifest_text = (bundle / "manifest.json").read_bytes()
        self._manifest = json.loads(manifest_text)
        self._programs = _read_programs(bundle, self._manifest)
        self._journal = Journal(options.out, "results")
        self._generated = Journal(options.out, "generated")
        self._check_bundle(hashlib.sha256(manifest_text).hexdigest())
        self._known_code = {line["sha256"] for line in self._generated.lines}
        self._environments = {
            line["id"] for line in self._journal.lines if line["kind"] == "environment"
        }
        pool.rules = self._manifest["rules"]

    def run(self) -> int:
        """Measures what is not measured yet; gives the exit code."""
        started = time.monotonic()
        jobs = self._jobs_to_do()
        tally = Tally(len(jobs), started)
        tell(f"{len(jobs)} jobs to do, {self._options.workers} children at once")
        with self._pool as pool:
            canaries = 0
            for job, answer in pool.measure(jobs, started + self._options.budget_s):
                for canary in pool.canaries[canaries:]:
                    self._keep_canary(canary)
                canaries = len(pool.canaries)
                self._keep(job, answer)
                tally.count(job, answer["records"])
                tally.show(now_and_then=True)
            if not pool.lost:
                pool.look_at_canary()
            for canary in pool.canaries[canaries:]:
                self._keep_canary(canary)
        tally.show()
        return 1 if self._pool.lost else 0

    def _check_bundle(self, digest: str) -> None:
        """The results' first line names the bundle; other results are not added to."""
        if not self._journal.lines:
            self._journal.append({"kind": "bundle", "manifest_sha256": digest})
        elif self._journal.lines[0].get("manifest_sha256") != digest:
            raise BundleError(f"{self._options.out} holds results of another bundle")

    def _jobs_to_do(self) -> list[Job]:
        done = {line["job"] for line in self._journal.lines if line["kind"] == "job"}
        wanted = set(self._options.problems.split(",")) if self._options.problems else None
        jobs = [
            job | {"code": self._programs[job["program"]]}
            for job in self._manifest["jobs"]
            if job["job"] not in done
            and (wanted is None or any(job["problem_id"].startswith(w) for w in wanted))
            and job["round"] < (self._options.rounds or 99)
        ]
        # One dtype after the other; all shapes of a problem together, in one child. The order is the
        # manifest's, not that of what is left: a run that goes on must not begin with another dtype.
        everything = self._manifest["jobs"]
        dtypes = list(dict.fromkeys((job["dtype"], job["tf32"]) for job in everything))
        jobs.sort(
            key=lambda j: (dtypes.index((j["dtype"], j["tf32"])), j["problem_id"], j["round"])
        )
        return jobs[: self._options.limit] if self._options.limit else jobs

    def _keep(self, job: Job, answer: dict[str, Any]) -> None:
        records = []
        for record in answer["records"]:
            code = record.pop("generated_code", None)
            if code:
                packed_code = packed(code)
                record["generated_sha256"] = packed_code["sha256"]
                if packed_code["sha256"] not in self._known_code:
                    self._generated.append(packed_code)
                    self._known_code.add(packed_code["sha256"])
            records.append(record)
        environment = self._note_environment(answer["environment"])
        self._journal.append(
            {
                "kind": "job",
                "job": job["job"],
                "environment": environment,
                "records": records,
                "state": answer["state"],
                "finished": round(time.time(), 1),
            }
        )

    def _note_environment(self, environment: dict[str, Any]) -> str:
        text = json.dumps(environment, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        if name not in self._environments:
            self._journal.append({"kind": "environment", "id": name, "environment": environment})
            self._environments.add(name)
        return name

    def _keep_canary(self, answer: Answer) -> None:
        environment = self._note_environment(answer["environment"])
        line = {"kind": "canary", **answer["canary"], "state": answer["state"]}
        self._journal.append(line | {"environment": environment})


@dataclass
class Tally:
    """The progress line."""

    total: int
    started: float
    done: int = 0
    shown: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)
    problems: set[str] = field(default_factory=set)

    def count(self, job: Job, records: Iterable[dict[str, Any]]) -> None:
        self.done += 1
        self.problems.add(job["problem_id"])
        for record in records:
            self.statuses[record["status"]] = self.statuses.get(record["status"], 0) + 1

    def show(self, *, now_and_then: bool = False) -> None:
        """Tells where the run stands; `now_and_then` at most every five seconds."""
        now = time.monotonic()
        if now_and_then and now - self.shown < 5:
            return
        self.shown = now
        hours = max((now - self.started) / 3600, 1e-6)
        statuses = ", ".join(f"{name} {count}" for name, count in sorted(self.statuses.items()))
        tell(
            f"{self.done}/{self.total} jobs in {hours * 60:.1f} min ({statuses}); "
            f"{len(self.problems)} problems, {len(self.problems) / hours:.0f} an hour"
        )


def tell(text: str) -> None:
    """One line for the person watching."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _parse(bundle: Path, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    parser.add_argument("--out", type=Path, default=bundle / "results")
    parser.add_argument("--budget-s", type=float, default=1e9, help="stop starting jobs after this")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--start", choices=("fork", "spawn"), default="fork")
    parser.add_argument("--limit", type=int, default=0, help="only so many jobs")
    parser.add_argument("--rounds", type=int, default=0, help="1: only first shapes")
    parser.add_argument("--problems", default="", help="problem ids or their beginnings, by comma")
    parser.add_argument("--compile-s", type=float, default=LIMITS_S["compile"], help="time limit")
    parser.add_argument("--measure-s", type=float, default=LIMITS_S["measure"], help="time limit")
    parser.add_argument("--selftest", action="store_true", help="a few jobs, to see that it works")
    return parser.parse_args(arguments)


def _read_programs(bundle: Path, manifest: dict[str, Any]) -> dict[str, str]:
    data = (bundle / "programs.jsonl").read_bytes()
    if hashlib.sha256(data).hexdigest() != manifest["programs_sha256"]:
        raise BundleError("programs.jsonl is not the file that was exported")
    rows = [json.loads(line) for line in data.splitlines()]
    return {row["sha256"]: row["code"] for row in rows}
