"""The records of the retail domain, in the order in which their fields are written."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field


class Variant(BaseModel):
    """One item of a product."""

    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class Product(BaseModel):
    """A product with its variants by item id."""

    name: str
    product_id: str
    variants: dict[str, Variant]


class UserName(BaseModel):
    """A user's name."""

    first_name: str
    last_name: str


class UserAddress(BaseModel):
    """Where a user lives or an order goes."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class CreditCard(BaseModel):
    """A credit card on file."""

    source: Literal["credit_card"]
    id: str
    brand: str
    last_four: str


class PayPal(BaseModel):
    """A PayPal account on file."""

    source: Literal["paypal"]
    id: str


class GiftCard(BaseModel):
    """A gift card, with what is left on it in dollars."""

    source: Literal["gift_card"]
    id: str
    balance: float


PaymentMethod = Annotated[CreditCard | PayPal | GiftCard, Field(discriminator="source")]


class User(BaseModel):
    """A customer."""

    user_id: str
    name: UserName
    address: UserAddress
    email: str
    payment_methods: dict[str, PaymentMethod]
    orders: list[str]


class OrderItem(BaseModel):
    """An item as it was ordered."""

    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class Fulfillment(BaseModel):
    """A parcel."""

    tracking_id: list[str]
    item_ids: list[str]


class OrderPayment(BaseModel):
    """Money that went one way or the other, in dollars."""

    transaction_type: Literal["payment", "refund"]
    amount: float
    payment_method_id: str


class Order(BaseModel):
    """An order; what is None has not happened to it."""

    order_id: str
    user_id: str
    address: UserAddress
    items: list[OrderItem]
    status: str
    fulfillments: list[Fulfillment]
    payment_history: list[OrderPayment]
    cancel_reason: str | None = None
    exchange_items: list[str] | None = None
    exchange_new_items: list[str] | None = None
    exchange_payment_method_id: str | None = None
    exchange_price_difference: float | None = None
    return_items: list[str] | None = None
    return_payment_method_id: str | None = None


class RetailContent(BaseModel):
    """The whole content of the domain."""

    products: dict[str, Product]
    users: dict[str, User]
    orders: dict[str, Order]
