"""Web shopping for agents: search a shop, choose a product and its options, buy it."""

from agentgym.registry import Baseline, EnvSpec

SPEC = EnvSpec(
    name="webshop",
    version=1,
    entry_point="agentgym_webshop.env:WebShopEnvironment",
    description="Find and buy the product an instruction asks for in a shop of many products.",
    oracle="agentgym_webshop.oracle:oracle",
    baselines={
        "rule": Baseline(play="agentgym_webshop.baselines:rule"),
        "choice-oracle": Baseline(play="agentgym_webshop.oracle:choice_oracle", privileged=True),
    },
    layouts="agentgym_webshop.foreign:read_folder",
    capabilities=frozenset({"fingerprint", "snapshot"}),
    max_turns=15,
)
