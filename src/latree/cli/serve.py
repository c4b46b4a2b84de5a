"""latree serve: a page and a JSON API from one process."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from latree.cli import common
from latree.cli.rehearsal import compiled_beside
from latree.cli.status import note
from latree.errors import LatreeError
from latree.kinds.model import Model
from latree.kinds.parser import Parser
from latree.kinds.registry import kind_named
from latree.web.limits import Limits

if TYPE_CHECKING:
    from latree.web.service import Service

_LIMITS = Limits()
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MODELS = typer.Option(
    None,
    "-m",
    "--model",
    metavar="MODEL",
    help="A model to serve beside those that come with latree, a file or a name; may be given several times, and the "
    "first is the one that is used where none is named.  [default: english]",
)
_SAVE = typer.Option(
    None,
    "--save",
    metavar="FOLDER",
    help="Let people save corrected trees: they are appended to saved.mrg in this folder.",
)


_QUEUE = typer.Option(
    None,
    "--queue",
    metavar="FILE",
    help="Offer these sentences to be annotated, first those that the model would learn most from (`latree rank`); "
    "those that are saved already are left out.  Read as by `latree parse`: a sentence a line, trees, or CoNLL-U.",
)


def serve(
    model: list[Path] = _MODELS,
    host: str = typer.Option(
        "127.0.0.1", "--host", metavar="H", help="The address to listen at; 0.0.0.0 is reached from other machines."
    ),
    port: int = typer.Option(8000, "--port", min=0, max=65535, metavar="N", help="The port; 0: any that is free."),
    save: Path = _SAVE,
    queue: str = _QUEUE,
    tokenize: bool = typer.Option(
        False, "--tokenize", help="The queue is ordinary text: split it into sentences and words."
    ),
    max_length: int = typer.Option(
        _LIMITS.words, "--max-length", min=1, metavar="N", help="Longer sentences, in words, are refused."
    ),
    timeout: float = typer.Option(
        _LIMITS.seconds, "--timeout", min=0.1, metavar="S", help="Seconds after which a request is given up."
    ),
) -> None:
    """Serve a page that draws trees as you type, and a JSON API, until Ctrl-C.

    Only this machine is answered, unless --host says otherwise.  GET /openapi.json describes the API.
    """
    if queue is not None and save is None:
        raise typer.BadParameter("--queue needs --save: what is annotated must be kept somewhere")
    if tokenize and queue is None:
        raise typer.BadParameter("--tokenize is for the text of --queue")
    service = _service(model or [], Limits(words=max_length, seconds=timeout), save)
    with _listening(host, port) as listener:
        _warm(service, model or [])
        if queue is not None:
            service.offer(_to_annotate(service, queue, tokenize))
        _run(service, host, listener)
    note("stopped")


def _service(models: list[Path], limits: Limits, folder: Path | None) -> Service:
    """The service; what is wrong with its models or its folder is told before it begins."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise LatreeError("the server needs starlette and uvicorn; install them: pip install 'latree[web]'") from None
    from latree.web.service import Service

    if folder is not None and not folder.is_dir():
        raise LatreeError(f"{folder}: no such folder to save trees in; make it first")
    service = Service(models, limits, folder)
    for shelf in service.library.shelves.values():
        _ = shelf.facts
    return service


def _to_annotate(service: Service, path: str, tokenize: bool) -> list[Sequence[str]]:
    """The sentences of a queue."""
    model = service.library.shelf(None).model
    split = common.splitter(model, tokenize, wrapped=False)
    sentences = [*common.read_sentences([path], None, split=split, labels=getattr(model, "labels", None))]
    most = service.limits.words
    if left_out := sum(len(words) > most for words in sentences):
        note(f"{left_out} of {len(sentences)} sentences have more than {most} words, and are left out")
    return sentences


def _listening(host: str, port: int) -> socket.socket:
    """A socket at the address, taken before the models are loaded, so that a port in use is told at once."""
    with ExitStack() as until_listening:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = until_listening.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError as error:
            reason = error.strerror or str(error)
            raise LatreeError(f"cannot listen at {host}:{port}: {reason}; try another --port") from None
        until_listening.pop_all()
    return listener


def _warm(service: Service, models: list[Path]) -> None:
    """Load the models that were named, or the default, and compile: the first who asks does not wait for that."""
    names = [path.stem for path in models] or [service.library.default]
    with compiled_beside([service.library.shelf(names[0]).path], 2, "max-rule"), common.telling_of_compilation():
        for name in names:
            _rehearse(service.library.shelf(name).model)


def _rehearse(model: Model) -> None:
    """Do once what the page asks for."""
    word = next(iter(model.lexicon.vocabulary))
    list(model.analyse([[word]]))
    if isinstance(model, Parser):
        model.kbest([word], 2)
        if kind_named(model.kind).generates:
            model.surprisal([word])


def _run(service: Service, host: str, listener: socket.socket) -> None:
    from latree.web.guard import LOCAL
    from latree.web.running import make_server

    server = make_server(service, LOCAL if host in _LOOPBACK else None)
    listener.listen()  # so that whoever reads the next line is not refused
    note(f"serving at {_address(listener)}; Ctrl-C stops it")
    with suppress(KeyboardInterrupt):  # sent again by uvicorn, once all that was under way is done
        server.run(sockets=[listener])


def _address(listener: socket.socket) -> str:
    name: Any = listener.getsockname()
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"http://{host}:{name[1]}/"
