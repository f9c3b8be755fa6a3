"""The operations on messages of a customer's own, in words and examples."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiCallback, OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from verification.api.reference.headers import IDEMPOTENCY_KEY, REPLAYED
from verification.api.reference.schema import MANUAL, SECRET_KEY, operation
from verification.api.serializers import manual
from verification.core.numbers import MAX_ID
from verification.core.session_rules import CHANNEL_BLOCK_SECONDS

_FINISHED = OpenApiCallback(
    "finished",
    "{$request.body#/callback_url}",
    extend_schema(
        summary="A message is final",
        description="""Sent once the message is `success`, `failed` or `expired`, and signed by Standard Webhooks.

Any 2xx within 10 seconds counts as received. After anything else, redirects included, we retry after 5 s, 30 s, 2 min,
10 min, 30 min, 1 h, 3 h, 6 h and 12 h (later if your `Retry-After` says so), and then stop. A 410 stops the retries at
once. The same event can arrive twice. It contains neither the code nor the recipient.""",
        request=manual.ManualMessageFinished,
        responses={200: OpenApiResponse(description="Any 2xx: received.")},
        examples=[
            OpenApiExample(
                "Finished",
                value={
                    "id": 5125890120348313,
                    "channel": "sms",
                    "status": "success",
                    "error": None,
                    "finished_at": "2026-05-04T09:30:04.381Z",
                },
            )
        ],
    ),
)

send_manual = operation(
    "sendMessage",
    tag=MANUAL,
    key=SECRET_KEY,
    summary="Send a message",
    description=f"""Queues a message with your code, or with one that we generate. A 200 means that the message is
queued, not that it arrived: read its status at manual/message, or have it sent to `callback_url`.

- The message expires after **10 minutes**: if it could not be sent by then, its status becomes `expired`.
- Manual sends ignore the {CHANNEL_BLOCK_SECONDS}-second cooldown of a channel and do not start one, but they count
  towards the recipient's limits (`too_many_sends`).
- `provider_id` pins one provider. A provider that is unknown, off, of another channel or of another project is a
  `validation_error` on that field.
- For a test login the status is `success` at once, and nothing is sent.
- Of several requests at once with the same `Idempotency-Key` one is carried out, and the others wait up to 5 seconds
  for its answer.
- You check the code yourself: it belongs to no session, and session/check does not know it.""",
    request=manual.ManualSendRequest,
    request_examples={
        "Your own code": {"to": "+46701740605", "channel": "sms", "code": "493817"},
        "A generated code, and a callback": {
            "to": "ada@example.com",
            "channel": "email",
            "callback_url": "https://shop.example/watchword",
        },
    },
    parameters=[
        IDEMPOTENCY_KEY,
        REPLAYED,
    ],
    callbacks=[_FINISHED],
    answer=manual.ManualSendResponse,
    answer_description="The message is queued.",
    answer_example={
        "message": "The message is queued.",
        "code": "aes256:AAECAwQFBgcICQoL:5mkVbht+:8IJuAVvZH2Zms1xUFbUrkw==",
        "message_id": 5125890120348313,
    },
    errors=(
        "recipient_not_allowed",
        "channel_not_available",
        "channel_not_active",
        "idempotency_conflict",
        "too_many_sends",
    ),
)

read_message = operation(
    "readMessage",
    tag=MANUAL,
    key=SECRET_KEY,
    summary="Read a message",
    description="""Reads the status of a manual send. `success`, `failed` and `expired` are final.

You can read only messages of manual/send, and only with a key of the same project. Anything else is 404.""",
    parameters=[
        OpenApiParameter(
            "id",
            {"type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_ID},
            OpenApiParameter.PATH,
            description="The `message_id` that manual/send returned. Anything that is not such a number is 404.",
        )
    ],
    answer=manual.ManualMessage,
    answer_description="The message.",
    answer_example={"id": 5125890120348313, "channel": "sms", "status": "success", "error": None},
    errors=("message_not_found",),
)

report_verified = operation(
    "reportVerified",
    tag=MANUAL,
    key=SECRET_KEY,
    summary="Report a verified user",
    description="""Reports that the user entered the right code of a message without a session: one sent by manual/send,
or one that an identity system sent through a connection.

The message then counts as verified in the traffic guard, the figures, the cost per verified user and the routing, and
the recipient becomes a known number: see the guide to the traffic guard. Reporting it again changes nothing.

Give `message_id` or `to`. A message of a session is 404: session/verify reports it.""",
    request=manual.ManualVerifiedRequest,
    request_examples={
        "By its message": {"message_id": 5125890120348313},
        "By its recipient": {"to": "+46701740605"},
    },
    answer=manual.ManualVerifiedResponse,
    answer_description="The user counts as verified.",
    answer_example={"verified": True},
    errors=("message_not_found",),
)

list_manual_channels = operation(
    "listManualChannels",
    tag=MANUAL,
    key=SECRET_KEY,
    summary="List channels and providers",
    description="The project's channels with their providers, in the order in which they are tried. A channel without "
    "an active provider is not listed.",
    answer=manual.ManualChannel(many=True),
    answer_description="The channels; an empty list where none is set up.",
    answer_example={
        "name": "SMS",
        "type": "sms",
        "providers": [
            {"id": 1, "name": "Main gateway", "type": "http", "is_system": False},
            {"id": 7, "name": "Shared gateway", "type": "http", "is_system": True},
        ],
    },
)
