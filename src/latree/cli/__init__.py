"""The command line.  Modules here import typer and little else at the top: `latree --help` must be quick."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec

import typer

from latree.cli.bench import bench
from latree.cli.compare import compare
from latree.cli.evaluate import evaluate
from latree.cli.import_ import import_
from latree.cli.parse import parse
from latree.cli.show import show
from latree.cli.tag import tag
from latree.cli.train import train
from latree.errors import LatreeError

Arguments = ParamSpec("Arguments")

app = typer.Typer(
    help="Latent-subtype grammars for parsing and tagging.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _guarded(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Faults that the user can mend are one line, not a traceback.  This lies inside typer, which has its own ways."""

    @wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except LatreeError as error:
            _leave(str(error))
        except KeyboardInterrupt:
            _leave("interrupted; what was printed before is complete", 130)
        except BrokenPipeError:
            # The reader (head, less) has gone: leave quietly, and keep Python from flushing into the void.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except MemoryError:
            _leave("out of memory; try --max-length or fewer --jobs")
        except OSError as error:
            reason = error.strerror or str(error)
            _leave(reason if error.filename is None else f"{error.filename}: {reason}")

    return run


def _leave(message: str, code: int = 1) -> NoReturn:
    print(f"latree: {message}", file=sys.stderr)
    sys.exit(code)


app.command()(_guarded(train))
app.command()(_guarded(parse))
app.command()(_guarded(tag))
app.command("eval")(_guarded(evaluate))
app.command()(_guarded(compare))
app.command()(_guarded(show))
app.command("import")(_guarded(import_))
app.command()(_guarded(bench))


def _version(wanted: bool) -> None:
    if wanted:
        from latree import __version__

        typer.echo(f"latree {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Latent-subtype grammars for parsing and tagging."""


def main() -> None:
    """Run the command.  Exit codes: 0 done, 1 the input or a file is at fault, 2 the command line is, 130 Ctrl-C."""
    # One thread for matrix products: sentences are spread over --jobs instead.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as the input is, whatever the locale
    app()
