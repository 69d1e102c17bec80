"""Multi-turn GRPO on a maze, by hand: imitation first, then TRL's trainer with turn-level credit.

Needs the extra `train`. A micro model learns on one processor core, in some minutes:

    python examples/train_maze_grpo.py            # 100 steps
    python examples/train_maze_grpo.py --quick    # 2 steps, to see that everything is there
"""

import argparse

import torch
from trl.trainer.grpo_config import GRPOConfig

from agentgym.training.config import make_config
from agentgym.training.pipeline.models import open_model, save_model
from agentgym.training.pipeline.trl import silence
from agentgym.training.run import train
from agentgym.training.spec import TrlSpec
from agentgym.training.trainer import TurnLevelGRPOTrainer

SETTINGS = {
    "name": "maze",
    "output": "trained/maze-by-hand",
    "store": "trained/maze-by-hand.db",
    "environment": {"name": "maze", "tasks": "tiny", "options": {"instructions": False}},
    "policy": {"format": "brackets", "told": False, "max_tokens": 8, "budget": 512},
    "model": {"hidden_size": 128},
    "demonstrations": {"tasks": 100},
    "sft": {"epochs": 20, "learning_rate": 2e-3},
}

QUICK = {"output": "trained/quick", "sft": {"epochs": 1}, "demonstrations": {"tasks": 4}}


def main(*, quick: bool) -> None:
    """Imitate the oracle, then learn from the model's own games."""
    silence()
    torch.set_num_threads(1)
    settings = SETTINGS | (QUICK if quick else {})
    settings["environment"] = {**SETTINGS["environment"], "test_limit": 4 if quick else 100}  # type: ignore[dict-item]
    config = make_config(settings)
    (imitated,) = train(config, quiet=True)
    print(f"after imitation: {imitated.evaluations[0].success:.2f} of the held-out mazes")

    model, tokenizer = open_model(config.output / "seed-0/sft")
    spec = TrlSpec(
        "maze",
        "tiny",
        split="train",
        env_options={"instructions": False},
        format="brackets",
        told=False,
        max_tokens=8,
    )
    trainer = TurnLevelGRPOTrainer(
        model=model,
        args=GRPOConfig(
            output_dir=str(config.output / "grpo"),
            max_steps=2 if quick else 100,
            per_device_train_batch_size=8 if quick else 64,
            num_generations=4 if quick else 8,
            max_completion_length=512,
            learning_rate=2e-4,
            warmup_steps=10,
            adam_beta2=0.99,
            loss_type="grpo",  # TRL's default counts tokens, so that long failures weigh more
            logging_steps=10,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
        ),
        processing_class=tokenizer,
        train_dataset=spec.train_dataset,
        rollout_func=spec.rollout_func,
        reward_funcs=spec.reward_funcs,
        estimator="gigpo",
    )
    trainer.train()
    spec.close()
    folder = config.output / "trained"
    save_model(trainer.model, tokenizer, config, folder)
    print(
        f"agentgym eval maze --tasks tiny --split test -E instructions=false --model local:{folder}"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true")
    main(quick=arguments.parse_args().quick)
