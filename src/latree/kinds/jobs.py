"""Many sentences over several processes, in order and streaming.

Batches are the same whatever the number of jobs, so that the output is too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from latree.files import Arrays, Header
from latree.inference.results import Objective
from latree.kinds.hooks import Result
from latree.kinds.model import ForestModel, Model
from latree.kinds.registry import from_state
from latree.kinds.sentences import Sentence, batches

if TYPE_CHECKING:
    from latree.parallel import Jobs

Packed = tuple[str, Header, Arrays, dict[str, Any]]


def analyse_all(
    model: ForestModel[Result], sentences: str | Iterable[Sentence], jobs: Jobs, objective: Objective
) -> Iterator[Result]:
    """One analysis a sentence of a text or a list, in order.  Closing the iterator early stops the workers at once."""
    if jobs == 1:
        yield from model.analyse(sentences, objective)
        return
    from latree.parallel import Pool  # takes time to import, which one process has no need of

    source = batches(model.tokenize(sentences) if isinstance(sentences, str) else sentences)
    # The first batch is done here: a short input starts no worker, and kernels are compiled once, not by every worker.
    yield from model.analyse(next(source, []), objective)
    for second in source:
        with Pool(jobs, Parcel.open, Parcel(model)) as pool:
            for results in pool.stream(partial(_analyse, objective=objective), chain([second], source)):
                yield from results


def _analyse(model: Model, batch: list[Sentence], objective: Objective) -> list[Any]:
    return list(model.analyse(batch, objective))


class Parcel:
    """A model that another process may be sent; here it is the model itself."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def open(self) -> Any:
        """Take out the model."""
        return self.model

    def __getstate__(self) -> Packed:
        return pack(self.model)

    def __setstate__(self, packed: Packed) -> None:
        self.model = unpack(packed)


def pack(model: Model) -> Packed:
    """Make a model and the user's settings of it into data that another process can be sent."""
    return model.kind, *model.state(), {name: getattr(model, name) for name in model.run_options}


def unpack(packed: Packed) -> Model:
    """Make the model again."""
    kind, header, arrays, options = packed
    model = from_state(kind, header, arrays)
    for name, value in options.items():
        setattr(model, name, value)
    return model
