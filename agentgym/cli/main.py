"""The `agentgym` command: one line and exit code 2 for a person's mistake, never a traceback."""

import io
import sys
import traceback
from typing import Annotated

import typer
from typer.exceptions import TyperException

from agentgym.cli import environments, evaluate, export, mcp, plot, runs, sandbox, train
from agentgym.cli.doctor import doctor
from agentgym.cli.output import plain, print_json
from agentgym.cli.tokens import tokens
from agentgym.errors import AgentgymError

app = typer.Typer(
    name="agentgym",
    help="Benchmark and train LLM agents in multi-turn environments.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; allowed anywhere.")
    ] = False,
) -> None:
    """Benchmark and train LLM agents in multi-turn environments."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("list")(environments.list_environments)
app.command("info")(environments.info)
app.command("check")(environments.check)
app.command("new")(environments.new)
app.command("eval")(evaluate.evaluate)
app.command("runs")(runs.list_runs)
app.command("show")(runs.show)
app.command("replay")(runs.replay)
app.command("export")(export.export)
app.command("train")(train.train)
app.command("plot")(plot.plot)
app.command("tokens")(tokens)
app.command("doctor")(doctor)
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(mcp.app, name="mcp")


def main() -> None:
    """Run the command; the entry point of the `agentgym` script."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # its terminal or file may not be UTF-8
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    try:
        sys.exit(app(arguments, prog_name="agentgym", standalone_mode=False))
    except (AgentgymError, TyperException) as error:
        if debug:
            traceback.print_exc()
        if "--json" in arguments:
            fault = {"kind": type(error).__name__, "message": _one_line(error)}
            print_json({"error": fault})
        typer.echo(f"agentgym: {_one_line(error)}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)


def _one_line(error: AgentgymError | TyperException) -> str:
    """Fold an error into one line with its remedy."""
    if isinstance(error, AgentgymError):
        return plain(" ".join(str(error).split()))
    context = getattr(error, "ctx", None)  # a mistake in the words of a command knows which
    command = context.command_path if context else "agentgym"
    line = f"{error.format_message().rstrip('.')}. See `{command} --help`."
    return plain(" ".join(line.split()))
