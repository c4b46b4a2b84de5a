"""The command line.  Modules here import typer and little else at the top: `latree --help` must be quick."""

from __future__ import annotations

import os
import sys

import typer

from latree.cli.bench import bench
from latree.cli.evaluate import evaluate
from latree.cli.parse import parse
from latree.cli.show import show
from latree.cli.tag import tag
from latree.cli.train import train
from latree.errors import LatreeError

app = typer.Typer(
    help="Latent-subtype grammars for parsing and tagging.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(train)
app.command()(parse)
app.command()(tag)
app.command("eval")(evaluate)
app.command()(show)
app.command()(bench)


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
    """Run the command; faults that the user can mend are one line, not a traceback.

    Exit codes: 0 done, 1 the input or a file is at fault, 2 the command line is, 130 interrupted.
    """
    # One thread for matrix products: sentences are spread over --jobs instead.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        app()
    except LatreeError as error:
        print(f"latree: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("latree: interrupted; what was printed before is complete", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, less) has gone: leave quietly, and keep Python from flushing into the void.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        print("latree: out of memory; try --max-length or fewer --jobs", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"latree: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
