"""Write the shipped task set again: `python -m agentgym_webshop FOLDER`."""

import argparse
from pathlib import Path

from agentgym_webshop.goals.task_set import write_task_set

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        "python -m agentgym_webshop", description="Write the task set."
    )
    parser.add_argument("folder", type=Path, help="where to")
    write_task_set(parser.parse_args().folder)
