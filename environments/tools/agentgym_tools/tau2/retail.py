"""The retail domain's tools: a shop's customers, products and orders."""

import json

from agentgym.errors import ToolError
from agentgym_tools.state import Record
from agentgym_tools.tau2.retail_items import check_items, exchange_for, modify_for
from agentgym_tools.tau2.retail_records import OrderPayment, UserAddress
from agentgym_tools.tau2.toolkit import Tau2Toolkit
from agentgym_tools.toolkit import reads, writes

CANCEL_REASONS = ("no longer needed", "ordered by mistake")


class RetailTools(Tau2Toolkit):
    """What a retail agent can do."""

    @writes
    def cancel_pending_order(self, order_id: str, reason: str) -> Record:
        """Cancel an order that is still pending, and refund it.

        Explain what will happen and get the user's explicit yes (yes/no) first. A gift card is
        refunded at once, other payment methods within 5 to 7 business days.

        Args:
            order_id: The order id, with its leading '#', such as '#W0000000'.
            reason: Either 'no longer needed' or 'ordered by mistake'.
        """
        order = self._order(order_id)
        if order["status"] != "pending":
            raise ToolError("Non-pending order cannot be cancelled")
        if reason not in CANCEL_REASONS:
            raise ToolError("Invalid reason")
        refunds = []
        for payment in order["payment_history"]:
            amount, method = payment["amount"], payment["payment_method_id"]
            refunds.append(_payment("refund", amount, method))
            self._move(order["user_id"], method, amount)
        with self.state.edit("orders", order_id) as changed:
            changed["status"] = "cancelled"
            changed["cancel_reason"] = reason
            changed["payment_history"] += refunds
        return self._order(order_id)

    @writes
    def exchange_delivered_order_items(
        self,
        order_id: str,
        item_ids: list[str],
        new_item_ids: list[str],
        payment_method_id: str,
    ) -> Record:
        """Ask for delivered items to be exchanged for others of the same products.

        An order can be returned or exchanged once only. Explain what will happen and get the
        user's explicit yes (yes/no) first.

        Args:
            order_id: The order id, with its leading '#', such as '#W0000000'.
            item_ids: The items to give back, such as '1008292230'; one may occur repeatedly.
            new_item_ids: The items wanted instead, each in the place of the item it replaces
                and of the same product; one may occur repeatedly.
            payment_method_id: What the price difference is paid with or refunded to, such as
                'gift_card_0000000'; the user's or order's details tell it.
        """
        order = self._order(order_id)
        if order["status"] != "delivered":
            raise ToolError("Non-delivered order cannot be exchanged")
        check_items(order, item_ids, "Number of {} not found.")
        if len(item_ids) != len(new_item_ids):
            raise ToolError("The number of items to be exchanged should match.")
        change = exchange_for(order, item_ids, new_item_ids, self._variant)
        difference = round(change.difference, 2)
        shortage = "Insufficient gift card balance to pay for the price difference"
        self._check_funds(order, payment_method_id, difference, shortage)
        with self.state.edit("orders", order_id) as changed:
            changed["status"] = "exchange requested"
            changed["exchange_items"] = sorted(item_ids)
            changed["exchange_new_items"] = sorted(new_item_ids)
            changed["exchange_payment_method_id"] = payment_method_id
            changed["exchange_price_difference"] = difference
        return self._order(order_id)

    @reads
    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> str:
        """Find a user's id by name and zip code.

        Look by email first; use this where the user has none to tell or it is not found.

        Args:
            first_name: The customer's first name, such as 'John'.
            last_name: The customer's last name, such as 'Doe'.
            zip: The customer's zip code, such as '12345'.
        """
        for user_id, user in self.state.items("users"):
            name = user["name"]
            if (
                name["first_name"].lower() == first_name.lower()
                and name["last_name"].lower() == last_name.lower()
                and user["address"]["zip"] == zip
            ):
                return user_id
        raise ToolError("User not found")

    @reads
    def find_user_id_by_email(self, email: str) -> str:
        """Find a user's id by email.

        Args:
            email: The user's email, such as 'something@example.com'.
        """
        for user_id, user in self.state.items("users"):
            if user["email"].lower() == email.lower():
                return user_id
        raise ToolError("User not found")

    @reads
    def get_order_details(self, order_id: str) -> Record:
        """Look up an order: its status, items, payments and parcels.

        Args:
            order_id: The order id, with its leading '#', such as '#W0000000'.
        """
        return self._order(order_id)

    @reads
    def get_product_details(self, product_id: str) -> Record:
        """Look up a product with its variants, their prices and availability.

        Args:
            product_id: The product id, such as '6086499569'; it is no item id.
        """
        return self._product(product_id)

    @reads
    def get_item_details(self, item_id: str) -> Record:
        """Look up one item: its options, price and availability.

        Args:
            item_id: The item id, such as '6086499569'; it is no product id.
        """
        for _, product in self.state.items("products"):
            if item_id in product["variants"]:
                variant: Record = product["variants"][item_id]
                return variant
        raise ToolError("Item not found")

    @reads
    def get_user_details(self, user_id: str) -> Record:
        """Look up a user: address, email, payment methods and orders.

        Args:
            user_id: The user id, such as 'sara_doe_496'.
        """
        return self._user(user_id)

    @reads
    def list_all_product_types(self) -> str:
        """List the name and product id of every product.

        Each comes in several items with ids and options of their own.
        """
        ids = {product["name"]: key for key, product in self.state.items("products")}
        return json.dumps(ids, sort_keys=True)

    @writes
    def modify_pending_order_address(
        self,
        order_id: str,
        address1: str,
        address2: str,
        city: str,
        state: str,
        country: str,
        zip: str,
    ) -> Record:
        """Change where a pending order is sent.

        Explain what will happen and get the user's explicit yes (yes/no) first.

        Args:
            order_id: The order id, with its leading '#', such as '#W0000000'.
            address1: The address's first line, such as '123 Main St'.
            address2: Its second line, such as 'Apt 1' or ''.
            city: The city, such as 'San Francisco'.
            state: The state, such as 'CA'.
            country: The country, such as 'USA'.
            zip: The zip code, such as '12345'.
        """
        self._pending_order(order_id)
        address = _address(address1, address2, city, country, state, zip)
        with self.state.edit("orders", order_id) as changed:
            changed["address"] = address
        return self._order(order_id)

    @writes
    def modify_pending_order_items(
        self,
        order_id: str,
        item_ids: list[str],
        new_item_ids: list[str],
        payment_method_id: str,
    ) -> Record:
        """Change items of a pending order for others of the same products.

        It works once for an order. Explain what will happen and get the user's explicit yes
        (yes/no) first.

        Args:
            order_id: The order id, with its leading '#', such as '#W0000000'.
            item_ids: The items to change, such as '1008292230'; one may occur repeatedly.
            new_item_ids: The items wanted instead, each in the place of the item it replaces
                and of the same product; one may occur repeatedly.
            payment_method_id: What the price difference is paid with or refunded to, such as
                'gift_card_0000000'; the user's or order's details tell it.
        """
        order = self._order(order_id)
        if order["status"] != "pending":
            raise ToolError("Non-pending order cannot be modified")
        check_items(order, item_ids, "{} not found")
        if len(item_ids) != len(new_item_ids):
            raise ToolError("The number of items to be exchanged should match")
        change = exchange_for(order, item_ids, new_item_ids, self._variant)
        shortage = "Insufficient gift card balance to pay for the new item"
        self._check_funds(order, payment_method_id, change.difference, shortage)
        kind = "payment" if change.difference > 0 else "refund"
        self._move(order["user_id"], payment_method_id, -change.difference)
        with self.state.edit("orders", order_id) as changed:
            paid = _payment(kind, abs(change.difference), payment_method_id)
            changed["payment_history"].append(paid)
            modify_for(changed, item_ids, change)
            changed["status"] = "pending (item modified)"
        return self._order(order_id)

    @writes
    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> Record:
        """Change what a pending order is paid with.

        Explain what will happen and get the user's explicit yes (yes/no) first.

        Args:
            order_id: The order id, with its leading '#', such as '#W0000000'.
            payment_method_id: The method to pay with instead, such as 'gift_card_0000000'; the
                user's details tell it.
        """
        order = self._pending_order(order_id)
        self._payment_method(order["user_id"], payment_method_id)
        history = order["payment_history"]
        if len(history) != 1 or history[0]["transaction_type"] != "payment":
            raise ToolError("There should be exactly one payment for a pending order")
        amount, old = history[0]["amount"], history[0]["payment_method_id"]
        if old == payment_method_id:
            raise ToolError("The new payment method should be different from the current one")
        shortage = "Insufficient gift card balance to pay for the order"
        self._check_funds(order, payment_method_id, amount, shortage)
        self._move(order["user_id"], payment_method_id, -amount)
        self._move(order["user_id"], old, amount)
        with self.state.edit("orders", order_id) as changed:
            changed["payment_history"] += [
                _payment("payment", amount, payment_method_id),
                _payment("refund", amount, old),
            ]
        return self._order(order_id)

    @writes
    def modify_user_address(
        self,
        user_id: str,
        address1: str,
        address2: str,
        city: str,
        state: str,
        country: str,
        zip: str,
    ) -> Record:
        """Change a user's default address.

        Explain what will happen and get the user's explicit yes (yes/no) first.

        Args:
            user_id: The user id, such as 'sara_doe_496'.
            address1: The address's first line, such as '123 Main St'.
            address2: Its second line, such as 'Apt 1' or ''.
            city: The city, such as 'San Francisco'.
            state: The state, such as 'CA'.
            country: The country, such as 'USA'.
            zip: The zip code, such as '12345'.
        """
        self._user(user_id)
        address = _address(address1, address2, city, country, state, zip)
        with self.state.edit("users", user_id) as changed:
            changed["address"] = address
        return self._user(user_id)

    @writes
    def return_delivered_order_items(
        self, order_id: str, item_ids: list[str], payment_method_id: str
    ) -> Record:
        """Ask for items of a delivered order to be taken back.

        The order's status becomes 'return requested', and the user is told by email how to
        send the items. Explain what will happen and get the user's explicit yes (yes/no) first.

        Args:
            order_id: The order id, with its leading '#', such as '#W0000000'.
            item_ids: The items to return, such as '1008292230'; one may occur repeatedly.
            payment_method_id: What is refunded to, such as 'gift_card_0000000'; the user's or
                order's details tell it.
        """
        order = self._order(order_id)
        if order["status"] != "delivered":
            raise ToolError("Non-delivered order cannot be returned")
        method = self._payment_method(order["user_id"], payment_method_id)
        original = order["payment_history"][0]["payment_method_id"]
        if method["source"] != "gift_card" and payment_method_id != original:
            raise ToolError("Payment method should be the original payment method")
        check_items(order, item_ids, "Some item not found")
        with self.state.edit("orders", order_id) as changed:
            changed["status"] = "return requested"
            changed["return_items"] = sorted(item_ids)
            changed["return_payment_method_id"] = payment_method_id
        return self._order(order_id)

    # What the tools share.

    def _order(self, order_id: str) -> Record:
        return self.record("orders", order_id, "Order not found")

    def _user(self, user_id: str) -> Record:
        return self.record("users", user_id, "User not found")

    def _product(self, product_id: str) -> Record:
        return self.record("products", product_id, "Product not found")

    def _pending_order(self, order_id: str) -> Record:
        order = self._order(order_id)
        if "pending" not in order["status"]:
            raise ToolError("Non-pending order cannot be modified")
        return order

    def _variant(self, product_id: str, item_id: str) -> Record:
        variants = self._product(product_id)["variants"]
        if item_id not in variants:
            raise ToolError("Variant not found")
        variant: Record = variants[item_id]
        return variant

    def _payment_method(self, user_id: str, method_id: str) -> Record:
        methods = self._user(user_id)["payment_methods"]
        if method_id not in methods:
            raise ToolError("Payment method not found")
        method: Record = methods[method_id]
        return method

    def _check_funds(self, order: Record, method_id: str, amount: float, shortage: str) -> None:
        method = self._payment_method(order["user_id"], method_id)
        if method["source"] == "gift_card" and method["balance"] < amount:
            raise ToolError(shortage)

    def _move(self, user_id: str, method_id: str, amount: float) -> None:
        """Add to a gift card's balance; other methods keep none."""
        if self._payment_method(user_id, method_id)["source"] == "gift_card":
            with self.state.edit("users", user_id) as user:
                method = user["payment_methods"][method_id]
                method["balance"] = round(method["balance"] + amount, 2)


def _payment(kind: str, amount: float, method_id: str) -> Record:
    entry = {"transaction_type": kind, "amount": amount, "payment_method_id": method_id}
    return OrderPayment.model_validate(entry).model_dump()


def _address(
    address1: str, address2: str, city: str, country: str, state: str, zip_code: str
) -> Record:
    return UserAddress(
        address1=address1, address2=address2, city=city, country=country, state=state, zip=zip_code
    ).model_dump()
