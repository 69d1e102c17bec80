"""The calculator both domains offer: arithmetic as Python writes it, and nothing else."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from agentgym.errors import ToolError

MAX_LENGTH = 1000
"""Characters of an expression."""

MAX_BITS = 1024
"""Size of a power; a larger integer is no floating-point number any more."""

_CHARACTERS = frozenset("0123456789+-*/(). ")


def calculate(expression: str) -> str:
    """Return the value of an arithmetic expression, rounded to two decimals.

    Args:
        expression: Numbers, `+ - * / // **`, parentheses and spaces.

    Raises:
        ToolError: It is not such an expression, too long, or has no value.
    """
    if not _CHARACTERS.issuperset(expression):
        raise ToolError("Invalid characters in expression")
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"Expression longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(expression.lstrip(" "), filename="<string>", mode="eval")
        return str(round(float(_value(tree.body)), 2))
    except (RecursionError, MemoryError):
        raise ToolError("Expression nested too deeply") from None
    except (SyntaxError, ArithmeticError, TypeError, ValueError) as error:
        raise ToolError(str(error)) from None


def _power(base: Any, exponent: Any) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(base) > 1 and exponent * math.log2(abs(base)) > MAX_BITS:
        raise OverflowError("int too large to convert to float")
    return base**exponent


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: _power,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left), _value(right))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand))
        case ast.Call(func=ast.expr() as called):
            raise TypeError(f"'{type(_value(called)).__name__}' object is not callable")
        case _:
            raise TypeError("Expression is not arithmetic")
