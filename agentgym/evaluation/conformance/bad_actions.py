"""Checks that the model's mistakes are answered, never raised."""

from collections.abc import Callable, Sequence
from functools import partial

from agentgym.env import Environment, blame
from agentgym.errors import AgentgymError, ToolError
from agentgym.evaluation.conformance.check import (
    Check,
    Verdict,
    check,
    first_line,
    judged,
    skipped,
)
from agentgym.evaluation.conformance.malformed import BUILDERS, BadTurn, Offer, offers
from agentgym.evaluation.conformance.recording import Again, Frame, Recording, follow
from agentgym.evaluation.conformance.subject import Subject
from agentgym.types import Action, Message, Observation, ToolCall, Transition

_LONGEST_ANSWER = 65_536


async def empty_action(subject: Subject) -> Verdict:
    """A turn without words and calls is answered, with a fault where words alone are one."""
    problems = []
    for task in subject.sampled:
        async with subject.instance() as environment:
            await environment.reset(task, seed=subject.seed)
            words = await _answer(environment, BadTurn(Action(text="Hello."), faulty=False))
            await environment.reset(task, seed=subject.seed)
            faulty = isinstance(words, Transition) and bool(words.observation.faults)
            found = await _answer(environment, BadTurn(Action(), faulty))
        problems += [f"task {task.id}: {f}" for f in (words, found) if isinstance(f, str)]
    return judged(problems)


async def late_calls(subject: Subject) -> Verdict:
    """A call after the one that ends the episode is refused in the same turn."""
    ended = [item for item in await subject.recordings() if _ended_by_call(item)]
    if not ended:
        return skipped("no episode was ended by a call")
    problems = []
    async with subject.instance() as environment:
        for recording in ended:
            problem = await _late_call(subject, environment, recording)
            problems.append(None if problem is None else f"{recording.title}: {problem}")
    return judged(problems)


async def _tried(build: Callable[[Sequence[Offer]], list[BadTurn]], subject: Subject) -> Verdict:
    """Try every turn of one sort, each from a fresh episode where the last one ended."""
    problems: list[str | None] = []
    tried = 0
    for task in subject.sampled:
        async with subject.instance() as environment:
            observation = await environment.reset(task, seed=subject.seed)
            for turn in build(await offers(observation)):
                tried += 1
                found = await _answer(environment, turn)
                if isinstance(found, str):
                    problems.append(f"task {task.id}: {found}")
                if isinstance(found, str) or found.over:
                    await environment.reset(task, seed=subject.seed)
    return judged(problems) if tried else skipped("no tool on offer can be called so")


async def _answer(environment: Environment, turn: BadTurn) -> Transition | str:
    """Step, and return the transition, or what is wrong with it."""
    try:
        with blame("step"):
            transition = await environment.step(turn.action)
    except (AgentgymError, ToolError) as error:
        return f"{_shown(turn.action)} raised {type(error).__name__}: {str(error)[:200]}"
    problem = _problem(turn, transition.observation)
    return transition if problem is None else f"{_shown(turn.action)}: {problem}"


def _problem(turn: BadTurn, observation: Observation) -> str | None:
    calls = [call.id for call in turn.action.tool_calls]
    answers = [message for message in observation.messages if message.role == "tool"]
    answered = [message.tool_call_id for message in answers]
    if not observation.messages:
        return "it was not answered"
    if answered != calls:
        return f"the calls {_ids(calls)} were answered as {_ids(answered)}"
    if turn.faulty:
        return _fault_problem(answers if calls else observation.messages)
    return None


def _fault_problem(messages: Sequence[Message]) -> str | None:
    silent = next((message for message in messages if message.fault is None), None)
    if silent is not None:
        return f"the answer has no fault: {silent.text[:100]!r}"
    longest = max(len(message.text) for message in messages)
    if longest > _LONGEST_ANSWER:
        return f"the answer to a mistake has {longest} characters"
    return None


def _ended_by_call(recording: Recording) -> bool:
    return recording.frames[-1].terminated and bool(recording.actions[-1].tool_calls)


async def _late_call(
    subject: Subject, environment: Environment, recording: Recording
) -> str | None:
    *before, last = recording.actions
    late = ToolCall(name=last.tool_calls[0].name, arguments={}, id="late")
    action = last.model_copy(update={"tool_calls": (*last.tool_calls, late)})
    task = subject.task(recording.task_id)
    opening = Frame(observation=await environment.reset(task, seed=recording.seed))
    await follow(environment, opening, Again(before), turns=len(before))
    found = await _answer(environment, BadTurn(action, faulty=False))
    if isinstance(found, str):
        return found
    if found.observation.messages[-1].fault is None:
        return f"a call after the end was answered: {found.observation.messages[-1].text[:100]!r}"
    if not found.terminated or repr(found.reward) != repr(recording.frames[-1].reward):
        return "a call after the end changed how the episode ended"
    return None


def _shown(action: Action) -> str:
    calls = [f"{call.name[:40]}({str(call.arguments)[:60]})" for call in action.tool_calls[:3]]
    return f"the calls {', '.join(calls)}" if calls else f"the words {action.text[:40]!r}"


def _ids(ids: Sequence[str | None]) -> str:
    return str(ids) if len(ids) <= 6 else f"{str(ids[:6])[:-1]}, ... ({len(ids)})"


CHECKS = (
    *(Check(f"bad_actions.{b.__name__}", first_line(b), partial(_tried, b)) for b in BUILDERS),
    check("bad_actions", empty_action),
    check("bad_actions", late_calls, "episodes"),
)
