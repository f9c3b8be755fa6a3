"""The binding of each ciphertext to its row: its associated data, so that it opens nowhere else."""


def session_code(session_id: str) -> str:
    return f"session:{session_id}:code"


def message_code(message_id: int) -> str:
    return f"message:{message_id}:code"


def provider_secrets(provider_uuid: object) -> str:
    """Bind by UUID, which a provider has before its row is first saved."""
    return f"provider:{provider_uuid}:secrets"


def provider_hook(provider_uuid: object) -> str:
    return f"provider:{provider_uuid}:hook"


def idempotent_answer(project_id: int, key: str) -> str:
    return f"project:{project_id}:idempotent:{key}"


def test_login(project_public_id: object, to: str) -> str:
    return f"project:{project_public_id}:test_login:{to}"


def webhook_secret(project_public_id: object) -> str:
    return f"project:{project_public_id}:webhook"


def challenge_secret(project_public_id: object) -> str:
    return f"project:{project_public_id}:challenge"


def alert_service(service_uuid: object) -> str:
    """Bind by UUID, which a service has before its row is first saved."""
    return f"alert_service:{service_uuid}:secret"


def second_factor(user_id: object) -> str:
    return f"user:{user_id}:second_factor"


def held_form(session_key: str | None, path: str) -> str:
    """Bind a form that was filled in, while the user is asked for their password."""
    return f"session:{session_key}:form:{path}"
