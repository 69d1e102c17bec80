"""The token-exact agent in whole episodes, by real chat templates: every token, and whose it is."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("trl")

from agentgym.agents.base import Brief
from agentgym.agents.chat_tokens import PLAIN_TEMPLATE, ChatTokens
from agentgym.agents.sampling import Sampled, SampleRequest
from agentgym.agents.settings import TokenSettings
from agentgym.agents.token_agent import TokenAgent
from agentgym.errors import AgentFailedError, UnknownNameError, UsageError
from agentgym.rollout.episode import Episode, Rules, play
from agentgym.training.recorded_tokens import TokenizerDecoder
from agentgym.training.tokens import drift, rows
from agentgym.trajectories.record import Outcome
from agentgym.types import Limits, Message, TextPart, TokenTrace
from tests.environments import RoomEnvironment
from tests.training.buttons import ButtonEnvironment, button_tasks
from tests.training.byte_tokens import byte_tokenizer, template

LOOK = '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>'
RED = '<tool_call>\n{"name": "press", "arguments": {"colour": "red"}}\n</tool_call>'
GREEN = RED.replace("red", "green")
TASK = button_tasks(1).tasks[0]
END = "<|im_end|>"


class Says:
    """Samples fixed texts, and keeps what it was asked for."""

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        self.tokenizer = tokenizer
        self.texts = list(texts)
        self.requests: list[SampleRequest] = []

    async def __call__(self, request: SampleRequest) -> Sampled:
        self.requests.append(request)
        ids = self.tokenizer.encode(self.texts[len(self.requests) - 1], add_special_tokens=False)
        kept = tuple(ids[: request.max_tokens])
        return Sampled(kept, tuple(-0.5 for _ in kept))


async def played(
    texts: Sequence[str], tokenizer: Any, environment: Any = None, **settings: Any
) -> tuple[Episode, Says]:
    says = Says(tokenizer, texts)
    made = TokenSettings(**settings)
    chat = ChatTokens(tokenizer, made.chat_template, made.template_options)
    limits = Limits(turns=len(texts))
    brief = Brief(env="buttons-v1", task_id=TASK.id, seed=0, limits=limits)
    episode = Episode()
    agent = TokenAgent("says", says, chat, made)
    await play(episode, environment or ButtonEnvironment(), agent, brief, TASK, Rules(limits))
    return episode, says


def traces(episode: Episode) -> list[TokenTrace]:
    found = [turn.tokens for turn in episode.turns if turn.tokens is not None]
    assert len(found) == len(episode.turns)
    return found


async def test_the_masks_of_a_tool_episode_token_by_token() -> None:
    tokenizer = byte_tokenizer(template("qwen3"))
    turns = [f"<think>\nhm\n</think>\n\nI press.\n{RED}{END}", f"{GREEN}{END}"]
    episode, _ = await played(turns, tokenizer, told=False)
    assert episode.outcome == Outcome(status="completed")
    assert episode.grade is not None
    assert episode.grade.value == 1.0
    (row,) = rows(traces(episode))
    assert tokenizer.decode(row.prompt_ids) == (
        f"<|im_start|>user\nred{END}\n<|im_start|>assistant\n"
    )
    pieces: list[tuple[int, str]] = []
    for token, turn in zip(row.completion_ids, row.turns, strict=True):
        if not pieces or pieces[-1][0] != turn:
            pieces.append((turn, ""))
        pieces[-1] = (turn, pieces[-1][1] + tokenizer.decode([token]))
    assert pieces == [
        (0, turns[0]),
        (-1, f"\n<|im_start|>user\n<tool_response>\ngreen\n</tool_response>{END}\n"
             "<|im_start|>assistant\n"),
        (1, turns[1]),
    ]  # fmt: skip
    assert row.logprobs is not None
    assert {(t >= 0, value) for t, value in zip(row.turns, row.logprobs, strict=True)} == {
        (True, -0.5),
        (False, 0.0),
    }


@pytest.mark.parametrize(
    ("name", "calls"), [("qwen2_5", [RED, GREEN]), ("qwen3_instruct_2507", [LOOK, RED, GREEN])]
)
async def test_the_tokens_are_those_of_the_template_over_the_whole_conversation(
    name: str, calls: list[str]
) -> None:
    """Where the model writes as the template would, both come to the same text."""
    tokenizer = byte_tokenizer(template(name))
    episode, says = await played([f"{call}{END}" for call in calls], tokenizer)
    wire: list[dict[str, Any]] = [
        {"role": "system", "content": f"You have at most {len(calls)} turns."},
        {"role": "user", "content": "red"},
    ]
    for turn in episode.turns[:-1]:
        said = turn.action.to_wire()
        for call in said["tool_calls"]:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        said["content"] = ""
        wire += [said, *(message.to_wire() for message in turn.observation.messages)]
    tools = [spec.to_wire() for spec in episode.first.tools] if episode.first else []
    text = tokenizer.apply_chat_template(
        wire, tools=tools, add_generation_prompt=True, tokenize=False
    )
    assert tokenizer.decode(says.requests[-1].prompt_ids) == text


async def test_sampled_tokens_are_kept_where_encoding_would_make_others() -> None:
    """The model spells "ab" by two tokens; the tokenizer would take one."""
    tokenizer = byte_tokenizer(PLAIN_TEMPLATE)
    spelt = tuple(tokenizer.encode(text)[0] for text in ("a", "b"))
    asked: list[SampleRequest] = []

    async def sampler(request: SampleRequest) -> Sampled:
        asked.append(request)
        return Sampled((*spelt, tokenizer.eos_token_id))

    limits = Limits(turns=2)
    agent = TokenAgent("spells", sampler, ChatTokens(tokenizer), TokenSettings(told=False))
    episode = Episode()
    brief = Brief(env="buttons-v1", task_id=TASK.id, seed=0, limits=limits)
    await play(episode, ButtonEnvironment(), agent, brief, TASK, Rules(limits))
    first, second = asked
    assert second.prompt_ids[: len(first.prompt_ids) + 2] == first.prompt_ids + spelt
    assert first.seed != second.seed
    assert drift(traces(episode), TokenizerDecoder(tokenizer)) == [0, 1]


async def test_text_formats_tell_their_tools_and_stop_before_made_up_observations() -> None:
    tokenizer = byte_tokenizer(template("qwen3"))
    made_up = 'Thought: x\nAction: press\nAction Input: {"colour": "red"}\nObservation: done'
    episode, says = await played([made_up, "Answer: no" + END], tokenizer, format="react")
    (call,) = episode.turns[0].action.tool_calls
    assert (call.name, call.arguments) == ("press", {"colour": "red"})
    first = tokenizer.decode(says.requests[0].prompt_ids)
    assert "You have at most 2 turns.\n\nYou act by calling tools." in first
    kept = tokenizer.decode(traces(episode)[0].output_ids)
    assert kept == made_up.removesuffix(" done")
    after = tokenizer.decode(says.requests[1].prompt_ids).removeprefix(first + kept)
    assert after == (f"{END}\n<|im_start|>user\nObservation: green{END}\n<|im_start|>assistant\n")


async def test_an_episode_without_room_for_a_token_ends_at_a_limit_with_its_grade() -> None:
    tokenizer = byte_tokenizer(template("qwen3"))
    episode, says = await played([RED + END, GREEN + END], tokenizer, told=False, budget=100)
    assert episode.outcome == Outcome(status="limit", detail="context")
    assert len(episode.turns) == 1
    assert episode.grade is not None
    assert episode.grade.value == 0.5
    assert says.requests[0].max_tokens == 100
    (row,) = rows(traces(episode))
    assert len(row.completion_ids) <= 100


async def test_a_turn_is_cut_by_what_is_left_and_counts_as_it_is() -> None:
    tokenizer = byte_tokenizer(template("qwen3"))
    episode, _ = await played([RED + END], tokenizer, told=False, budget=20)
    assert len(traces(episode)[0].output_ids) == 20
    assert episode.turns[0].observation.faults == ("unknown_tool",)


async def test_a_shorter_history_gives_several_rows() -> None:
    tokenizer = byte_tokenizer(template("qwen3"))
    turns = [LOOK + END, LOOK + END, RED + END]
    episode, says = await played(turns, tokenizer, history="window:1", told=False)
    found = rows(traces(episode))
    assert len(found) == 2
    assert sum(sum(row.mask) for row in found) == sum(len(t.output_ids) for t in traces(episode))
    assert tokenizer.decode(says.requests[2].prompt_ids).count("<tool_response>") == 1


async def test_other_tools_are_announced() -> None:
    class Rooms(ButtonEnvironment):
        def tools(self) -> Any:
            every = list(super().tools())
            return every if self.pressed else every[1:]

    tokenizer = byte_tokenizer(template("qwen3"))
    _, says = await played([RED + END, GREEN + END], tokenizer, Rooms())
    first, second = (tokenizer.decode(request.prompt_ids) for request in says.requests)
    assert '"name": "look"' not in first
    assert "The tools on offer are now:" in second
    assert '"name": "look"' in second


async def test_an_image_is_refused() -> None:
    with pytest.raises(UsageError, match="shows an image"):
        await played(["x"], byte_tokenizer(template("qwen3")), RoomEnvironment())


async def test_a_sampler_that_breaks_is_no_mistake_of_the_model() -> None:
    async def sampler(request: SampleRequest) -> Sampled:
        raise RuntimeError("no memory")

    limits = Limits(turns=1)
    chat = ChatTokens(byte_tokenizer(template("qwen3")))
    agent = TokenAgent("breaks", sampler, chat, TokenSettings())
    brief = Brief(env="buttons-v1", task_id=TASK.id, seed=0, limits=limits)
    with pytest.raises(AgentFailedError, match="no memory"):
        await play(Episode(), ButtonEnvironment(), agent, brief, TASK, Rules(limits))


@pytest.mark.parametrize(
    ("name", "message"),
    [("gptoss", "not prefix-preserving"), ("idefics3", "leaves out what an assistant says")],
)
def test_templates_that_will_not_do_are_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ChatTokens(byte_tokenizer(template(name)))


def test_a_template_that_takes_no_tools_is_named_by_the_roles_it_refuses() -> None:
    chat = ChatTokens(byte_tokenizer(template("gemma")), None, {"bos_token": ""})
    said = {"role": "assistant", "content": "x"}
    assert chat.following(said, [{"role": "user", "content": "y"}])
    with pytest.raises(UsageError, match="roles user, assistant, tool"):
        chat.following(said, [{"role": "tool", "content": "y", "tool_call_id": "call_0"}])


def test_the_plain_template_is_taken_only_by_tokenizers_that_know_it() -> None:
    with pytest.raises(UsageError, match="no chat template"):
        ChatTokens(byte_tokenizer(None))


def test_a_format_that_does_not_exist_is_refused() -> None:
    chat = ChatTokens(byte_tokenizer(template("qwen3")))
    with pytest.raises(UnknownNameError, match="react"):
        TokenAgent("x", Says(None, []), chat, TokenSettings(format="reakt"))


class Parted(ButtonEnvironment):
    """Speaks in parts of text."""

    async def setup(self) -> Any:
        await super().setup()
        parts = (TextPart(text="Press"), TextPart(text="red."))
        return [Message(role="user", content=parts)]


@pytest.mark.parametrize("name", ["qwen3", "qwen2_5", "llama3_training"])
async def test_text_in_parts_is_read_whole(name: str) -> None:
    tokenizer = byte_tokenizer(template(name))
    _, says = await played([RED + END], tokenizer, Parted(), told=False)
    assert "Press\nred." in tokenizer.decode(says.requests[0].prompt_ids)


@pytest.mark.parametrize(
    ("name", "form", "message"),
    [
        ("llama3_training", "hermes", "does not show the tools"),
        ("gemma3", "hermes", "does not show the tools"),
        ("diffusion_gemma", "hermes", "not prefix-preserving"),
        ("llama3_1", "native", "a form of its own"),
        ("qwen3_5_think", "native", "a form of its own"),
    ],
)
async def test_templates_whose_calls_cannot_be_played_are_refused_before_the_first(
    name: str, form: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        await played(["x"], byte_tokenizer(template(name)), format=form)


async def test_a_template_of_one_call_a_turn_lets_the_model_make_two() -> None:
    tokenizer = byte_tokenizer(template("llama3_1"))
    episode, says = await played([LOOK + LOOK + END, RED + END], tokenizer, format="hermes")
    assert len(episode.turns[0].action.tool_calls) == 2
    first, second = (tokenizer.decode(request.prompt_ids) for request in says.requests)
    assert second.removeprefix(first + LOOK + LOOK).count('"red"') == 2
    assert len(rows(traces(episode))) == 1


async def test_a_template_that_leaves_out_an_answer_is_refused() -> None:
    tokenizer = byte_tokenizer(template("cohere2"))
    with pytest.raises(UsageError, match="leaves out a message of the role tool"):
        await played([LOOK + END, RED + END], tokenizer, told=False, format="hermes")
