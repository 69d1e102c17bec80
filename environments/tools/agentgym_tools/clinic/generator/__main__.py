"""Writes the content file that the package ships: `python -m agentgym_tools.clinic.generator`."""

from pathlib import Path

from agentgym_tools.clinic.generator.content import file_text, generate

if __name__ == "__main__":
    path = Path(__file__).parents[1] / "content.json"
    path.write_text(file_text(generate()), encoding="utf-8")
