"""Games that a small model can learn: many turns, hidden information, delayed reward."""

from agentgym.registry import EnvSpec


def _spec(name: str, class_name: str, description: str, max_turns: int) -> EnvSpec:
    package = f"agentgym_games.{name.replace('-', '_')}"
    return EnvSpec(
        name=name,
        version=1,
        entry_point=f"{package}.env:{class_name}",
        description=description,
        oracle=f"{package}.player:oracle",
        capabilities=frozenset({"fingerprint", "snapshot"}),
        max_turns=max_turns,
    )


MAZE = _spec("maze", "MazeEnvironment", "Find the way through a maze.", 60)
MINESWEEPER = _spec(
    "minesweeper", "MinesweeperEnvironment", "Open every square without a mine by deduction.", 60
)
SOKOBAN = _spec("sokoban", "SokobanEnvironment", "Push every box onto a goal.", 60)
TEXTNAV = _spec("textnav", "TextNavEnvironment", "Fetch a thing through a house.", 60)
TWENTY_QUESTIONS = _spec(
    "twenty-questions",
    "TwentyQuestionsEnvironment",
    "Find the hidden one by asking about its attributes.",
    30,
)
WORDLE = _spec("wordle", "WordleEnvironment", "Find the hidden word by guessing.", 12)
