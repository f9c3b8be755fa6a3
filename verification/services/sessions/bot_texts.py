"""What a bot says besides codes, by language."""

from verification.services.texts.rendering import texts_for


def bot_text(name: str, language: str) -> str:
    """By name: ``share``, ``button``, ``not_own``, ``other_number``, ``bound``, ``moved``, ``stale``, ``help``."""
    return texts_for(language)[f"bot_{name}"]
