"""The tables. Invariants live here as constraints; rules live in the services; no model calls a service."""

from verification.models.channels import Channel, ChannelType, Provider
from verification.models.messages import (
    DailySpend,
    DeliveryAttempt,
    IdempotentRequest,
    Message,
    MessageStatus,
)
from verification.models.projects import ApiKey, KeyKind, Membership, Project, TestLogin, WebhookSecret
from verification.models.recipients import Recipient, Subscription
from verification.models.sessions import Session, VerifyToken, WrongCode

__all__ = [
    "ApiKey",
    "Channel",
    "ChannelType",
    "DailySpend",
    "DeliveryAttempt",
    "IdempotentRequest",
    "KeyKind",
    "Membership",
    "Message",
    "MessageStatus",
    "Project",
    "Provider",
    "Recipient",
    "Session",
    "Subscription",
    "TestLogin",
    "VerifyToken",
    "WebhookSecret",
    "WrongCode",
]
