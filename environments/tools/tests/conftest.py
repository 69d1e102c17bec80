import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_tau2() -> Path:
    root = next(p for p in Path(__file__).parents if (p / "agentgym" / "types.py").is_file())
    folder = root.parent / "shared" / "data" / "tau2"
    if not folder.is_dir():
        reason = "../shared/data/tau2 is absent"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return folder
