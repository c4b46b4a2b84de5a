"""The same results on a Ray cluster as on one machine, also where machines of it are taken away."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench.machines import ATTENTIVE, machines, take_away

from latree.cluster import Cluster
from latree.errors import LatreeError
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg_d.model import LvgD
from latree.kinds.svs.model import Svs
from latree.learning import latent_treebank
from latree.learning.loop import Training
from latree.parallel import Pool, Residents
from tests.command import toy_trees

ray = pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

QUICK = LvgOptions(rounds=2, split_iterations=10, merge_iterations=5, smooth_iterations=3)


@pytest.fixture(scope="module", name="machines")
def two_machines() -> Iterator[Any]:
    """A cluster of two machines with two cores each, all of them this one."""
    with machines(**ATTENTIVE) as cluster:
        yield cluster


@pytest.fixture
def cluster(machines: Any) -> Cluster:
    return Cluster(machines.address)


def keep(*state: int) -> list[int]:
    return list(state)


def add_slowly(kept: list[int], number: int) -> int:
    time.sleep(0.05)
    return sum(kept) + number


def refuse(kept: list[int], number: int) -> int:
    raise LatreeError(f"not {number}")


def refuse_to_begin() -> list[int]:
    raise LatreeError("nothing to keep")


def machine_of(kept: list[int]) -> str:
    return str(ray.get_runtime_context().get_node_id())


def same_arrays(one: Any, other: Any) -> bool:
    (_, first), (_, second) = one.state(), other.state()
    return first.keys() == second.keys() and all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_workers_are_as_many_as_cores(cluster: Cluster) -> None:
    assert cluster.size == 4


def test_results_come_in_order(cluster: Cluster) -> None:
    with Pool(cluster, keep, 1, 2) as pool:
        assert list(pool.stream(add_slowly, range(50))) == [3 + k for k in range(50)]


def test_errors_are_as_they_were(cluster: Cluster) -> None:
    with Pool(cluster, keep) as pool, pytest.raises(LatreeError, match="not 3"):
        pool.submit(refuse, 3).result()


def test_workers_that_cannot_be_set_up_say_why(cluster: Cluster) -> None:
    with Pool(cluster, refuse_to_begin) as pool, pytest.raises(LatreeError, match="nothing to keep"):
        pool.submit(machine_of).result()


def test_machines_have_as_many_workers_as_each_other(cluster: Cluster) -> None:
    for _ in range(3):
        with closing(Residents(cluster, keep, [()] * 4)) as residents:
            assert sorted(Counter(residents.call(machine_of)).values()) == [2, 2]


def test_nothing_is_lost_where_a_machine_is_taken_away(cluster: Cluster, machines: Any) -> None:
    doomed = machines.add_node(num_cpus=2)
    with Pool(cluster, keep, 5) as pool:
        results = pool.stream(add_slowly, range(120))
        found = [next(results) for _ in range(10)]
        take_away(machines, doomed)
        found += results
    assert found == [5 + k for k in range(120)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lvg(QUICK),
        lambda: Lvg(QUICK, estimator="variational"),
        lambda: GmLveg(rounds=1, epochs=2, batch=16, spans=True),
        lambda: LvgD(rounds=1, epochs=1, iterations=4),
        lambda: Svs(headwords=20, clusters=2),
    ],
    ids=["lvg", "variational", "gm-lveg", "lvg-d", "svs"],
)
def test_trainings_are_the_same(make: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latent_treebank, "WORDS_A_STRETCH", 500)
    trees = toy_trees("dev")
    here, there = (make().fit(trees, Training(jobs=jobs)) for jobs in (1, cluster))
    assert same_arrays(here, there)


def test_a_training_goes_on_where_a_machine_is_taken_away(
    cluster: Cluster, machines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latent_treebank, "WORDS_A_STRETCH", 200)
    trees, doomed = toy_trees("train"), machines.add_node(num_cpus=2)
    killer = threading.Timer(3.0, take_away, (machines, doomed))
    killer.start()
    there = Lvg(QUICK).fit(trees, Training(jobs=cluster))
    killer.join()
    assert same_arrays(Lvg(QUICK).fit(trees), there)


def test_parses_are_the_same(cluster: Cluster) -> None:
    model = Lvg(QUICK).fit(toy_trees("train"))
    words = [tree.words() for tree in toy_trees("dev")]
    assert [str(one) for one in model.parse_all(words, cluster)] == [str(one) for one in model.parse_all(words)]


def test_no_cluster_is_told(tmp_path: Path) -> None:
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(LatreeError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"):
        assert Cluster("127.0.0.1:1").size
