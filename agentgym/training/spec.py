"""`TrlSpec`: an environment and its tasks as the arguments of TRL's `GRPOTrainer`."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentgym.agents.baselines import NullAgent
from agentgym.agents.chat_tokens import ChatTokens
from agentgym.agents.sampling import Sampler
from agentgym.agents.settings import TokenSettings
from agentgym.agents.token_agent import TokenAgent
from agentgym.env import Environment
from agentgym.errors import UnknownNameError, UsageError
from agentgym.registry import EnvSpec
from agentgym.registry import spec as named_spec
from agentgym.rollout.attempts import Seat
from agentgym.rollout.plan import Job, Plan
from agentgym.tasks import TaskSet, load_tasks, task_hash
from agentgym.training.contract import TASK_ID, check_rows, rollout_rows, task_ids
from agentgym.training.rewards import check_weights, component_reward, episode_reward
from agentgym.training.rollouts import Rollouts, TrainingPlan
from agentgym.training.tool_class import ToolEnvironmentBase, make_tool_class
from agentgym.training.trl_private import TrainerModel, check_release
from agentgym.trajectories.record import EpisodeKey, Trajectory
from agentgym.types import Json, Limits, Task, ToolSpec

if TYPE_CHECKING:
    from datasets import Dataset


class TrlSpec:
    """Puts an environment under TRL: dataset, rollouts or tools, and reward functions.

    ::

        spec = TrlSpec("maze", "tiny", format="brackets", max_tokens=16)
        trainer = GRPOTrainer(
            model=model,
            args=GRPOConfig(...),
            train_dataset=spec.train_dataset,
            rollout_func=spec.rollout_func,
            reward_funcs=spec.reward_funcs,
        )

    `rollout_func` plays whole episodes by the episode loop that `agentgym eval` plays by, many at
    once. `environment_factory`, in its place and without `reward_funcs`, leaves the conversation
    to TRL: for fast environments whose tools stay the same.

    Every episode of a task begins in the same state: it is reset with `seed`.

    Args:
        env: An environment's name or spec.
        tasks: The tasks, or the name or path of a set; None takes the default set.
        split: The split that is trained on, of a set given by name or path; None takes all of it.
        env_options: The environment's own options.
        wrap: What is made of each environment before it is played.
        seed: What environments are reset with.
        limits: What an episode may spend; turns are the task's or the environment's own where it
            does not say. TRL's `max_completion_length` is a limit of its own, on the tokens of a
            whole episode.
        concurrency: Episodes at once; None plays a whole batch at once.
        attempts: How often an episode is started at most, where infrastructure breaks.
        backoff: Seconds before the second attempt, doubled for each that follows.
        step_timeout: Seconds after which an environment that does not answer is given up.
        components: Components of the grade to log, each as a reward function of weight 0; `grade`
            is the grade itself.
        on_episode: Called with every trajectory of a batch, in order.
        policy: How the model plays: the fields of `TokenSettings`, such as `format` and
            `max_tokens` (a turn).

    Raises:
        UnknownNameError: There is no such environment, task set, split, setting or option.
        UsageError: A setting cannot be.
    """

    def __init__(
        self,
        env: str | EnvSpec,
        tasks: TaskSet | str | None = None,
        *,
        split: str | None = "train",
        env_options: dict[str, Json] | None = None,
        wrap: Callable[[Environment], Environment] | None = None,
        seed: int = 0,
        limits: Limits | None = None,
        concurrency: int | None = None,
        attempts: int = 3,
        backoff: float = 0.5,
        step_timeout: float = 300.0,
        components: Sequence[str] = (),
        on_episode: Callable[[Trajectory], None] | None = None,
        **policy: Any,
    ) -> None:
        for name in policy:
            if name not in TokenSettings.model_fields:
                raise UnknownNameError("setting of TrlSpec", name, TokenSettings.model_fields)
        self.settings = TokenSettings.model_validate(policy)
        if self.settings.history != "full":
            raise UsageError(
                "TRL trains one sequence an episode, which needs the full history.",
                remedy='Leave history at "full".',
            )
        env_spec = named_spec(env) if isinstance(env, str) else env
        every = tasks if isinstance(tasks, TaskSet) else load_tasks(env_spec, tasks)
        chosen = every if isinstance(tasks, TaskSet) else every.select(split=split)
        self._plan = TrainingPlan(
            env_spec=env_spec,
            tasks=chosen,
            agent=NullAgent(),  # each episode is played by the policy in training
            env_options=env_options or {},
            seed=seed,
            limits=limits or Limits(),
            concurrency=concurrency or 2**31,
            attempts=attempts,
            backoff=backoff,
            step_timeout=step_timeout,
            wrap=wrap,
        )
        self._every = every
        self._tasks = {task.id: task for task in every}
        self._hashes: dict[str, str] = {}
        self._components = [component_reward(name) for name in components]
        self._on_episode = on_episode
        self._rollouts = Rollouts(self._plan)
        self._chat: tuple[Any, ChatTokens] | None = None

    @property
    def plan(self) -> Plan:
        """By what rules episodes are played."""
        return self._plan

    @property
    def train_dataset(self) -> "Dataset":
        """One row a task; see `dataset`."""
        return self.dataset()

    def dataset(self, ids: Sequence[str] | None = None, *, split: str | None = None) -> "Dataset":
        """Return a dataset of tasks, for training or evaluation.

        A row's `prompt` is a conversation that names the task and says nothing of it; what the
        model reads comes from the environment.

        Args:
            ids: Which tasks; None takes all, of `split` or else of the training split.
            split: Another split of the set, such as the one for `GRPOTrainer(eval_dataset=...)`.

        Raises:
            UnknownNameError: There is no such task or split.
        """
        from datasets import Dataset

        if ids is None:
            tasks = self._plan.tasks if split is None else self._every.select(split=split)
            ids = [task.id for task in tasks]
        return Dataset.from_list(
            [{"prompt": self._prompt(self.task(task_id)), TASK_ID: task_id} for task_id in ids]
        )

    @property
    def reward_funcs(self) -> list[Any]:
        """The episode's reward, and after it the components for the log: `RewardFunction`s."""
        return [episode_reward, *self._components]

    @property
    def reward_weights(self) -> list[float]:
        """What `GRPOConfig(reward_weights=...)` is to be where there are components."""
        return [1.0, *[0.0] * len(self._components)]

    def rollout_func(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """Play an episode a prompt; what TRL calls.

        Returns:
            One row a prompt; see `contract.rollout_rows`.

        Raises:
            UsageError: Trainer and spec do not go together, or an episode cannot be trained on.
        """
        group = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        tasks = [self.task(task_id) for task_id in task_ids(prompts, group)]
        self._check(trainer)
        model = TrainerModel(trainer, width=min(self._plan.concurrency, len(tasks)))
        chat = self._chat_of(trainer)
        settings = self.settings.model_copy(
            update={
                "budget": trainer.max_completion_length,
                "context": self.settings.context or model.context,
            }
        )

        def agent_of(sampler: Sampler) -> TokenAgent:
            return TokenAgent("policy", sampler, chat, settings)

        jobs = [self._job(task, place) for place, task in enumerate(tasks)]
        trajectories = self._rollouts.play(jobs, agent_of, model)
        if self._on_episode is not None:
            for trajectory in trajectories:
                self._on_episode(trajectory)
        output = rollout_rows(trajectories, end_id=model.end_id)
        check_rows(output, len(prompts))
        self._measure(output, model)
        return output

    @cached_property
    def environment_factory(self) -> type[ToolEnvironmentBase]:
        """A class of the environment's tools, for TRL to play by itself.

        Raises:
            UsageError: A tool cannot be a method of a class.
            EpisodeError: The first task's environment cannot begin.
        """
        tools: tuple[ToolSpec, ...] = self._rollouts.call(self._first_tools)
        name = "".join(part.title() for part in self._plan.env_spec.name.split("-"))
        return make_tool_class(name, tools, self)

    def task(self, task_id: str) -> Task[Any, Any]:
        """Return a task.

        Raises:
            UnknownNameError: There is none of this id.
        """
        if task_id not in self._tasks:
            raise UnknownNameError("task", task_id, self._tasks)
        return self._tasks[task_id]

    def seat(self) -> Seat:
        """Return a place for an environment, closed with the spec."""
        return self._rollouts.seat()

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a coroutine function on the background loop and return what it returns."""
        return self._rollouts.call(function, *args)

    def close(self) -> None:
        """Close the environments; a later rollout makes new ones."""
        self._rollouts.close()

    def _prompt(self, task: Task[Any, Any]) -> list[dict[str, Json]]:
        words = [("system", self.settings.system)] if self.settings.system else []
        return [
            {"role": role, "content": content, TASK_ID: task.id}
            for role, content in [*words, ("user", "")]
        ]

    def _job(self, task: Task[Any, Any], place: int) -> Job:
        if task.id not in self._hashes:
            self._hashes[task.id] = task_hash(task)
        key = EpisodeKey(task_id=task.id, epoch=place)
        return Job(key, task, self._hashes[task.id], self._plan.seed)

    def _measure(self, output: dict[str, Any], model: TrainerModel) -> None:
        """Add to the trainer's metrics where the batch's time went."""
        clock = self._rollouts.clock
        total = clock.sampling_s + clock.waiting_s
        tokens = sum(map(sum, output["env_mask"]))
        model.record("rollout/seconds", total)
        model.record("rollout/tokens_per_second", tokens / total)
        model.record("rollout/wait_share", clock.waiting_s / total)

    def _check(self, trainer: Any) -> None:
        check_release()
        if trainer.tools:
            raise UsageError(
                "TRL ignores what a rollout_func says of its tokens where the trainer has tools.",
                remedy="Pass either rollout_func, or tools or environment_factory.",
            )
        check_weights(trainer.reward_funcs, trainer.reward_weights.tolist(), self._components)

    def _chat_of(self, trainer: Any) -> ChatTokens:
        processing = trainer.processing_class
        if self._chat is None or self._chat[0] is not processing:
            options = {**trainer.chat_template_kwargs, **self.settings.template_options}
            tokenizer = getattr(processing, "tokenizer", processing)
            chat = ChatTokens(tokenizer, self.settings.chat_template, options)
            self._chat = (processing, chat)
        return self._chat[1]

    async def _first_tools(self) -> tuple[ToolSpec, ...]:
        seat = Seat(self._plan)
        try:
            task = next(iter(self._plan.tasks))
            observation = await seat.environment().reset(task, seed=self._plan.seed)
        finally:
            await seat.leave()
        return observation.tools
