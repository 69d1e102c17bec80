"""The `agentgym` command: one line and exit code 2 for a person's mistake, never a traceback."""

import json
import os
import sys
from typing import Annotated

import typer

from agentgym.cli import environments, evaluate, runs
from agentgym.cli.doctor import doctor
from agentgym.errors import AgentgymError

app = typer.Typer(
    name="agentgym",
    help="Benchmark and train LLM agents in multi-turn environments.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; allowed anywhere.")
    ] = False,
) -> None:
    """Benchmark and train LLM agents in multi-turn environments."""


app.command("list")(environments.list_environments)
app.command("info")(environments.info)
app.command("check")(environments.check)
app.command("new")(environments.new)
app.command("eval")(evaluate.evaluate)
app.command("runs")(runs.list_runs)
app.command("show")(runs.show)
app.command("replay")(runs.replay)
app.command("export")(runs.export)
app.command("doctor")(doctor)


def main() -> None:
    """Run the command; the entry point of the `agentgym` script."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    try:
        app(arguments, prog_name="agentgym")
    except AgentgymError as error:
        if debug:
            raise
        if "--json" in arguments:
            fault = {"kind": type(error).__name__, "message": str(error)}
            typer.echo(json.dumps({"error": fault}))
        typer.echo(f"agentgym: {one_line(str(error))}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(text: str) -> str:
    """Fold a message into one line."""
    return " ".join(text.split())
