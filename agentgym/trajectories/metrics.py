"""Measurements of trainings in the store: losses, rewards and times, step by step."""

import json
from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from agentgym.trajectories.database import store_errors
from agentgym.trajectories.tables import measurements
from agentgym.types import Frozen


class Measurement(Frozen):
    """What a training measured at one step.

    Attributes:
        stage: The training's stage, such as "sft" or "grpo".
        step: Optimiser steps of that stage until then.
        values: By name, such as "loss" or "rollout/wait_share"; a value may be NaN.
    """

    stage: str
    step: int
    values: Mapping[str, float]


class Metrics:
    """The measurements in a store, by training; each call is one transaction.

    Args:
        engine: An open database with the store's tables.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def add(self, training: str, measured: Measurement) -> None:
        """Append a measurement.

        Args:
            training: What the training is called by.
            measured: The measurement.

        Raises:
            StoreError: The store cannot be written.
        """
        with store_errors("The store cannot be written"), self._engine.begin() as connection:
            connection.execute(measurements.insert(), _row(training, measured))

    def replace(self, training: str, stage: str, kept: Iterable[Measurement]) -> None:
        """Leave only these of a stage's measurements.

        Args:
            training: What the training is called by.
            stage: The stage; the others' measurements stay.
            kept: All that the store is to hold of it, in order.

        Raises:
            StoreError: The store cannot be written.
        """
        rows = [_row(training, measured) for measured in kept]
        theirs = (measurements.c.training == training) & (measurements.c.stage == stage)
        with store_errors("The store cannot be written"), self._engine.begin() as connection:
            connection.execute(measurements.delete().where(theirs))
            if rows:
                connection.execute(measurements.insert(), rows)

    def read(self, training: str) -> list[Measurement]:
        """Return a training's measurements in the order they were taken; none if it is unknown.

        Raises:
            StoreError: The store cannot be read.
        """
        query = (
            sa.select(measurements.c.stage, measurements.c.step, measurements.c["values"])
            .where(measurements.c.training == training)
            .order_by(measurements.c.id)
        )
        with store_errors("The store cannot be read"), self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [Measurement(stage=s, step=n, values=json.loads(text)) for s, n, text in rows]

    def trainings(self) -> list[str]:
        """Return the names of the trainings that were measured, oldest first.

        Raises:
            StoreError: The store cannot be read.
        """
        first = sa.func.min(measurements.c.id)
        query = sa.select(measurements.c.training).group_by(measurements.c.training).order_by(first)
        with store_errors("The store cannot be read"), self._engine.connect() as connection:
            return list(connection.scalars(query))


def _row(training: str, measured: Measurement) -> dict[str, str | int]:
    return {
        "training": training,
        "stage": measured.stage,
        "step": measured.step,
        "values": json.dumps(dict(measured.values)),
    }
