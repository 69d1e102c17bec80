"""Play one SQL task by hand, without an event loop: what a notebook would do."""

import agentgym

spec = agentgym.spec("sql")
task = agentgym.load_tasks(spec).select(split="train", limit=1).tasks[0]

with agentgym.SyncEnvironment(agentgym.make("sql")) as env:
    print(env.reset(task, seed=0).text)
    print(env.step(agentgym.call("list_tables")).observation.text)
    last = env.step(agentgym.call("submit", query="SELECT 1"))
    print(f"grade {last.reward.value}: {last.reward.labels['outcome']}")
