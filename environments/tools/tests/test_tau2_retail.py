import json
from typing import Any

import pytest

from agentgym.errors import ToolError
from agentgym_tools.domain import Desk

ADDRESS = {"address1": "9 Oak", "address2": "", "city": "Reno", "state": "NV", "country": "USA"}


def fails(desk: Desk, name: str, /, **arguments: Any) -> str:
    """Make a call that has to be refused and change nothing; return the answer."""
    before = desk.state.fingerprint()
    with pytest.raises(ToolError) as raised:
        desk.agent.call(name, arguments)
    assert desk.state.fingerprint() == before
    return str(raised.value)


def balance(desk: Desk, card: str) -> float:
    user = json.loads(desk.agent.call("get_user_details", {"user_id": "ann_lee_1"}))
    left: float = user["payment_methods"][card]["balance"]
    return left


def swap(desk: Desk, name: str, order_id: str, old: list[str], new: list[str], pay: str) -> Any:
    arguments = {
        "order_id": order_id,
        "item_ids": old,
        "new_item_ids": new,
        "payment_method_id": pay,
    }
    return json.loads(desk.agent.call(name, arguments))


def test_a_cancelled_order_is_refunded_to_the_gift_card_at_once(retail: Desk) -> None:
    arguments = {"order_id": "#W1", "reason": "no longer needed"}
    order = json.loads(retail.agent.call("cancel_pending_order", arguments))
    assert order["status"] == "cancelled"
    assert [paid["transaction_type"] for paid in order["payment_history"]] == ["payment", "refund"]
    assert balance(retail, "gift") == 120.2
    again = fails(retail, "cancel_pending_order", **arguments)
    assert again == "Non-pending order cannot be cancelled"


def test_users_are_found_whatever_the_case(retail: Desk) -> None:
    assert (
        retail.agent.call("find_user_id_by_email", {"email": "ANN.lee@EXAMPLE.com"}) == "ann_lee_1"
    )
    name = {"first_name": "ann", "last_name": "LEE", "zip": "80201"}
    assert retail.agent.call("find_user_id_by_name_zip", name) == "ann_lee_1"
    wrong = fails(retail, "find_user_id_by_name_zip", **{**name, "zip": "80200"})
    assert wrong == "User not found"


def test_products_and_items_are_looked_up_in_their_own_ids(retail: Desk) -> None:
    assert json.loads(retail.agent.call("get_item_details", {"item_id": "l1"}))["price"] == 50.0
    assert fails(retail, "get_item_details", item_id="p1") == "Item not found"
    assert fails(retail, "get_product_details", product_id="m1") == "Product not found"
    assert retail.agent.call("list_all_product_types", {}) == '{"Lamp": "p2", "Mug": "p1"}'


def test_an_exchange_is_asked_for_and_moves_no_money(retail: Desk) -> None:
    order = swap(retail, "exchange_delivered_order_items", "#W2", ["m1"], ["m2"], "gift")
    assert order["status"] == "exchange requested"
    assert order["exchange_price_difference"] == 2.2
    assert [item["item_id"] for item in order["items"]] == ["m1", "l1"]
    assert balance(retail, "gift") == 100.0


@pytest.mark.parametrize(
    ("old", "new", "pay", "message"),
    [
        (["m9"], ["m2"], "card", "Number of m9 not found."),
        (["m1", "m1"], ["m2", "m2"], "card", "Number of m1 not found."),
        (["m1"], ["m2", "m2"], "card", "The number of items to be exchanged should match."),
        (["m1"], ["l1"], "card", "Variant not found"),
        (["m1"], ["m3"], "card", "New item m3 not found or available"),
        (["m1"], ["m2"], "no", "Payment method not found"),
        (
            ["m1"],
            ["m4"],
            "gift",
            "Insufficient gift card balance to pay for the price difference",
        ),
    ],
)
def test_what_cannot_be_exchanged(
    retail: Desk, old: list[str], new: list[str], pay: str, message: str
) -> None:
    arguments = {"item_ids": old, "new_item_ids": new, "payment_method_id": pay}
    name = "exchange_delivered_order_items"
    assert fails(retail, name, order_id="#W2", **arguments) == message
    undelivered = fails(retail, name, order_id="#W1", **arguments)
    assert undelivered == "Non-delivered order cannot be exchanged"


def test_modified_items_all_take_the_last_ones_price_as_in_the_benchmark(retail: Desk) -> None:
    order = swap(retail, "modify_pending_order_items", "#W1", ["m1", "m1"], ["m2", "m1"], "gift")
    assert [item["item_id"] for item in order["items"]] == ["m2", "m1"]
    assert {item["price"] for item in order["items"]} == {10.1}
    assert order["status"] == "pending (item modified)"
    paid = order["payment_history"][-1]
    assert paid["transaction_type"] == "payment"
    assert paid["amount"] == pytest.approx(2.2)
    assert balance(retail, "gift") == 97.8
    again = fails(
        retail,
        "modify_pending_order_items",
        order_id="#W1",
        item_ids=["m1"],
        new_item_ids=["m2"],
        payment_method_id="gift",
    )
    assert again == "Non-pending order cannot be modified"


def test_modified_items_are_paid_at_once(retail: Desk) -> None:
    name = "modify_pending_order_items"
    rest = {"order_id": "#W1", "item_ids": ["m1"], "payment_method_id": "gift"}
    message = fails(retail, name, **rest, new_item_ids=["m4"])
    assert message == "Insufficient gift card balance to pay for the new item"
    assert fails(retail, name, **rest, new_item_ids=["m3"]).startswith("New item m3 not found")
    assert balance(retail, "gift") == 100.0


def test_another_payment_method_pays_and_the_old_one_is_refunded(retail: Desk) -> None:
    arguments = {"order_id": "#W1", "payment_method_id": "card"}
    order = json.loads(retail.agent.call("modify_pending_order_payment", arguments))
    assert [
        (paid["transaction_type"], paid["payment_method_id"]) for paid in order["payment_history"]
    ] == [("payment", "gift"), ("payment", "card"), ("refund", "gift")]
    assert balance(retail, "gift") == 120.2
    again = fails(retail, "modify_pending_order_payment", **arguments)
    assert again == "There should be exactly one payment for a pending order"


@pytest.mark.parametrize(
    ("order_id", "method", "message"),
    [
        ("#W1", "gift", "The new payment method should be different from the current one"),
        ("#W1", "poor", "Insufficient gift card balance to pay for the order"),
        ("#W1", "no", "Payment method not found"),
        ("#W2", "paypal", "Non-pending order cannot be modified"),
        ("#W9", "paypal", "Order not found"),
    ],
)
def test_what_cannot_pay_instead(retail: Desk, order_id: str, method: str, message: str) -> None:
    name = "modify_pending_order_payment"
    assert fails(retail, name, order_id=order_id, payment_method_id=method) == message


def test_a_return_is_refunded_to_the_original_method_or_a_gift_card(retail: Desk) -> None:
    name, items = "return_delivered_order_items", ["m1", "l1"]
    other = fails(retail, name, order_id="#W2", item_ids=items, payment_method_id="paypal")
    assert other == "Payment method should be the original payment method"
    twice = fails(retail, name, order_id="#W2", item_ids=["m1", "m1"], payment_method_id="card")
    assert twice == "Some item not found"
    arguments = {"order_id": "#W2", "item_ids": items, "payment_method_id": "gift"}
    order = json.loads(retail.agent.call(name, arguments))
    assert order["return_items"] == ["l1", "m1"]


def test_addresses_are_changed_in_the_order_or_in_the_profile(retail: Desk) -> None:
    new = {**ADDRESS, "zip": "89501"}
    order = json.loads(
        retail.agent.call("modify_pending_order_address", {"order_id": "#W1", **new})
    )
    user = json.loads(retail.agent.call("modify_user_address", {"user_id": "ann_lee_1", **new}))
    assert order["address"] == user["address"] == new
    sent = fails(retail, "modify_pending_order_address", order_id="#W3", **new)
    assert sent == "Non-pending order cannot be modified"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "get_order_details",
            {},
            "RetailTools.get_order_details() missing 1 required positional argument: 'order_id'",
        ),
        (
            "cancel_pending_order",
            {},
            "RetailTools.cancel_pending_order() missing 2 required positional arguments: "
            "'order_id' and 'reason'",
        ),
        (
            "find_user_id_by_name_zip",
            {},
            "RetailTools.find_user_id_by_name_zip() missing 3 required positional arguments: "
            "'first_name', 'last_name', and 'zip'",
        ),
        (
            "get_order_details",
            {"id": "#W1"},
            "RetailTools.get_order_details() got an unexpected keyword argument 'id'",
        ),
        ("get_order_details", {"order_id": 1}, "Order not found"),
        ("get_order_details", {"order_id": ["#W1"]}, "unhashable type: 'list'"),
        ("find_user_id_by_email", {"email": 1}, "'int' object has no attribute 'lower'"),
        (
            "return_delivered_order_items",
            {"order_id": "#W2", "item_ids": None, "payment_method_id": "card"},
            "'NoneType' object is not iterable",
        ),
        ("sudo", {}, "Tool 'sudo' not found."),
    ],
)
def test_arguments_that_do_not_fit(
    retail: Desk, name: str, arguments: dict[str, Any], message: str
) -> None:
    assert fails(retail, name, **arguments) == message


def test_an_address_that_is_no_text_is_explained(retail: Desk) -> None:
    message = fails(retail, "modify_user_address", user_id="ann_lee_1", **ADDRESS, zip=89501)
    assert message == (
        "1 validation error for UserAddress\nzip\n"
        "  Input should be a valid string [type=string_type, input_value=89501, input_type=int]\n"
        "    For further information visit https://errors.pydantic.dev/2.14/v/string_type"
    )
