"""The flow, by the client that openapi-python-client makes."""

import json
import os

from watchword_api_client import AuthenticatedClient
from watchword_api_client.api.manual import read_message, send_message
from watchword_api_client.api.session import check_session, create_session
from watchword_api_client.api.verify import verify_session
from watchword_api_client.models import (
    Channel,
    ErrorCode,
    ManualMessage,
    ManualSendRequest,
    ManualSendResponse,
    Problem,
    SessionCheckRequest,
    SessionCheckResponse,
    SessionCreateRequest,
    SessionCreateResponse,
    SessionVerifyRequest,
    SessionVerifyResponse,
)

to, code = os.environ["TO"], os.environ["CODE"]


def client(key):
    return AuthenticatedClient(
        base_url=os.environ["BASE_URL"], token=os.environ[key], prefix="", auth_header_name="x-api-key"
    )


app, server = client("API_KEY"), client("SECRET_KEY")
session = create_session.sync(client=app, body=SessionCreateRequest(to=to, type_=Channel.SMS))
assert isinstance(session, SessionCreateResponse), session
wrong = check_session.sync(client=app, body=SessionCheckRequest(session_id=session.session_id, code="000000"))
assert isinstance(wrong, Problem) and wrong.code is ErrorCode.INVALID_CODE, wrong
right = check_session.sync(client=app, body=SessionCheckRequest(session_id=session.session_id, code=code))
assert isinstance(right, SessionCheckResponse), right
verified = verify_session.sync(client=server, body=SessionVerifyRequest(verify_token=right.verify_token))
assert isinstance(verified, SessionVerifyResponse), verified
sent = send_message.sync(client=server, body=ManualSendRequest(to=to, channel=Channel.SMS))
assert isinstance(sent, ManualSendResponse), sent
message = read_message.sync(sent.message_id, client=server)
assert isinstance(message, ManualMessage), message
print(
    json.dumps(
        {
            "wrong": wrong.code.value,
            "attempts_left": wrong.attempts_left,
            "is_test": right.is_test,
            "phone": verified.phone,
            "is_same": message.id == sent.message_id,
            "status": message.status.value,
        }
    )
)
