"""The command `eval`: play tasks, keep every trajectory, print what it came to."""

import shlex
from typing import Annotated

import typer

from agentgym.cli.options import EnvArgs, SandboxOption, StoreOption, environment_options
from agentgym.cli.output import JsonFlag, print_json, print_text
from agentgym.cli.settings import checked_limits, checked_llm, checked_run_id, checked_seconds
from agentgym.registry import spec
from agentgym.tasks import load_tasks


def evaluate(
    env: Annotated[str, typer.Argument(metavar="ENV", help="An environment, such as sql.")],
    agent: Annotated[
        str | None,
        typer.Option(
            help="null, random, oracle, scripted:FILE or a baseline of the environment's own; "
            "several with commas."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="An LLM, such as openai/gpt-x or anthropic/claude-x, or local:FOLDER of a Hugging "
            "Face model."
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="An OpenAI-compatible endpoint, up to /v1.")
    ] = None,
    client: Annotated[
        str | None, typer.Option(help="lean, openai or litellm; chosen by the model by default.")
    ] = None,
    action_format: Annotated[
        str,
        typer.Option(
            "--format", help="native or hermes tool calls; react or brackets for models without."
        ),
    ] = "native",
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Output tokens a turn.")] = None,
    model_timeout: Annotated[float, typer.Option(help="Seconds a model call may take.")] = 120.0,
    model_attempts: Annotated[int, typer.Option(min=1, help="Model calls a turn at most.")] = 8,
    price: Annotated[
        str | None, typer.Option(metavar="IN,OUT", help="US dollars per million tokens.")
    ] = None,
    history: Annotated[
        str, typer.Option(help="full, or window:N for the task and the last N turns.")
    ] = "full",
    system: Annotated[str | None, typer.Option(help="Standing words before everything.")] = None,
    token_ids: Annotated[
        bool,
        typer.Option("--token-ids", help="Keep the exact tokens, which a vLLM server can tell."),
    ] = False,
    tasks: Annotated[
        str | None, typer.Option(help="A task set's name, a tasks.jsonl, or a folder.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task id or pattern; may be repeated.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only this split.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many tasks.")] = None,
    shuffle_seed: Annotated[int | None, typer.Option(help="Shuffle the tasks first.")] = None,
    include_flagged: Annotated[
        bool, typer.Option("--include-flagged", help="Play tasks known to be unsound too.")
    ] = False,
    epochs: Annotated[int, typer.Option(help="Episodes a task.")] = 1,
    concurrency: Annotated[int, typer.Option(help="Episodes at once.")] = 8,
    seed: Annotated[int, typer.Option(help="The run's seed.")] = 0,
    max_turns: Annotated[int | None, typer.Option(help="Agent turns an episode.")] = None,
    token_limit: Annotated[int | None, typer.Option(help="Tokens an episode.")] = None,
    cost_limit: Annotated[float | None, typer.Option(help="US dollars an episode.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds in the environment an episode.")
    ] = None,
    step_timeout: Annotated[float, typer.Option(help="Seconds until a hung step is given up.")] = (
        300.0
    ),
    attempts: Annotated[int, typer.Option(help="Starts of an episode, where it breaks.")] = 3,
    sandbox: SandboxOption = None,
    env_arg: EnvArgs = None,
    store: StoreOption = None,
    run_id: Annotated[str | None, typer.Option(help="The run's name in the store.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with --run-id, or start it if it is new.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate agents on an environment. Exit code 1 where episodes ended in errors."""
    from agentgym.agents.factory import make_agents
    from agentgym.cli.carry_out import carry_out, first_error
    from agentgym.cli.results import print_look_closer, print_results
    from agentgym.rollout.plan import Plan, new_run_id
    from agentgym.trajectories.store import TrajectoryStore

    env_spec = spec(env)
    run_id = checked_run_id(run_id, resume=resume) or new_run_id()
    options = environment_options(env_spec, env_arg, sandbox)
    if model is not None and options.get("judge_model") == model:
        print_text(
            "The judge is the agent's own model; another judges more fairly.", to_stderr=True
        )
    limits = checked_limits(max_turns, token_limit, cost_limit, time_limit)
    asked = {
        "model": model,
        "base_url": base_url,
        "client": client,
        "format": action_format,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "attempts": model_attempts,
        "timeout": model_timeout,
        "history": history,
        "system": system,
        "token_ids": token_ids,
    }
    agents = make_agents(agent, checked_llm(asked, price, limits), env_spec)
    selected = load_tasks(env_spec, tasks).select(
        ids=task or (),
        split=split,
        limit=limit,
        shuffle_seed=shuffle_seed,
        flagged=include_flagged,
    )
    plans = [
        Plan(
            env_spec=env_spec,
            tasks=selected,
            agent=one,
            env_options=options,
            epochs=epochs,
            seed=seed,
            limits=limits,
            concurrency=concurrency,
            attempts=attempts,
            step_timeout=checked_seconds("--step-timeout", step_timeout),
            run_id=run_id if len(agents) == 1 else f"{run_id}-{one.name}",
        )
        for one in agents
    ]
    with TrajectoryStore.open(store) as opened:
        done = carry_out(plans, opened, run_id=run_id, resume=resume, quiet=as_json)
        why = first_error(opened, done.results)
    if as_json:
        objects = [result.model_dump(mode="json") for result in done.results]
        print_json(objects[0] if len(plans) == 1 else {"runs": objects})
    else:
        print_results(done.results)
        print_look_closer(done.results, store=store)
    if done.interrupted:
        raise typer.Exit(130)
    if why is not None:
        count = sum(result.errored for result in done.results)
        print_text(
            f"{count} episodes ended in errors, the first in: {why}\n"
            f"Play them again with --run-id {shlex.quote(run_id)} --resume",
            to_stderr=True,
        )
        raise typer.Exit(1)
