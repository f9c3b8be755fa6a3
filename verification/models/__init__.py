"""The tables. Invariants live here as constraints; rules live in the services; no model calls a service."""

from verification.models.accounts import (
    BrowserLogin,
    FactorTries,
    Invitation,
    RecoveryCode,
    SecondFactor,
    SecurityKey,
    SpentForm,
)
from verification.models.audit import AuditEntry
from verification.models.balances import VendorBalance
from verification.models.bots import BotChat, BotUpdate
from verification.models.channels import (
    BreakerOpening,
    Channel,
    ChannelType,
    CircuitBreaker,
    FailedCosts,
    FallbackStep,
    MessageTemplate,
    Provider,
    RoutingMode,
    SenderRule,
)
from verification.models.choices import Choice
from verification.models.event_types import SESSION_EVENTS, EventType
from verification.models.events import WebhookAttempt, WebhookEvent
from verification.models.figures import (
    DailyFigures,
    DailyUsers,
    HourlyFaults,
    HourlyFigures,
    HourlyRefusals,
    NumberArea,
    PurgedRows,
)
from verification.models.guard import GuardBlock, GuardedSend
from verification.models.guard_rules import GuardRule
from verification.models.hosted import HandOver, HostedPage
from verification.models.keys import ApiKey, KeyKind, WebhookSecret
from verification.models.lists import ListEntry, ListKind, ListSubject
from verification.models.messages import (
    DailyChannelCost,
    DailySpend,
    DeliveryAttempt,
    IdempotentRequest,
    Message,
    MessageStatus,
)
from verification.models.oversight import Alert, AlertService, AlertServiceKind, Decision
from verification.models.platform import ALL_SENDING, KillSwitch, Platform
from verification.models.prices import DailyCosts, ExchangeRate, HourlyCosts, Price, PricePer
from verification.models.project_settings import RetentionMode
from verification.models.project_settings.protection import ChallengeMode, ChallengeProvider, GuardMode
from verification.models.projects import Membership, Project
from verification.models.recipients import NoAccount, Recipient, Subscription, Suppression
from verification.models.roles import RIGHTS, Right, Role, roles_with
from verification.models.sessions import Session, UsedChallenge, VerifyToken, WrongCode
from verification.models.testlogins import TestLogin
from verification.models.texts import TextVariant, TextVariantFigures
from verification.models.upkeep import Upkeep, Worker

__all__ = [
    "BrowserLogin",
    "Invitation",
    "RIGHTS",
    "Right",
    "Role",
    "roles_with",
    "ALL_SENDING",
    "Alert",
    "AlertService",
    "AlertServiceKind",
    "ApiKey",
    "AuditEntry",
    "BotChat",
    "BotUpdate",
    "ChallengeMode",
    "ChallengeProvider",
    "Channel",
    "ChannelType",
    "Choice",
    "BreakerOpening",
    "CircuitBreaker",
    "DailyChannelCost",
    "DailyCosts",
    "DailyFigures",
    "DailySpend",
    "DailyUsers",
    "Decision",
    "DeliveryAttempt",
    "EventType",
    "ExchangeRate",
    "FactorTries",
    "FailedCosts",
    "FallbackStep",
    "GuardBlock",
    "GuardMode",
    "GuardRule",
    "HandOver",
    "HostedPage",
    "GuardedSend",
    "HourlyCosts",
    "HourlyFigures",
    "HourlyFaults",
    "HourlyRefusals",
    "IdempotentRequest",
    "KeyKind",
    "KillSwitch",
    "ListEntry",
    "ListKind",
    "ListSubject",
    "Membership",
    "Message",
    "MessageStatus",
    "MessageTemplate",
    "NoAccount",
    "NumberArea",
    "Platform",
    "Price",
    "PricePer",
    "Project",
    "Provider",
    "PurgedRows",
    "Recipient",
    "RetentionMode",
    "RecoveryCode",
    "RoutingMode",
    "SESSION_EVENTS",
    "SecondFactor",
    "SecurityKey",
    "SenderRule",
    "Session",
    "Subscription",
    "SpentForm",
    "Suppression",
    "TestLogin",
    "TextVariant",
    "TextVariantFigures",
    "Upkeep",
    "UsedChallenge",
    "VendorBalance",
    "VerifyToken",
    "WebhookAttempt",
    "WebhookEvent",
    "WebhookSecret",
    "Worker",
    "WrongCode",
]
